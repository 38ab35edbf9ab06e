//! Opening an offer.

use hyper::Method;
use serde_json::Value;

use crate::kit::Daemon;
use crate::kit::partners::partner;

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
