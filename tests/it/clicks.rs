//! Opening an offer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use hyper::Method;
use offerd::rate_table::record::TableHead;
use offerd::store::{Commit, Tree, codec};
use serde_json::{Value, json};

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

/// An address that is opened for ever leads on, and makes the lead no longer.
#[tokio::test]
async fn of_many_clicks_on_an_offer_the_first_ten_are_kept_and_all_are_counted() {
    const CLICKS: usize = 250;
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let plan = plan.setting("limits.burst_clicks_per_offer", "1000");
    let daemon = plan.setting("limits.burst_per_address", "1000").start().await;
    let table = daemon.submit("{}").await.json();
    let (offer, lead) = (&table["savingsOffers"][0], table["leadUuid"].as_str().unwrap().to_owned());
    let url = offer["url"].as_str().unwrap();
    let once = async || daemon.request(Method::GET, url, "", "").await;
    for _ in 0..CLICKS / 50 {
        // Of clicks at one time each is counted.
        for answer in join_all((0..50).map(|_| once())).await {
            assert_eq!((answer.status, answer.header("location").is_some()), (302, true));
        }
    }
    let shown = daemon.get(&format!("/leads/{lead}")).await;
    let actions = shown.json()["leadActions"].as_array().unwrap().clone();
    let clicked = actions.iter().filter(|action| action["actionType"] == "clicked_savings_offer_link");
    assert_eq!(clicked.count(), 10);
    assert!(shown.body.len() < 10_000, "{} bytes", shown.body.len());

    let metrics = daemon.metrics().await;
    assert!(metrics.contains(r#"offerd_clicks_total{kept="yes"} 10"#), "{metrics}");
    assert!(metrics.contains(&format!(r#"offerd_clicks_total{{kept="no"}} {}"#, CLICKS - 10)), "{metrics}");
    let daemon = daemon.kill().start().await;
    let dossier = daemon.command(&["lead", "export", &lead]);
    let dossier: Value = serde_json::from_slice(&dossier.stdout).unwrap();
    assert_eq!(dossier["offerClicks"], json!([{"offerUuid": offer["uuid"], "clicks": CLICKS}]));
    let events = dossier["leadEvents"].as_array().unwrap().iter();
    assert_eq!(events.filter(|event| event["eventType"] == "offerClicked").count(), 10);
}

#[tokio::test]
async fn an_offer_that_is_opened_too_often_is_refused_for_a_while() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings(""), partner("other").savings("")]);
    let daemon = daemon.setting("limits.burst_clicks_per_offer", "3").start().await;
    let table = daemon.submit("{}").await.json();
    let offer = |nth: usize| table["savingsOffers"][nth]["url"].as_str().unwrap().to_owned();
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(daemon.request(Method::GET, &offer(0), "", "").await);
    }
    assert!(statuses[..3].iter().all(|answer| answer.status == 302));
    let refused = statuses.iter().find(|answer| answer.status == 429).expect("some of twenty come too soon");
    assert_conforms(Edition::Current, "ApiErrors", &refused.json());
    assert!(refused.header("retry-after").is_some());
    assert_eq!(daemon.request(Method::GET, &offer(1), "", "").await.status, 302, "another is not concerned");
    assert!(daemon.metrics().await.contains(r#"{reason="click_offer_rate"}"#));
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
    let other_digit = if url.ends_with('7') { '8' } else { '7' };
    let beyond = format!("{}{other_digit}", &url[..url.len() - 1]);
    let whole_table = format!("{}/click/{}", daemon.api, table["uuid"].as_str().unwrap());
    let nonsense = format!("{}/click/nonsense", daemon.api);
    let stranger = format!("{}/click/0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77", daemon.api);
    for url in [beyond, whole_table, nonsense, stranger] {
        assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 404, "{url}");
    }
}

/// Makes a stored table older.
async fn age(stopped: &Stopped, table: &str, age: Duration) {
    let store = stopped.plan.open_store();
    let key = uuid::Uuid::try_parse(table).unwrap().into_bytes();
    let head = store.get(Tree::RateTables, key).unwrap().expect("the table is stored");
    let mut head: TableHead = codec::decode(&head).unwrap();
    let then = (SystemTime::now() - age).duration_since(UNIX_EPOCH).unwrap();
    head.created_at = i64::try_from(then.as_millis()).unwrap();
    store.commit(Commit::new().put(Tree::RateTables, key, codec::encode(&head))).await.unwrap();
}

#[tokio::test]
async fn an_offer_that_its_partner_lets_stand_shorter_is_gone_sooner() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let bank = partner("bank")
        .savings("")
        .replaced("minimum_deposit = 0", "minimum_deposit = 0\nvalid_for = \"14days\"");
    let mut daemon = Daemon::with_partners(vec![bank]).start().await;
    let table = daemon.submit_blocking("{}").await.json();
    let click = table["savingsOffers"][0]["url"].as_str().unwrap().replace(&daemon.api, "");
    for (days, status) in [(13, 302), (15, 410)] {
        let (_, stopped) = daemon.terminate();
        age(&stopped, table["uuid"].as_str().unwrap(), days * DAY).await;
        daemon = stopped.start().await;
        assert_eq!(daemon.get(&click).await.status, status, "after {days} days");
    }
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
