//! Opening an offer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::Method;
use offerd::matching::record::TableHead;
use offerd::store::{Commit, Store, Tree, codec};
use serde_json::Value;

use crate::conformance::schema::{Edition, assert_conforms};
use crate::kit::partners::partner;
use crate::kit::{Daemon, Stopped};

const LOAN: &str = r#"{
    "productTypes": ["loan", "savings"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

#[tokio::test]
async fn it_is_recorded_and_leads_to_the_partner_without_a_token() {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("").savings("")]).start().await;
    let table = daemon.submit(LOAN).await.json();
    for (array, action) in
        [("loanOffers", "clicked_referral_link"), ("savingsOffers", "clicked_savings_offer_link")]
    {
        let offer = &table[array][0];
        let answer = daemon.request(Method::GET, offer["url"].as_str().unwrap(), "", "").await;
        assert_eq!(answer.status, 302);
        let id = offer["uuid"].as_str().unwrap();
        assert_eq!(
            answer.header("location"),
            Some(format!("https://lender.example/apply?click={id}").as_str())
        );

        let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
        assert_eq!(lead["status"], if array == "loanOffers" { action } else { "clicked_referral_link" });
        let actions = lead["leadActions"].as_array().unwrap();
        let clicked: Vec<&Value> = actions.iter().filter(|one| one["actionType"] == action).collect();
        assert_eq!(clicked.len(), 1);
        assert_eq!(clicked[0]["originatorKey"], "lender");
        assert!(clicked[0]["offerClickId"].is_i64());
    }
}

#[tokio::test]
async fn asking_where_it_leads_is_no_click() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let table = daemon.submit("{}").await.json();
    let url = table["savingsOffers"][0]["url"].as_str().unwrap();
    assert_eq!(daemon.request(Method::HEAD, url, "", "").await.status, 302);
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    assert_eq!(lead["status"], "api_listing");
}

#[tokio::test]
async fn it_works_after_the_partners_file_is_gone() {
    let daemon =
        Daemon::with_partners(vec![partner("bank").savings(""), partner("other").savings("")]).start().await;
    let table = daemon.submit("{}").await.json();
    let path = table["savingsOffers"][0]["url"].as_str().unwrap().replace(&daemon.api, "");
    std::fs::remove_file(daemon.partners().join("bank.toml")).unwrap();
    let daemon = daemon.kill().start().await;
    assert_eq!(daemon.get(&path).await.status, 302);
}

#[tokio::test]
async fn an_unknown_offer_is_not_found() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let table = daemon.submit("{}").await.json();
    let url = table["savingsOffers"][0]["url"].as_str().unwrap();
    let beyond = format!("{}7", &url[..url.len() - 1]);
    let whole_table = format!("{}/click/{}", daemon.api, table["uuid"].as_str().unwrap());
    let nonsense = format!("{}/click/nonsense", daemon.api);
    let stranger = format!("{}/click/0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77", daemon.api);
    for url in [beyond, whole_table, nonsense, stranger] {
        assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 404, "{url}");
    }
}

/// Makes a stored table older.
async fn age(stopped: &Stopped, table: &str, age: Duration) {
    let store = Store::open_inline(stopped.plan.store()).unwrap();
    let key = uuid::Uuid::try_parse(table).unwrap().into_bytes();
    let head = store.get(Tree::RateTables, key).unwrap().expect("the table is stored");
    let mut head: TableHead = codec::decode(&head).unwrap();
    let then = (SystemTime::now() - age).duration_since(UNIX_EPOCH).unwrap();
    head.created_at = i64::try_from(then.as_millis()).unwrap();
    store.commit(Commit::new().put(Tree::RateTables, key, codec::encode(&head))).await.unwrap();
}

#[tokio::test]
async fn an_offer_can_be_opened_for_31_days_and_is_gone_then() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let mut daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let table = daemon.submit_blocking("{}").await.json();
    let click = table["savingsOffers"][0]["url"].as_str().unwrap().replace(&daemon.api, "");
    let lead = format!("/leads/{}", table["leadUuid"].as_str().unwrap());
    let clicks = async |daemon: &Daemon| {
        let lead = daemon.get(&lead).await.json();
        let clicked = |action: &&Value| action["actionType"] == "clicked_savings_offer_link";
        lead["leadActions"].as_array().unwrap().iter().filter(clicked).count()
    };

    for (days, status) in [(30, 302), (32, 410)] {
        let (_, stopped) = daemon.terminate();
        age(&stopped, table["uuid"].as_str().unwrap(), days * DAY).await;
        daemon = stopped.start().await;
        let answer = daemon.get(&click).await;
        assert_eq!(answer.status, status, "after {days} days");
        assert_eq!(clicks(&daemon).await, 1, "only the first is recorded");
        if status == 410 {
            assert_conforms(Edition::Current, "ApiErrors", &answer.json());
            assert_eq!(answer.header("location"), None);
        }
    }
}
