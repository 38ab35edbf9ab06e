//! Second look: asked when no first-look partner has a loan offer, pending from the start, one winner per sub-type.

use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::partners::{PartnerFile, partner};

const LEAD: &str = r#"{
    "productTypes": ["loan", "other"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

/// A lead that no loan partner of the kit lends to.
const TOO_SMALL: &str = r#"{
    "productTypes": ["loan", "other"],
    "loanInformation": {"loanAmount": 100},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

fn partners() -> Vec<PartnerFile> {
    vec![
        partner("lender").loan(""),
        partner("less").second_look(2.0, ""),
        partner("more").second_look(3.0, ""),
    ]
}

fn names(offers: &Value) -> Vec<&str> {
    offers.as_array().unwrap().iter().map(|offer| offer["partnerName"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn it_is_not_needed_when_a_first_look_partner_has_a_loan_offer() {
    let daemon = Daemon::with_partners(partners()).start().await;
    let table = daemon.submit_blocking(LEAD).await.json();
    assert_eq!(table["loanOffers"].as_array().unwrap().len(), 1);
    assert_eq!(table["specialOffers"], json!([]));
    assert_eq!(table["pendingResponses"], json!([]));
}

#[tokio::test]
async fn the_highest_score_of_a_sub_type_wins_when_there_is_no_loan_offer() {
    let daemon = Daemon::with_partners(partners()).start().await;
    let table = daemon.submit_blocking(TOO_SMALL).await.json();
    assert_eq!(table["loanOffers"], json!([]));
    assert_eq!(names(&table["specialOffers"]), ["more"]);
}

#[tokio::test]
async fn other_alone_goes_to_it_directly() {
    let daemon = Daemon::with_partners(partners()).start().await;
    let table = daemon.submit_blocking(r#"{"productTypes":["other"]}"#).await.json();
    assert_eq!(names(&table["specialOffers"]), ["more"]);
}

#[tokio::test]
async fn loan_alone_never_reaches_it() {
    let daemon = Daemon::with_partners(partners()).start().await;
    let lead = TOO_SMALL.replace(r#", "other""#, "");
    let table = daemon.submit_blocking(lead).await.json();
    assert_eq!(table["specialOffers"], json!([]));
}

#[tokio::test]
async fn asking_for_nothing_in_particular_is_asking_for_it_too() {
    let daemon = Daemon::with_partners(partners()).start().await;
    let table = daemon.submit_blocking("{}").await.json();
    assert_eq!(names(&table["specialOffers"]), ["more"]);
}

#[tokio::test]
async fn it_stands_in_pending_responses_from_the_start() {
    let slow = r#"simulate = { delay = "2s" }"#;
    let partners = vec![partner("lender").loan(slow), partner("more").second_look(3.0, "")];
    let daemon = Daemon::with_partners(partners).start().await;
    let table = daemon.submit(LEAD).await.json();
    let pending = table["pendingResponses"].as_array().unwrap();
    let names: Vec<&str> =
        pending.iter().map(|response| response["partner"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["lender", "more"]);
    assert_eq!(pending[1]["productTypes"], json!(["other"]));

    let complete = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(complete["loanOffers"].as_array().unwrap().len(), 1);
    assert_eq!(complete["specialOffers"], json!([]));
}
