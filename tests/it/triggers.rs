//! Trigger values of test leads, for each way in which a partner can answer.

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::partners::partner;

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
