//! Enumerations (exact values): each value is taken wherever a client can send it, and nothing else is.
//!
//! The places and the values are those of `tests/specification`, edition by edition. All places of a lead are tried in
//! one request, so that a refusal has to name each of them.

use hyper::Method;
use serde_json::{Value, json};

use super::places::{self, Place};
use super::schema::{Edition, assert_conforms};
use super::{ask, lead_path};
use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon};

/// What is put into a place though it does not belong there.
type Wrong = Box<dyn Fn(&Place) -> Value>;

/// Every place of a lead that takes an enumeration.
fn places(edition: Edition) -> Vec<Place> {
    places::places(edition).into_iter().filter(|place| place.values().is_some()).collect()
}

/// The values that such a place takes.
fn values(place: &Place) -> &'static [Value] {
    place.values().unwrap()
}

/// A lead with a value in each place.
fn lead(places: &[Place], value: impl Fn(&Place) -> Value) -> Value {
    let mut lead = json!({});
    places.iter().for_each(|place| place.put(&mut lead, value(place)));
    lead
}

async fn daemon() -> Daemon {
    Daemon::with_partners(prompt_partners(1)).start().await
}

async fn submit(daemon: &Daemon, edition: Edition, lead: &Value) -> Answer {
    ask(daemon, edition, Method::POST, "/leads/rateTables", &lead.to_string()).await
}

/// Holds a refusal against the places that it must name, each once and in any order.
#[track_caller]
fn assert_refused<'a>(
    edition: Edition,
    answer: &Answer,
    attributes: impl Iterator<Item = &'a str>,
    why: &str,
) {
    let status = if edition == Edition::V1 { 400 } else { 422 };
    assert_eq!(answer.status, status, "{edition:?}: {why}");
    assert_conforms(edition, "ApiErrors", &answer.json());
    let (mut named, mut wanted) = (answer.attributes(), attributes.map(str::to_owned).collect::<Vec<_>>());
    named.sort();
    wanted.sort();
    assert_eq!(named, wanted, "{edition:?}: {why}");
    assert!(answer.json().as_array().unwrap().iter().all(|error| error["type"] == "malformed"));
}

#[test]
fn a_lead_takes_enumerations_in_these_places() {
    let attributes = |edition| places(edition).into_iter().map(|place| place.attribute).collect::<Vec<_>>();
    let current = [
        "personalInformation.state",
        "personalInformation.bestTimeToCall",
        "personalInformation.citizenshipStatus",
        "personalReferenceInformation.relationType",
        "loanInformation.purpose",
        "mortgageInformation.propertyType",
        "mortgageInformation.propertyStatus",
        "mortgageInformation.mortgageType",
        "mortgageInformation.occupancyType",
        "mortgageInformation.refinanceType",
        "mortgageInformation.propertySearchStatus",
        "mortgageInformation.purchaseStatus",
        "mortgageInformation.requestedLoanTerms[0]",
        "mortgageInformation.mortechCreditRating",
        "legalInformation.batchConsentVersion",
        "creditCardInformation.cardPurposes[0]",
        "creditInformation.providedCreditRating",
        "financialInformation.employmentStatus",
        "financialInformation.employmentPayFrequency",
        "financialInformation.bankAccountType",
        "financialInformation.additionalIncomeFrequency",
        "educationInformation.educationLevel",
        "educationInformation.graduateDegreeType",
        "coApplicantInformation.state",
        "healthInformation.gender",
        "identificationInformation.idType",
        "refinanceLoans[0].loanType",
        "productTypes[0]",
        "vehicleInformation.licensePlateState",
    ];
    let sorted = |mut attributes: Vec<String>| {
        attributes.sort();
        attributes
    };
    let current = sorted(current.map(str::to_owned).to_vec());
    assert_eq!(sorted(attributes(Edition::Current)), current);
    let in_v1 = |attribute: &String| match attribute.as_str() {
        "creditCardInformation.cardPurposes[0]" => "creditCardInformation.cardBenefits[0]".to_owned(),
        "financialInformation.bankAccountType" => "financialInformation.backAccountType".to_owned(),
        same => same.to_owned(),
    };
    let level = "personalInformation.educationLevel".to_owned();
    let newer = [
        "mortgageInformation.requestedLoanTerms[0]",
        "mortgageInformation.mortechCreditRating",
        "legalInformation.batchConsentVersion",
        "vehicleInformation.licensePlateState",
    ];
    let of_v1 = current.iter().filter(|attribute| !newer.contains(&attribute.as_str()));
    let v1 = of_v1.map(in_v1).chain([level]).collect();
    assert_eq!(sorted(attributes(Edition::V1)), sorted(v1));
}

