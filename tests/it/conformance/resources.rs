//! Resources and their fields. That every answer has exactly the fields of its resource is held by
//! [`super::round_trip`]; this is about what the fields mean.

use hyper::Method;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::places::{self, Place};
use super::schema::{Edition, assert_conforms};
use super::{OFFERS, ask, generated, lead_path};
use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon, sample};

const LEAD: &str = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";

/// Every field of a lead, down to those that hold no others with names.
fn fields() -> Vec<Place> {
    let places = places::places(Edition::Current).into_iter();
    let of_sections =
        |place: &Place| place.target()["items"]["$ref"].as_str().is_some_and(|it| it.starts_with('#'));
    places.filter(|place| !place.is_section() && !place.is_element() && !of_sections(place)).collect()
}

async fn daemon() -> Daemon {
    Daemon::with_partners(prompt_partners(1)).start().await
}

#[tokio::test]
async fn every_field_is_optional_and_kept_alone() {
    let daemon = daemon().await;
    let mut runner = TestRunner::deterministic();
    let fields = fields();
    assert!(fields.len() > 130, "{}", fields.len());
    for field in &fields {
        let value = generated::of(Edition::Current, field.schema).new_tree(&mut runner).unwrap().current();
        let sent = field.alone(value);
        let answer = daemon.submit(sent.to_string()).await;
        assert_eq!(answer.status, 200, "{sent}: {answer:?}");
        if !["productTypes", "formCompleted"].contains(&field.attribute.as_str()) {
            let kept = daemon.get(&lead_path(&answer.json())).await.json();
            let (name, value) = sent.as_object().unwrap().iter().next().unwrap();
            assert_eq!(&kept[name], value);
        }
    }
}

#[tokio::test]
async fn every_field_has_its_type() {
    let daemon = daemon().await;
    for field in fields() {
        let target = field.target();
        let wrong = match target["type"].as_str() {
            Some("integer") => vec![json!("7"), json!(1.5), json!(1e30), json!(true)],
            Some("number") => vec![json!("7.5"), json!(true)],
            Some("boolean") => vec![json!("true"), json!(1)],
            Some("array") => vec![json!("a"), json!(1), json!(true)],
            Some("object") => vec![json!("a"), json!(1), json!(["a"])],
            _ => vec![json!(7), json!(true)],
        };
        let formatted = match target["format"].as_str().or(target["anyOf"][0]["format"].as_str()) {
            Some("uuid") => {
                vec!["17", "0193a7b21c7e7d5a9c112f6c5a0e4b77", "{0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77}"]
            }
            Some("date") => vec!["2026-02-30", "2026-1-1", "1/1/2026", "2026-01-01T12:00:00Z", "today"],
            Some("email") => vec!["nobody", "a@b", "a b@example.com", "@example.com", "a@@example.com"],
            Some("ipv4") => vec!["300.1.1.1", "1.2.3", "::g", "localhost"],
            _ => vec![],
        };
        let containers = match target["type"].as_str() {
            Some("array") => vec![json!({})],
            Some("object") => vec![json!([])],
            _ => vec![json!({}), json!([])],
        };
        for value in wrong.into_iter().chain(containers).chain(formatted.into_iter().map(Value::from)) {
            let answer = daemon.submit(field.alone(value.clone()).to_string()).await;
            assert_eq!(
                (answer.status, answer.attributes()),
                (422, vec![field.attribute.clone()]),
                "{}: {value}",
                field.attribute
            );
        }
    }
}

#[tokio::test]
async fn phones_zipcodes_and_ssns_have_their_formats() {
    let daemon = daemon().await;
    let person = |name: &str, value: &str| json!({"personalInformation": {name: value}}).to_string();
    for (name, sent, kept) in [
        ("primaryPhone", "+1 (509) 555-0147", "5095550147"),
        ("primaryPhone", "15095550147", "5095550147"),
        ("zipcode", "99203", "99203"),
        ("zipcode", "94105 1804", "94105-1804"),
        ("ssn", "535772043", "535-77-2043"),
    ] {
        let table = daemon.submit(person(name, sent)).await.json();
        let lead = daemon.get(&lead_path(&table)).await.json();
        assert_eq!(lead["personalInformation"][name], kept, "{sent}");
    }
    for (name, value) in [
        ("primaryPhone", "555-0147"),
        ("workPhone", "509555014x"),
        ("zipcode", "9410"),
        ("zipcode", "94105-18"),
        ("ssn", "000-12-3456"),
        ("ssn", "666-12-3456"),
        ("ssn", "900-12-3456"),
        ("ssn", "535-00-2043"),
        ("ssn", "535-77-0000"),
        ("ssn", "111-11-1111"),
        ("ssn", "219-09-9999"),
        ("ssn", "078-05-1120"),
    ] {
        let answer = daemon.submit(person(name, value)).await;
        let attributes = vec![format!("personalInformation.{name}")];
        assert_eq!((answer.status, answer.attributes()), (422, attributes), "{value}");
    }
}

