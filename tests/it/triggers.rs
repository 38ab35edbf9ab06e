//! Trigger values of test leads, for each way in which a partner can answer, and for its reports.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Daemon, PATIENCE};
use crate::reports::{report, until_counted};

async fn daemon() -> Daemon {
    let lender = |key: &str| partner(key).loan("").replaced("timeout = \"10s\"", "timeout = \"1s\"");
    Daemon::with_partners(vec![lender("alpha"), lender("beta")]).start().await
}

fn lead(values: &[&str]) -> String {
    let lead = json!({
        "productTypes": ["loan"],
        "loanInformation": {"loanAmount": 10000},
        "creditInformation": {"providedCreditRating": "good"},
        "clientTags": {"sandbox": values},
    });
    lead.to_string()
}

/// Who has offers, and the reasons of those who rejected the person.
async fn answers(daemon: &Daemon, values: &[&str]) -> (Vec<String>, Vec<Value>) {
    let table = daemon.submit_blocking(lead(values)).await.json();
    let offers = table["loanOffers"].as_array().unwrap().iter();
    let mut keys: Vec<String> =
        offers.map(|offer| offer["originator"]["key"].as_str().unwrap().to_owned()).collect();
    keys.sort();
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    let actions = lead["leadActions"].as_array().unwrap().iter();
    let rejected = actions.filter(|action| action["actionType"] == "api_rejected");
    (keys, rejected.map(|action| action["rejectReason"].clone()).collect())
}

#[tokio::test]
async fn each_outcome_comes_when_it_is_asked_for() {
    let daemon = daemon().await;
    let keys = |keys: &[&str]| -> Vec<String> { keys.iter().map(|key| (*key).to_owned()).collect() };
    assert_eq!(answers(&daemon, &["approved"]).await, (keys(&["alpha", "beta"]), vec![]));
    assert_eq!(answers(&daemon, &["declined"]).await, (vec![], vec![Value::Null, Value::Null]));
    let one = answers(&daemon, &["alpha=declined:low_fico"]).await;
    assert_eq!(one, (keys(&["beta"]), vec![json!("low_fico")]));
    for outcome in ["timed_out", "unreachable", "malformed"] {
        let value = format!("beta={outcome}");
        assert_eq!(answers(&daemon, &[&value]).await, (keys(&["alpha"]), vec![]), "{outcome}");
    }
}

#[tokio::test]
async fn a_slow_partner_is_pending_at_first_and_has_its_offers_in_the_end() {
    let daemon = daemon().await;
    let slow = Daemon::with_partners(vec![partner("alpha").loan("")]).setting("matching.submit_wait", "10ms");
    let slow = slow.start().await;
    let table = slow.submit(lead(&["slow"])).await.json();
    assert_eq!(table["pendingResponses"][0]["partner"]["name"], "alpha");
    let (offers, _) = answers(&daemon, &["slow"]).await;
    assert_eq!(offers.len(), 2);
}

#[tokio::test]
async fn a_live_lead_triggers_nothing() {
    let daemon = daemon().await;
    let made = daemon.command(&["token", "create", "--company", "Live", "--kind", "publishable"]);
    let token = String::from_utf8(made.stdout).unwrap();
    let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
    let table = daemon.request(Method::POST, &url, token.trim(), &lead(&["declined"])).await.json();
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 2);
}

/// A page of a feed in the newer form, by a token.
async fn page(daemon: &Daemon, feed: &str, token: &str) -> Vec<Value> {
    let url = format!("{}/supplyAnalytics/{feed}?sinceTimestamp=2020-08-01T00:00:00Z", daemon.api);
    let headers = [("api-version", "2025-04-01")];
    let answer = daemon.request_with(Method::GET, &url, token, &headers, "").await;
    answer.json()["data"].as_array().unwrap().clone()
}

