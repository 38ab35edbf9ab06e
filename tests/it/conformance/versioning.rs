//! Versioning. What v1 says differently is held by `tests/it/v1.rs` fact by fact, and by [`super::round_trip`] and
//! [`super::enumerations`] shape by shape.

use hyper::Method;
use serde_json::{Value, json};

use super::schema::{Edition, assert_conforms};
use super::{ask, lead_path, uuid_of};
use crate::kit::{Daemon, sample};

#[tokio::test]
async fn v1_is_asked_for_by_accept_and_nothing_else() {
    let daemon = Daemon::with_sample_partners().start().await;
    let url = format!("{}/leads/rateTables", daemon.api);
    for (accept, status) in [
        ("application/vnd.offerd.v1+json", 201),
        ("application/vnd.offerd.v1+json, application/json", 201),
        ("application/json", 200),
        ("*/*", 200),
        ("text/html", 200),
        ("", 200),
    ] {
        let headers = [("accept", accept)];
        let answer = daemon.request_with(Method::POST, &url, &daemon.publishable, &headers, "{}").await;
        assert_eq!(answer.status, status, "{accept}");
    }
    assert_eq!(daemon.submit("{}").await.status, 200, "without the header it is the current edition");
}

#[tokio::test]
async fn cards_of_v1_have_one_annual_fee_and_rates_that_may_not_apply() {
    let daemon = Daemon::with_sample_partners().start().await;
    let table = daemon.submit_blocking(sample("credit_card")).await.json();
    let path = format!("/originator/rateTables/{}", uuid_of(&table));
    let v1 = ask(&daemon, Edition::V1, Method::GET, &path, "").await.json();
    assert_conforms(Edition::V1, "RateTable", &v1);
    let offers = v1["creditCardOffers"].as_array().unwrap();
    let of_today = table["creditCardOffers"].as_array().unwrap();
    assert!(!offers.is_empty());
    for (offer, current) in offers.iter().zip(of_today) {
        let fee = current["details"].get("maxAnnualFee").cloned().unwrap_or(json!(0));
        assert_eq!(offer["details"]["annualFee"], fee);
    }
    let not_applicable = |offer: &&Value| offer["details"]["minPurchaseIntroApr"] == -1;
    let absent = |offer: &&Value| offer["details"].get("minPurchaseIntroApr").is_none();
    let count = offers.iter().filter(not_applicable).count();
    assert!(count > 0, "some card has no introductory rate");
    assert_eq!(count, of_today.iter().filter(absent).count());
}

#[tokio::test]
async fn a_lead_of_v1_is_a_lead_of_today_in_other_words() {
    let daemon = Daemon::with_sample_partners().start().await;
    let sent = json!({
        "creditCardInformation": {"cardBenefits": ["travel_incentives"]},
        "loanInformation": {"purpose": "auto"},
        "financialInformation": {"backAccountType": "checking"},
    });
    let answer = ask(&daemon, Edition::V1, Method::POST, "/leads/rateTables", &sent.to_string()).await;
    assert_eq!(answer.status, 201);
    let lead = lead_path(&answer.json());
    let of_v1 = ask(&daemon, Edition::V1, Method::GET, &lead, "").await.json();
    let of_today = ask(&daemon, Edition::Current, Method::GET, &lead, "").await.json();
    for (section, value) in sent.as_object().unwrap() {
        assert_eq!(&of_v1[section], value);
    }
    assert_eq!(of_today["creditCardInformation"], json!({"cardPurposes": ["travel_incentives"]}));
    assert_eq!(of_today["loanInformation"], json!({"purpose": "auto_purchase"}));
    assert_eq!(of_today["financialInformation"], json!({"bankAccountType": "checking"}));
}