#[tokio::test]
async fn only_test_leads_may_have_the_sample_ssn() {
    let daemon = daemon().await;
    let live = daemon.command(&["token", "create", "--company", "Live", "--kind", "publishable"]);
    let live = String::from_utf8(live.stdout).unwrap();
    let lead = r#"{"personalInformation":{"ssn":"123-45-6789","zipcode":"9"}}"#;
    let refused = |answer: Answer| (answer.status, answer.attributes().join(" "));
    let zipcode = "personalInformation.zipcode".to_owned();
    assert_eq!(refused(daemon.submit(lead).await), (422, zipcode.clone()));
    let url = format!("{}/leads/rateTables", daemon.api);
    let both = format!("{zipcode} personalInformation.ssn");
    assert_eq!(refused(daemon.request(Method::POST, &url, live.trim(), lead).await), (422, both));

    let table = daemon.submit(r#"{"personalInformation":{"ssn":"123456789"}}"#).await.json();
    let lead = daemon.get(&lead_path(&table)).await.json();
    assert_eq!(lead["personalInformation"]["ssn"], "123-45-6789");
}

#[tokio::test]
async fn the_uuid_is_the_primary_id_of_the_lead() {
    let daemon = daemon().await;
    let table = daemon.submit(json!({"uuid": LEAD}).to_string()).await.json();
    assert_eq!(table["leadUuid"], LEAD);
    assert_eq!(daemon.get(&format!("/leads/{LEAD}")).await.json()["uuid"], LEAD);
}

#[tokio::test]
async fn the_co_applicants_postal_code_is_read_in_both_spellings_and_written_as_zip_code() {
    let daemon = daemon().await;
    for name in ["zipCode", "zipcode"] {
        let lead = json!({"coApplicantInformation": {name: "99203"}}).to_string();
        let table = daemon.submit(lead).await.json();
        let lead = daemon.get(&lead_path(&table)).await.json();
        assert_eq!(lead["coApplicantInformation"], json!({"zipCode": "99203"}));
    }
}

#[tokio::test]
async fn client_tags_are_arrays_of_strings_under_any_key() {
    let daemon = daemon().await;
    let tags = json!({"campaign": ["autumn", "mail"], "": ["x"], "ключ 🙂": [], "a.b[0]": ["x", "x"]});
    let table = daemon.submit(json!({"clientTags": tags}).to_string()).await.json();
    assert_eq!(daemon.get(&lead_path(&table)).await.json()["clientTags"], tags);
    for (tags, attribute) in [
        (json!({"a": "x"}), "clientTags.a"),
        (json!({"a": {"b": []}}), "clientTags.a"),
        (json!({"a": ["x", 1]}), "clientTags.a[1]"),
        (json!({"a": [["x"]]}), "clientTags.a[0]"),
        (json!(["x"]), "clientTags"),
    ] {
        let answer = daemon.submit(json!({"clientTags": tags}).to_string()).await;
        assert_eq!((answer.status, answer.attributes()), (422, vec![attribute.to_owned()]), "{tags}");
    }
}

#[tokio::test]
async fn the_output_lead_has_who_sent_it_and_when() {
    let daemon = daemon().await;
    let table = daemon.submit("{}").await.json();
    let lead = daemon.get(&lead_path(&table)).await.json();
    let session = daemon.post("/uiEvent/sessionInits", "").await.json();
    assert_eq!(lead["companyUUID"], session["createdBy"], "one company");
    assert_eq!(lead["leadProviderName"], "Sandbox");
    assert!(lead["createdAt"].as_str() <= lead["updatedAt"].as_str());
}

#[tokio::test]
async fn the_loan_amount_of_a_table_is_that_of_the_lead_at_its_creation() {
    let daemon = daemon().await;
    let lead = json!({"uuid": LEAD, "loanInformation": {"loanAmount": 7000}}).to_string();
    let table = daemon.submit(lead).await.json();
    assert_eq!(table["loanAmount"], 7000);
    let url = format!("{}/leads/{LEAD}", daemon.api);
    let change = r#"{"loanInformation":{"loanAmount":9000}}"#;
    assert_eq!(daemon.request(Method::PATCH, &url, &daemon.confidential, change).await.status, 200);
    let later = daemon.rate_table(table["uuid"].as_str().unwrap()).await.json();
    assert_eq!(later["loanAmount"], 7000);
    assert_eq!(daemon.submit("{}").await.json().get("loanAmount"), None);
}

/// Every offer that the sample catalog has for the lead that tells everything, by its array; asked for once.
async fn all_offers() -> &'static [(&'static str, Value)] {
    static OFFERS_OF_ALL: OnceCell<Vec<(&str, Value)>> = OnceCell::const_new();
    let asked = async {
        let daemon = Daemon::with_sample_partners().start().await;
        let table = daemon.submit_blocking(sample("everything")).await.json();
        let of = |array: &'static str| {
            table[array].as_array().unwrap().clone().into_iter().map(move |offer| (array, offer))
        };
        OFFERS.into_iter().flat_map(of).collect()
    };
    OFFERS_OF_ALL.get_or_init(|| asked).await
}

