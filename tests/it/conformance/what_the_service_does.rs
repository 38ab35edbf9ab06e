//! What the service does.
//!
//! Sentences held elsewhere: [`super::elsewhere`].

use hyper::Method;
use serde_json::{Value, json};

use super::schema::Edition;
use super::{OFFERS, ask, without};
use crate::kit::partners::partner;
use crate::kit::{Daemon, sample};

/// A sample lead that asks for these products.
fn asking_for(name: &str, products: &[&str]) -> Value {
    let mut lead: Value = serde_json::from_str(&sample(name)).unwrap();
    lead["productTypes"] = json!(products);
    lead
}

fn count(table: &Value, array: &str) -> usize {
    table[array].as_array().unwrap().len()
}

fn has(table: &Value, array: &str, field: &str, value: &Value) -> bool {
    table[array].as_array().unwrap().iter().any(|offer| offer[field] == *value)
}

async fn complete(daemon: &Daemon, lead: &Value) -> Value {
    let answer = daemon.submit_blocking(lead.to_string()).await;
    assert_eq!(answer.status, 200, "{lead}");
    answer.json()
}

#[tokio::test]
async fn bodies_are_json() {
    let daemon = Daemon::with_sample_partners().start().await;
    for (method, path) in [
        (Method::POST, "/leads/rateTables"),
        (Method::POST, "/uiEvent/sessionInits"),
        (Method::GET, "/leads/universities?limit=1"),
        (Method::GET, "/uiUtil/featuredFinancialInstitutions"),
        (Method::GET, "/offerPreview/loanOffers"),
        (Method::GET, "/supplyAnalytics/leadEvents?timestamp=2020-08-01T00:00:00Z"),
        (Method::GET, "/nowhere"),
        (Method::POST, "/uiEvent/offerDisplays"),
    ] {
        let answer = ask(&daemon, Edition::Current, method, path, "{}").await;
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
        answer.json();
    }
}

#[tokio::test]
async fn a_rate_table_is_a_list_of_offers_that_match_the_lead() {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("")]).start().await;
    for (amount, rating, offers) in
        [(999, "good", 0), (1_000, "good", 1), (50_000, "good", 1), (50_001, "good", 0)]
    {
        let lead = json!({
            "productTypes": ["loan"],
            "loanInformation": {"loanAmount": amount},
            "creditInformation": {"providedCreditRating": rating},
        });
        assert_eq!(count(&complete(&daemon, &lead).await, "loanOffers"), offers, "{amount}");
    }
}

#[tokio::test]
async fn product_types_say_which_products_are_wanted() {
    let daemon = Daemon::with_sample_partners().start().await;
    for (product, array) in [
        ("credit_card", "creditCardOffers"),
        ("insurance", "specialOffers"),
        ("life_insurance", "specialOffers"),
        ("loan", "loanOffers"),
        ("mortgage", "mortgageOffers"),
        ("savings", "savingsOffers"),
        ("other", "specialOffers"),
    ] {
        let table = complete(&daemon, &asking_for("everything", &[product])).await;
        for other in OFFERS {
            assert_eq!(count(&table, other) > 0, other == array, "{product}: {other}");
        }
    }
}

#[tokio::test]
async fn a_table_for_several_product_types_holds_one_list_for_each() {
    let daemon = Daemon::with_sample_partners().start().await;
    let products = ["credit_card", "loan", "mortgage", "savings", "insurance"];
    let table = complete(&daemon, &asking_for("everything", &products)).await;
    for (product, array) in products.into_iter().zip(OFFERS) {
        let offers = table[array].as_array().unwrap();
        assert!(!offers.is_empty(), "{array}");
        // Special offers do not say their type.
        let of_product = |offer: &Value| offer["productType"] == product || array == "specialOffers";
        assert!(offers.iter().all(of_product), "{array}");
    }
}

#[tokio::test]
async fn more_data_gives_more_and_more_personalised_offers() {
    let daemon = Daemon::with_sample_partners().start().await;
    let products = ["loan", "credit_card", "savings"];
    let little = complete(&daemon, &json!({"productTypes": products})).await;
    let much = complete(&daemon, &asking_for("everything", &products)).await;
    let offers = |table: &Value| OFFERS.iter().map(|array| count(table, array)).sum::<usize>();
    assert!(offers(&much) > offers(&little), "{} and {}", offers(&much), offers(&little));
    let personal = |table: &Value| has(table, "loanOffers", "preQualified", &json!(true));
    assert!(personal(&much) && !personal(&little));
}

#[tokio::test]
async fn firm_personal_loans_need_the_five_sections() {
    let daemon = Daemon::with_sample_partners().start().await;
    let lead = asking_for("personal_loan", &["loan"]);
    let firm = |table: &Value| {
        let offers = table["loanOffers"].as_array().unwrap().iter();
        let firm = |offer: &&Value| offer["preApproved"] == true || offer["preQualified"] == true;
        offers.filter(firm).filter(|offer| offer["productSubType"] == "personal_loan").count()
    };
    assert!(firm(&complete(&daemon, &lead).await) > 0);
    let sections = ["personalInformation", "loanInformation", "creditInformation", "financialInformation"];
    for section in sections.into_iter().chain(["legalInformation"]) {
        assert_eq!(firm(&complete(&daemon, &without(&lead, section)).await), 0, "without {section}");
    }
}