#[tokio::test]
async fn every_value_is_accepted_and_comes_back() {
    let daemon = daemon().await;
    for edition in Edition::BOTH {
        let places = places(edition);
        let most = places.iter().map(|place| values(place).len()).max().unwrap();
        for nth in 0..most {
            let sent = lead(&places, |place| values(place)[nth % values(place).len()].clone());
            let answer = submit(&daemon, edition, &sent).await;
            assert_eq!(answer.status, if edition == Edition::V1 { 201 } else { 200 }, "{sent}: {answer:?}");
            let kept = ask(&daemon, edition, Method::GET, &lead_path(&answer.json()), "").await.json();
            for place in places.iter().filter(|place| place.attribute != "productTypes[0]") {
                let pointer = place.pointer();
                assert_eq!(kept.pointer(&pointer), sent.pointer(&pointer), "{edition:?}: {pointer}");
            }
        }
    }
}

#[tokio::test]
async fn any_other_value_is_refused_by_the_path_of_its_attribute() {
    let daemon = daemon().await;
    let other_case = |place: &Place| {
        let value = values(place)[0].as_str().unwrap();
        let upper = value.to_uppercase();
        json!(if upper == value { value.to_lowercase() } else { upper })
    };
    let altered =
        |alter: fn(&str) -> String| move |place: &Place| json!(alter(values(place)[0].as_str().unwrap()));
    let always = |value: Value| move |_: &Place| value.clone();
    let wrong: [(&str, Wrong); 12] = [
        ("a value of no enumeration", Box::new(always(json!("yacht")))),
        ("a value in another case", Box::new(other_case)),
        ("a value and a blank", Box::new(altered(|value| format!("{value} ")))),
        ("a blank and a value", Box::new(altered(|value| format!(" {value}")))),
        ("a value and more", Box::new(altered(|value| format!("{value}s")))),
        ("a value that is cut", Box::new(altered(|value| value[..value.len() - 1].to_owned()))),
        ("an integer", Box::new(always(json!(0)))),
        ("a number", Box::new(always(json!(1.5)))),
        ("a boolean", Box::new(always(json!(true)))),
        ("an object", Box::new(always(json!({})))),
        ("an array", Box::new(always(json!([])))),
        ("an array of a value", Box::new(|place: &Place| json!([values(place)[0]]))),
    ];
    for edition in Edition::BOTH {
        let places = places(edition);
        for (why, value) in &wrong {
            let answer = submit(&daemon, edition, &lead(&places, value)).await;
            assert_refused(edition, &answer, places.iter().map(|place| place.attribute.as_str()), why);
        }
    }
}

#[tokio::test]
async fn null_and_blank_text_are_not_given_but_no_elements() {
    let daemon = daemon().await;
    for edition in Edition::BOTH {
        for absent in [json!(null), json!(""), json!(" ")] {
            let places = places(edition);
            let answer = submit(&daemon, edition, &lead(&places, |_| absent.clone())).await;
            let elements = places.iter().filter(|place| place.is_element());
            assert_refused(edition, &answer, elements.map(|place| place.attribute.as_str()), "nothing");
        }
    }
}