#[tokio::test]
async fn offers_say_their_product_and_stand_in_its_array() {
    for (array, offer) in all_offers().await {
        let product = match *array {
            "creditCardOffers" => "credit_card",
            "loanOffers" => "loan",
            "mortgageOffers" => "mortgage",
            "savingsOffers" => "savings",
            _ => continue,
        };
        assert_eq!(offer["productType"], product);
        let sub_types: &[&str] = match product {
            "credit_card" => &["credit_card", "secured_card"],
            "mortgage" => &["purchase", "refinance"],
            "loan" => &[
                "personal_loan",
                "secured_loan",
                "student_loan_refinance",
                "co_applicant_loan",
                "line_of_credit",
            ],
            _ => &[
                "savings_account",
                "money_market_account",
                "certificate_of_deposit",
                "individual_retirement_account",
                "cash_management_account",
                "high_interest_checking",
            ],
        };
        assert!(sub_types.contains(&offer["productSubType"].as_str().unwrap()), "{product}: {offer}");
    }
}

#[tokio::test]
async fn offers_of_all_arrays_have_a_uuid_of_their_own_and_a_url() {
    let offers = all_offers().await;
    let mut uuids: Vec<&str> = offers.iter().map(|(_, offer)| offer["uuid"].as_str().unwrap()).collect();
    uuids.sort_unstable();
    uuids.dedup();
    assert_eq!(uuids.len(), offers.len());
    assert!(
        offers.iter().all(|(_, offer)| offer["url"].is_string() && offer["recommendationScore"].is_number())
    );
}

#[tokio::test]
async fn percentages_are_plain_numbers_and_ranges_have_two_ends() {
    for (array, offer) in all_offers().await {
        let details = if *array == "loanOffers" { offer } else { &offer["details"] };
        for name in ["Apr", "PurchaseApr", "CashAdvanceApr", "BalanceTransferApr", "FeeRate"] {
            let [min, max] = ["min", "max"].map(|end| details[format!("{end}{name}")].as_f64());
            if let (Some(min), Some(max)) = (min, max) {
                assert!(min <= max && max < 100.0 && (max == 0.0 || max >= 1.0), "{name}: {min} to {max}");
            }
        }
        let [min, max] = ["minMonthlyPayment", "maxMonthlyPayment"].map(|name| details[name].as_f64());
        assert!(min <= max || max.is_none(), "{offer}");
        if let Some(fee) = details["foreignTransactionFee"].as_f64() {
            assert!((0.0..1.0).contains(&fee), "a percentage in decimal form: {fee}");
        }
    }
}

#[tokio::test]
async fn deprecated_figures_of_a_loan_are_those_that_replace_them() {
    let mut loans = 0;
    for (_, offer) in all_offers().await.iter().filter(|(array, _)| *array == "loanOffers") {
        for (deprecated, replacement) in
            [("feeRate", "maxFeeRate"), ("feeFixed", "maxFeeFixed"), ("monthlyPayment", "maxMonthlyPayment")]
        {
            assert_eq!(offer[deprecated], offer[replacement], "{deprecated}");
        }
        loans += usize::from(offer["monthlyPayment"].is_number());
    }
    assert!(loans > 0, "some loans have a payment");
}

#[tokio::test]
async fn only_partners_that_support_it_return_personalised_offers() {
    let mut personalised = 0;
    for (_, offer) in all_offers().await.iter().filter(|(array, _)| *array == "creditCardOffers") {
        if offer["details"]["preQualified"] == true || offer["details"]["preApproved"] == true {
            assert_eq!(offer["partner"]["supportsPersonalizedOffers"], true, "{offer}");
            personalised += 1;
        }
    }
    assert!(personalised > 0, "some cards are personalised");
}

#[tokio::test]
async fn a_session_has_the_uuid_that_was_given_or_one_that_was_made_up() {
    let daemon = daemon().await;
    let given = json!({"sessionUuid": LEAD}).to_string();
    for (body, uuid) in [(given.as_str(), Some(LEAD)), ("", None), ("{}", None)] {
        let answer: Answer =
            ask(&daemon, Edition::Current, Method::POST, "/uiEvent/sessionInits", body).await;
        let session = answer.json();
        assert_conforms(Edition::Current, "SessionInit", &session);
        assert_eq!(session["sessionUuid"] == LEAD, uuid.is_some());
    }
}