#[tokio::test]
async fn student_refinancing_goes_by_the_loans_or_the_university() {
    let daemon = Daemon::with_sample_partners().start().await;
    let lead = asking_for("student_refinance", &["loan"]);
    let refinances =
        |table: &Value| has(table, "loanOffers", "productSubType", &json!("student_loan_refinance"));
    assert!(refinances(&complete(&daemon, &lead).await));
    let mut other_purpose = lead.clone();
    other_purpose["loanInformation"]["purpose"] = json!("wedding");
    assert!(
        !refinances(&complete(&daemon, &other_purpose).await),
        "student loans are the only loans eligible"
    );
    let without_loans = without(&lead, "refinanceLoans");
    let without_both = without(&without_loans, "educationInformation");
    assert!(refinances(&complete(&daemon, &without_loans).await), "the university is enough");
    assert!(!refinances(&complete(&daemon, &without_both).await));
}

#[tokio::test]
async fn co_applicant_loans_need_a_co_applicant_beside_the_fields_of_a_personal_loan() {
    let daemon = Daemon::with_sample_partners().start().await;
    let lead = asking_for("co_applicant", &["loan"]);
    let shared = |table: &Value| has(table, "loanOffers", "coApplicant", &json!(true));
    assert!(shared(&complete(&daemon, &lead).await));
    for section in ["coApplicantInformation", "personalInformation", "loanInformation"] {
        assert!(!shared(&complete(&daemon, &without(&lead, section)).await), "without {section}");
    }
}

#[tokio::test]
async fn secured_loans_and_lines_of_credit_stand_beside_personal_loans() {
    let daemon = Daemon::with_sample_partners().start().await;
    let sub_type = |table: &Value, name: &str| has(table, "loanOffers", "productSubType", &json!(name));
    for name in ["secured_loan", "line_of_credit"] {
        let table = complete(&daemon, &asking_for(name, &["loan"])).await;
        assert!(sub_type(&table, name) && sub_type(&table, "personal_loan"), "{name}");
    }
    let minimal = complete(&daemon, &json!({"productTypes": ["loan"]})).await;
    assert!(!sub_type(&minimal, "secured_loan"), "only when the lead meets the criteria");
}

#[tokio::test]
async fn savings_go_by_zipcode_rating_and_deposit() {
    let daemon = Daemon::with_sample_partners().start().await;
    let lead = json!({
        "productTypes": ["savings"],
        "personalInformation": {"zipcode": "94105"},
        "creditInformation": {"providedCreditRating": "good"},
        "savingsInformation": {"minDepositAmount": 25000},
    });
    let best = count(&complete(&daemon, &lead).await, "savingsOffers");
    let mut less = lead.clone();
    less["savingsInformation"]["minDepositAmount"] = json!(0);
    assert!(best > count(&complete(&daemon, &less).await, "savingsOffers"));
}

#[tokio::test]
async fn credit_cards_go_by_fee_purposes_and_rating() {
    let daemon = Daemon::with_sample_partners().start().await;
    let ask_for = async |card: Value, rating: &str| {
        let lead = json!({
            "productTypes": ["credit_card"],
            "creditCardInformation": card,
            "creditInformation": {"providedCreditRating": rating},
        });
        complete(&daemon, &lead).await["creditCardOffers"].as_array().unwrap().clone()
    };
    let fee = |offer: &Value| offer["details"]["maxAnnualFee"].as_f64().unwrap_or(0.0);
    let any = ask_for(json!({}), "excellent").await;
    assert!(any.iter().any(|offer| fee(offer) > 0.0));
    let free = ask_for(json!({"allowAnnualFee": false}), "excellent").await;
    assert!(!free.is_empty() && free.iter().all(|offer| fee(offer) == 0.0));
    for purpose in ["travel_incentives", "balance_transfer"] {
        let offers = ask_for(json!({"cardPurposes": [purpose]}), "excellent").await;
        let listed = |offer: &Value| offer["details"]["cardPurposes"].as_array().cloned();
        let serves = |offer: &Value| listed(offer).is_some_and(|listed| listed.contains(&json!(purpose)));
        // A card that names no purpose is for any.
        assert!(offers.iter().all(|offer| serves(offer) || listed(offer).is_none()), "{purpose}");
        assert!(offers.iter().any(serves), "{purpose}");
    }
    let names = |offers: &[Value]| {
        offers.iter().map(|offer| offer["details"]["cardName"].clone()).collect::<Vec<_>>()
    };
    assert_ne!(names(&ask_for(json!({}), "poor").await), names(&any));
}
