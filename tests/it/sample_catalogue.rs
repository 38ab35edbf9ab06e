//! The sample catalog and the sample leads: each kind of lead gets the offers that one would expect, whole and valid.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use hyper::Method;
use offerd::model::{CardPurpose, CardType, CompoundingMethod, MortgageLoanType, ProductSubType, RateTable};
use serde_json::Value;

use crate::kit::{Daemon, sample};

/// Every sample lead's complete table, read back through the model's types, which demand all that is required.
async fn table(daemon: &Daemon, lead: &str) -> RateTable {
    let answer = daemon.submit_blocking(sample(lead)).await;
    assert_eq!(answer.status, 200, "{lead}: {}", String::from_utf8_lossy(&answer.body));
    let table: RateTable =
        serde_json::from_slice(&answer.body).unwrap_or_else(|error| panic!("{lead}: {error}"));
    // What the types do not know would get lost here.
    assert_eq!(serde_json::to_value(&table).unwrap(), without_nulls(answer.json()), "{lead}");
    table
}

/// Optional figures may be null (specification, LoanOffer); the types leave them out.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let given = entries.into_iter().filter(|(_, value)| !value.is_null());
            given.map(|(key, value)| (key, without_nulls(value))).collect()
        }
        Value::Array(elements) => elements.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

fn loans(table: &RateTable) -> BTreeSet<ProductSubType> {
    table.loan_offers.iter().map(|offer| offer.product_sub_type).collect()
}

#[tokio::test]
async fn each_kind_of_lead_gets_the_offers_one_would_expect() {
    use ProductSubType::*;
    let daemon = Daemon::with_sample_partners().start().await;

    let personal = table(&daemon, "personal_loan").await;
    assert!(loans(&personal).contains(&PersonalLoan));
    assert!(personal.loan_offers.iter().any(|offer| offer.pre_qualified || offer.pre_approved));
    assert!(personal.savings_offers.is_empty() && personal.credit_card_offers.is_empty());
    assert!(loans(&table(&daemon, "secured_loan").await).contains(&SecuredLoan));
    assert!(loans(&table(&daemon, "line_of_credit").await).contains(&LineOfCredit));
    assert_eq!(loans(&table(&daemon, "student_refinance").await), [StudentLoanRefinance].into());
    assert!(loans(&table(&daemon, "co_applicant").await).contains(&CoApplicantLoan));

    for (lead, sub_type) in [("mortgage_purchase", Purchase), ("mortgage_refinance", Refinance)] {
        let mortgages = table(&daemon, lead).await.mortgage_offers;
        assert!(!mortgages.is_empty());
        assert!(mortgages.iter().all(|offer| offer.product_sub_type == sub_type), "{lead}");
    }
    let cards = table(&daemon, "credit_card").await.credit_card_offers;
    assert!(
        cards.iter().any(|offer| offer.details.pre_qualified),
        "the lead tells what personalised cards need"
    );
    assert!(cards.iter().any(|offer| !offer.details.pre_qualified), "some cards are for anyone");
    assert!(!table(&daemon, "savings").await.savings_offers.is_empty());
    assert!(!table(&daemon, "insurance").await.special_offers.is_empty());
    assert!(table(&daemon, "life_insurance").await.special_offers.len() >= 4);

    let second_look = table(&daemon, "second_look").await;
    assert!(second_look.loan_offers.is_empty());
    assert!(!second_look.special_offers.is_empty());
    let minimal = table(&daemon, "minimal").await;
    assert!(!minimal.credit_card_offers.is_empty() && !minimal.savings_offers.is_empty());
    let everything = table(&daemon, "everything").await;
    assert!(everything.offer_count() > 50);
    table(&daemon, "empty").await;
}

#[tokio::test]
async fn the_catalogue_covers_what_the_specification_names() {
    let daemon = Daemon::with_sample_partners().start().await;
    // Static offers of every kind come out for leads that tell little, personal ones for those that tell enough.
    let mut tables = Vec::new();
    for lead in ["empty", "everything", "mortgage_purchase", "mortgage_refinance", "savings"] {
        tables.push(table(&daemon, lead).await);
    }
    let savings = tables.iter().flat_map(|table| &table.savings_offers);
    let compounding: BTreeSet<CompoundingMethod> =
        savings.clone().map(|offer| offer.details.compounding_method).collect();
    assert_eq!(compounding.len(), CompoundingMethod::ALL.len(), "{compounding:?}");
    let kinds: BTreeSet<ProductSubType> = savings.map(|offer| offer.product_sub_type).collect();
    assert_eq!(kinds.len(), 6, "{kinds:?}");
    let mortgages = tables.iter().flat_map(|table| &table.mortgage_offers);
    let kinds: BTreeSet<MortgageLoanType> = mortgages.map(|offer| offer.details.loan_type).collect();
    assert!(kinds.iter().eq(&MortgageLoanType::ALL[..5]), "those of the specification: {kinds:?}");
    let cards = tables.iter().flat_map(|table| &table.credit_card_offers);
    let networks: BTreeSet<CardType> = cards.clone().map(|offer| offer.details.card_type).collect();
    assert_eq!(networks.len(), CardType::ALL.len());
    let purposes: BTreeSet<CardPurpose> =
        cards.flat_map(|offer| offer.details.card_purposes.clone().unwrap_or_default()).collect();
    assert_eq!(purposes.len(), CardPurpose::ALL.len());
}

#[tokio::test]
async fn every_array_is_sorted_by_score_and_every_offer_can_be_clicked() {
    let daemon = Daemon::with_sample_partners().start().await;
    let table = daemon.submit_blocking(sample("everything")).await.json();
    for array in ["creditCardOffers", "loanOffers", "mortgageOffers", "savingsOffers", "specialOffers"] {
        let offers = table[array].as_array().unwrap();
        let scores: Vec<f64> =
            offers.iter().map(|offer| offer["recommendationScore"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|one, two| one >= two), "{array}: {scores:?}");
        for offer in offers {
            let url = offer["url"].as_str().unwrap();
            assert!(url.starts_with(&daemon.api) && url.ends_with(offer["uuid"].as_str().unwrap()), "{url}");
        }
    }
    for offer in table["loanOffers"].as_array().unwrap() {
        let special = ["secured_loan", "line_of_credit"].contains(&offer["productSubType"].as_str().unwrap());
        assert!(!special || offer["productSubTypeDisclaimer"].is_string(), "{offer}");
        assert_eq!(offer["secured"].as_bool().unwrap(), offer["productSubType"] == "secured_loan");
        assert!(!offer["originator"]["images"].as_array().unwrap().is_empty());
    }
}

/// They may wait in line as long as the machine takes.
#[tokio::test]
async fn of_256_clients_that_wait_for_their_answers_none_is_refused() {
    let plan = Daemon::with_sample_partners().setting("limits.queueing_target", "3ms");
    let daemon = plan.setting("limits.queue_wait", "1m").start().await;
    let lead = sample("personal_loan");
    let clients = (0..256).map(async |_| {
        for _ in 0..2 {
            assert_eq!(daemon.submit(&lead).await.status, 200);
        }
    });
    join_all(clients).await;
    let metrics = daemon.request(Method::GET, &format!("{}/metrics", daemon.admin), "", "").await;
    let told = String::from_utf8_lossy(&metrics.body).into_owned();
    for left in ["offerd_new_work_in_flight 0\n", "offerd_new_work_waiting 0\n"] {
        assert!(told.contains(left), "{left} is missing in:\n{told}");
    }
}