/// The payouts in the feed of test records, once there are so many.
async fn payouts(daemon: &Daemon, count: usize) -> Vec<Value> {
    let reading = async {
        loop {
            let payouts = page(daemon, "leadPayouts", &daemon.confidential).await;
            if payouts.len() >= count {
                return payouts;
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("they arrive")
}

/// The types of the reported events in the feed of test records, and whether each is a reversal.
async fn reported(daemon: &Daemon) -> Vec<(String, bool)> {
    let events = page(daemon, "leadEvents", &daemon.confidential).await.into_iter();
    let events = events
        .map(|event| (event["eventType"].as_str().unwrap().to_owned(), event["eventDeletedAt"].is_string()));
    let made = ["leadCreated", "appSubmitted", "apiApproved", "apiRejected"];
    events.filter(|(event_type, _)| !made.contains(&event_type.as_str())).collect()
}

#[tokio::test]
async fn a_funded_test_lead_is_in_the_feeds_of_test_tokens_at_once() {
    let daemon = daemon().await;
    let table = daemon.submit_blocking(lead(&["applied", "funded"])).await.json();
    let first = &table["loanOffers"][0];
    let payout = &payouts(&daemon, 1).await[0];
    assert_eq!(payout["leadUuid"], table["leadUuid"]);
    assert_eq!((&payout["payoutInCents"], &payout["eventType"]), (&json!(10_000), &json!("funded")));
    assert_eq!((&payout["offerUuid"], &payout["partner"]), (&first["uuid"], &first["originator"]["key"]));
    assert!(payout["transactionId"].as_str().unwrap().starts_with("sandbox-"), "{payout}");
    assert_eq!(reported(&daemon).await, [("applied".to_owned(), false), ("funded".to_owned(), false)]);

    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    assert_eq!(lead["status"], "funded");
}

#[tokio::test]
async fn what_is_reversed_comes_again() {
    let daemon = daemon().await;
    let table = daemon.submit_blocking(lead(&["slow", "beta=reversed"])).await.json();
    let [earned, again] = &payouts(&daemon, 2).await[..] else { panic!("two of one payout") };
    assert_eq!((&earned["uuid"], &earned["partner"]), (&again["uuid"], &json!("beta")));
    assert!(earned["deletedAt"].is_null() && again["deletedAt"].is_string(), "{again}");
    assert_eq!(reported(&daemon).await, [("funded".to_owned(), false), ("funded".to_owned(), true)]);
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 2, "reports change no answer");
}

#[tokio::test]
async fn a_test_lead_is_paid_at_the_step_of_its_offer_but_nobody_earns_it() {
    let by_click = partner("alpha").loan("").replaced(r#"on = "funded""#, r#"on = "click""#);
    let daemon = Daemon::with_partners(vec![by_click]).start().await;
    daemon.submit_blocking(lead(&["paid"])).await;
    let payout = &payouts(&daemon, 1).await[0];
    assert_eq!((&payout["payoutInCents"], &payout["eventType"]), (&json!(10_000), &json!("conversion")));

    let live = daemon.command(&["token", "create", "--company", "Sandbox", "--kind", "confidential"]);
    let live = String::from_utf8(live.stdout).unwrap();
    assert_eq!(page(&daemon, "leadPayouts", live.trim()).await, Vec::<Value>::new());
    daemon.submit_blocking(lead(&["approved"])).await;
    until_counted(&daemon, &json!({"leads": 2})).await;
    let counted = report(&|words| daemon.command(words), &[]);
    assert_eq!(counted["total"]["payouts"].as_f64().unwrap_or_default(), 0.0, "{counted}");
}

#[tokio::test]
async fn a_table_without_offers_has_nothing_to_report() {
    let daemon = daemon().await;
    daemon.submit_blocking(lead(&["declined", "funded"])).await;
    daemon.submit_blocking(lead(&["paid"])).await;
    // Reports are made in the order of the tables.
    assert_eq!(payouts(&daemon, 1).await.len(), 1);
    assert_eq!(reported(&daemon).await, [("funded".to_owned(), false)]);
}