#[tokio::test]
async fn a_list_of_values_is_an_array() {
    let daemon = daemon().await;
    for edition in Edition::BOTH {
        let elements: Vec<_> = places(edition).into_iter().filter(Place::is_element).collect();
        let lists = if edition == Edition::V1 { 2 } else { 3 };
        assert_eq!(
            elements.len(),
            lists,
            "product types, what a card is wanted for, and terms of a mortgage"
        );
        for other in [json!("loan"), json!(1), json!(false), json!({"0": "loan"})] {
            let mut lead = json!({});
            for place in &elements {
                place.put_array(&mut lead, other.clone());
            }
            let answer = submit(&daemon, edition, &lead).await;
            let lists = elements.iter().map(|place| place.array());
            assert_refused(edition, &answer, lists, "no array");
        }
    }
}

#[tokio::test]
async fn each_wrong_element_of_a_list_is_named() {
    let daemon = daemon().await;
    for edition in Edition::BOTH {
        let lead = json!({"productTypes": ["loan", "yacht", "savings", "LOAN", 7]});
        let answer = submit(&daemon, edition, &lead).await;
        let wrong = ["productTypes[1]", "productTypes[3]", "productTypes[4]"];
        assert_refused(edition, &answer, wrong.into_iter(), "elements");
    }
}

#[tokio::test]
async fn a_value_that_only_the_other_edition_has_is_refused() {
    let daemon = daemon().await;
    let mut refused = 0;
    for (edition, other) in [(Edition::Current, Edition::V1), (Edition::V1, Edition::Current)] {
        let others = places(other);
        for place in places(edition) {
            let name = place.attribute.replace("cardBenefits", "cardPurposes");
            let same = |other: &&Place| other.attribute.replace("cardBenefits", "cardPurposes") == name;
            let others = others.iter().find(same).map(values).unwrap_or_default();
            for value in others.iter().filter(|value| !values(&place).contains(value)) {
                let answer = submit(&daemon, edition, &place.alone(value.clone())).await;
                assert_refused(edition, &answer, [place.attribute.as_str()].into_iter(), &value.to_string());
                refused += 1;
            }
        }
    }
    // `auto` in the current edition. In v1: two purposes, four levels, two kinds of employment, six products, four
    // purposes of a card.
    assert_eq!(refused, 1 + 2 + 4 + 2 + 6 + 4);
}

#[tokio::test]
async fn both_editions_read_both_spellings_of_the_bank_account_type() {
    let daemon = daemon().await;
    for edition in Edition::BOTH {
        for name in ["bankAccountType", "backAccountType"] {
            let attribute = format!("financialInformation.{name}");
            for value in edition.values("BankAccountType") {
                let answer = submit(&daemon, edition, &json!({"financialInformation": {name: value}})).await;
                assert!(answer.status < 300, "{edition:?}: {attribute} {value}");
            }
            let answer = submit(&daemon, edition, &json!({"financialInformation": {name: "Checking"}})).await;
            assert_refused(edition, &answer, [attribute.as_str()].into_iter(), "another case");
        }
    }
}

#[tokio::test]
async fn preview_parameters_take_every_value_and_no_other() {
    let daemon = daemon().await;
    for (path, parameter, enumeration) in [
        ("loanOffers", "providedCreditRating", "ProvidedCreditRating"),
        ("loanOffers", "loanPurpose", "LoanPurpose"),
        ("creditCardOffers", "providedCreditRating", "ProvidedCreditRating"),
        ("creditCardOffers", "cardPurposes", "CardPurpose"),
    ] {
        let ask = async |value: &str| daemon.get(&format!("/offerPreview/{path}?{parameter}={value}")).await;
        let values = Edition::Current.values(enumeration);
        for value in &values {
            assert_eq!(ask(value).await.status, 200, "{path}: {parameter} {value}");
        }
        let first = values[0];
        for other in ["yacht", &first.to_uppercase(), &format!("{first}%20"), "", "0", "%5B%22good%22%5D"] {
            assert_refused(Edition::Current, &ask(other).await, [parameter].into_iter(), other);
        }
    }
}
