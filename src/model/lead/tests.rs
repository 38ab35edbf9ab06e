use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{FULL_SAMPLE, Lead, SAMPLE};
use crate::fault::{Arrival, BodyFaults, Path};
use crate::input::{FromInput, UnreadableBody};
use crate::{Attribute, AttributeKind, AttributeValue, CardPurpose, ProductType, State};

fn full() -> Value {
    serde_json::from_slice(FULL_SAMPLE).unwrap()
}

fn read(body: &Value) -> Lead {
    Lead::read(&serde_json::to_vec(body).unwrap()).unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

fn faults(body: &str) -> Vec<(String, String)> {
    match Lead::read(body.as_bytes()) {
        Err(UnreadableBody::Faults(faults)) => {
            faults.into_iter().map(|fault| (fault.attribute.unwrap(), fault.message.unwrap())).collect()
        }
        other => panic!("{body}: {other:?}"),
    }
}

fn collected(body: &Value) -> Vec<String> {
    let mut faults = BodyFaults::of(Arrival::ANY);
    Lead::find_faults(body, &Path::Root, &mut faults);
    faults.errors.into_iter().filter_map(|fault| fault.attribute).collect()
}

#[test]
fn a_full_lead_round_trips_and_loses_nothing() {
    let lead = read(&full());
    assert_eq!(serde_json::to_value(&lead).unwrap(), full());
    let stored = serde_json::to_vec(&lead).unwrap();
    assert_eq!(serde_json::from_slice::<Lead>(&stored).unwrap(), lead);
    assert_eq!(Lead::read(&stored), Ok(lead));
}

#[test]
fn every_attribute_can_be_read() {
    let (lead, nobody) = (read(&full()), Lead::default());
    let mut paths = BTreeSet::new();
    for attribute in Attribute::all() {
        let value = attribute.read(&lead).unwrap_or_else(|| panic!("{}", attribute.path));
        let fits = matches!(
            (attribute.kind, value),
            (AttributeKind::Category(_), AttributeValue::Category(_))
                | (AttributeKind::Flag, AttributeValue::Flag(_))
                | (AttributeKind::Number, AttributeValue::Number(_))
                | (AttributeKind::Date, AttributeValue::Date(_))
                | (AttributeKind::Text, AttributeValue::Text(_))
                | (AttributeKind::Set(_), AttributeValue::Set(_))
        );
        assert!(fits, "{attribute:?}");
        assert_eq!(attribute.read(&nobody), None);
        assert_eq!(Attribute::named(attribute.path).map(|named| named.path), Some(attribute.path));
        assert!(paths.insert(attribute.path));
    }
    assert!(Attribute::named("uuid").is_none());
}

#[test]
fn attributes_show_what_rules_ask_for() {
    let lead = read(&full());
    let value = |path| Attribute::named(path).and_then(|attribute| attribute.read(&lead));
    let purposes = 1 << CardPurpose::CashBack.ordinal() | 1 << CardPurpose::TravelIncentives.ordinal();
    assert_eq!(value("creditCardInformation.cardPurposes"), Some(AttributeValue::Set(purposes)));
    assert_eq!(value("personalInformation.state"), Some(AttributeValue::Category(State::Ca.ordinal())));
    assert_eq!(value("savingsInformation.minDepositAmount"), Some(AttributeValue::Number(5e9)));
    assert_eq!(value("coApplicantInformation.zipCode"), Some(AttributeValue::Text("94105")));
    assert_eq!(value("refinanceLoans"), Some(AttributeValue::Number(2.0)));

    let empty = read(&json!({"productTypes": [], "refinanceLoans": [], "fcraLanguage": " "}));
    for path in ["productTypes", "refinanceLoans", "fcraLanguage"] {
        assert_eq!(Attribute::named(path).unwrap().read(&empty), None, "{path}");
    }
}

#[test]
fn personal_attributes_are_marked_and_never_shown() {
    let personal = |path| Attribute::named(path).is_some_and(|attribute| attribute.personal);
    for path in
        ["personalInformation.ssn", "personalInformation.dateOfBirth", "identificationInformation.idNumber"]
    {
        assert!(personal(path), "{path}");
    }
    assert!(!personal("personalInformation.state") && !personal("financialInformation.annualIncome"));

    let lead = read(&full());
    let shown = format!("{lead:?}");
    for attribute in Attribute::all().iter().filter(|attribute| attribute.personal) {
        if let Some(AttributeValue::Text(text)) = attribute.read(&lead) {
            assert!(!shown.contains(&format!("\"{text}\"")), "{}", attribute.path);
        }
    }
    assert!(!shown.contains("1987-03-12") && shown.contains("San Francisco"));
}

#[test]
fn what_real_clients_send_is_read() {
    let marked = [b"\xEF\xBB\xBF", SAMPLE].concat();
    assert_eq!(Lead::read(&marked), Lead::read(SAMPLE));

    let lead = read(&json!({
        "unknown": {"deep": [1, 2, {"a": null}]},
        "productTypes": null,
        "personalInformation": {
            "firstName": "", "email": "  ", "ssn": null, "state": "", "dateOfBirth": "", "monthsAtAddress": 12.0,
            "activeMilitary": "", "primaryPhone": "+1 (415) 555-0132", "zipcode": "94105 1804", "nickname": 7,
        },
        "loanInformation": {"loanAmount": 1e4},
        "healthInformation": {},
        "legalInformation": "",
        "coApplicantInformation": {"zipcode": "94105"},
        "financialInformation": {"backAccountType": "savings"},
        "clientTags": {"a": [], "b": null, "c": ["x"]},
    }));
    let expected = json!({
        "personalInformation": {"primaryPhone": "4155550132", "zipcode": "94105-1804", "monthsAtAddress": 12},
        "loanInformation": {"loanAmount": 10000},
        "healthInformation": {},
        "coApplicantInformation": {"zipCode": "94105"},
        "financialInformation": {"bankAccountType": "savings"},
        "clientTags": {"a": [], "b": [], "c": ["x"]},
    });
    assert_eq!(serde_json::to_value(&lead).unwrap(), expected);
    assert_eq!(Lead::read(b"{}"), Ok(Lead::default()));
}

#[test]
fn an_attribute_with_two_values_is_refused_wherever_it_is() {
    let consents = r#"{"legalInformation":{"consentsToTcpa":true,"consentsToTcpa":false}}"#;
    for (body, wanted) in [
        (consents, &["legalInformation.consentsToTcpa"][..]),
        (r#"{"loanInformation":{"loanAmount":1,"loanAmount":1}}"#, &["loanInformation.loanAmount"]),
        (r#"{"loanInformation":{"loanAmount":"one","loanAmount":2}}"#, &["loanInformation.loanAmount"]),
        (r#"{"legalInformation":{},"legalInformation":null}"#, &["legalInformation"]),
        (r#"{"loanInformation":{"loanAmount":null,"loanAmount":1}}"#, &["loanInformation.loanAmount"]),
        (
            r#"{"refinanceLoans":[{},{"interestRate":5,"interestRate":6}]}"#,
            &["refinanceLoans[1].interestRate"],
        ),
        (r#"{"clientTags":{"a":["x"],"a":["y"]}}"#, &["clientTags.a"]),
        (r#"{"uuid":"17","productTypes":["loan"],"productTypes":["savings"]}"#, &["productTypes", "uuid"]),
    ] {
        let found: Vec<_> = faults(body).into_iter().map(|(path, _)| path).collect();
        assert_eq!(found, wanted, "{body}");
    }
    assert_eq!(Lead::read(br#"{"other":1,"other":2}"#), Ok(Lead::default()));
    for both in [r#""zipCode":"94105","zipcode":"98101""#, r#""zipcode":"98101","zipCode":"94105""#] {
        let lead = Lead::read(format!("{{\"coApplicantInformation\":{{{both}}}}}").as_bytes()).unwrap();
        assert_eq!(lead.co_applicant_information.unwrap().zip_code.unwrap().as_str(), "94105", "{both}");
    }
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_the_specification() {
    let found = faults(
        r#"{
        "loanInformation": 5,
        "productTypes": ["loan", "yacht", null],
        "uuid": "17",
        "personalInformation": {"dateOfBirth": "03/12/1987", "ssn": "666-22-8714", "activeMilitary": "yes"},
        "financialInformation": {"annualIncome": "5000", "monthlyDebt": 1.5, "totalAssets": 3000000000},
        "coApplicantInformation": {"zipcode": 94105},
        "refinanceLoans": [{"interestRate": 5}, {"interestRate": "five"}, 7],
        "clientTags": {"campaign": [1, "ok"], "placement": "header"}
    }"#,
    );
    let products = "must be one of `credit_card`, `insurance`, `life_insurance`, `loan`, `mortgage`, `savings`, `other`, \
         `generic`, `auto_insurance`, `unknown`";
    let ssn = "must be a social security number `AAA-GG-SSSS` that can have been issued";
    let expected = [
        ("productTypes[1]", products.to_owned()),
        ("productTypes[2]", format!("{products}, got null")),
        ("uuid", "must be a UUID".to_owned()),
        ("personalInformation.activeMilitary", "must be a boolean, got a string".to_owned()),
        ("personalInformation.dateOfBirth", "must be a date `YYYY-MM-DD`".to_owned()),
        ("personalInformation.ssn", ssn.to_owned()),
        ("loanInformation", "must be an object, got an integer".to_owned()),
        ("financialInformation.annualIncome", "must be an integer, got a string".to_owned()),
        ("financialInformation.monthlyDebt", "must be an integer, got a number with a fraction".to_owned()),
        ("financialInformation.totalAssets", "must be an integer between 0 and 2147483647".to_owned()),
        (
            "coApplicantInformation.zipcode",
            "must be a zipcode of five digits, or ZIP+4, got an integer".to_owned(),
        ),
        ("refinanceLoans[1].interestRate", "must be a number, got a string".to_owned()),
        ("refinanceLoans[2]", "must be an object, got an integer".to_owned()),
        ("clientTags.campaign[0]", "must be a string, got an integer".to_owned()),
        ("clientTags.placement", "must be an array, got a string".to_owned()),
    ];
    let found: Vec<_> = found.iter().map(|(path, message)| (path.as_str(), message.clone())).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_json_object_is_told_apart_and_not_repeated() {
    for (body, message) in [
        ("", "the body is empty, a JSON object is wanted"),
        ("{\"a\":\n\"Jane Roe\" x}", "the body is not JSON: see line 2, column 12"),
        ("{} {}", "the body is not JSON: see line 1, column 4"),
        ("[]", "the body must be a JSON object, got an array"),
        ("\"\"", "the body must be a JSON object, got a string"),
        ("null", "the body must be a JSON object, got null"),
    ] {
        let Err(UnreadableBody::NotJson(fault)) = Lead::read(body.as_bytes()) else { panic!("{body}") };
        assert_eq!((fault.attribute, fault.message.as_deref()), (None, Some(message)), "{body}");
    }
}

/// The paths of all leaf values: `["personalInformation", "ssn"]`.
fn leaves() -> Vec<Vec<String>> {
    fn walk(value: &Value, place: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
        let inner: Vec<(String, &Value)> = match value {
            Value::Object(entries) => entries.iter().map(|(key, inner)| (key.clone(), inner)).collect(),
            Value::Array(elements) => {
                elements.iter().enumerate().map(|(i, inner)| (i.to_string(), inner)).collect()
            }
            _ => return found.push(place.clone()),
        };
        for (step, value) in inner {
            place.push(step);
            walk(value, place, found);
            place.pop();
        }
    }
    let mut found = Vec::new();
    walk(&full(), &mut Vec::new(), &mut found);
    // Objects without fixed fields have no faults within.
    found.retain(|place| place[0] != "autoInsuranceInformation" || place.len() == 2);
    found
}

/// The path of a fault at `place`: `refinanceLoans[1].interestRate`.
fn path(place: &[String]) -> String {
    place.iter().fold(String::new(), |path, step| match step.parse::<usize>() {
        Ok(index) => format!("{path}[{index}]"),
        Err(_) if path.is_empty() => step.clone(),
        Err(_) => format!("{path}.{step}"),
    })
}

fn put(body: &mut Value, place: &[String], value: Value) {
    *body.pointer_mut(&format!("/{}", place.join("/"))).unwrap() = value;
}

/// Turns a value into one that is never valid in its place.
fn corrupt(sound: &Value, how: u8) -> Value {
    match (how, sound) {
        (0, _) => json!({"firstName": "Jane"}),
        (1, _) => json!([]),
        (_, Value::String(_)) => json!(5),
        (_, _) => json!("5"),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-3_000_000..3_000_000).prop_map(|thousands| Value::from(f64::from(thousands) * 1000.0)),
        (-80_000..80_000).prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        " {0,2}".prop_map(Value::from),
        "[0-9]{5}|[0-9]{10}|[0-9-]{9,11}|loan|good|CA|[0-9]{4}-[01][0-9]-[0-3][0-9]".prop_map(Value::from),
        proptest::collection::vec("loan|yacht|", 0..3).prop_map(Value::from),
        Just(json!({"a": ["x"], "state": "CA"})),
    ]
}

proptest! {
    #[test]
    fn the_collector_names_exactly_the_corrupted_paths(
        choice in proptest::collection::btree_map(0..leaves().len(), 0_u8..3, 1..12)
    ) {
        let (leaves, mut body) = (leaves(), full());
        let mut corrupted = BTreeSet::new();
        for (index, how) in choice {
            let place = &leaves[index];
            let sound = body.pointer(&format!("/{}", place.join("/"))).unwrap().clone();
            put(&mut body, place, corrupt(&sound, how));
            corrupted.insert(path(place));
        }
        prop_assert!(serde_json::from_value::<Lead>(body.clone()).is_err());
        prop_assert_eq!(collected(&body).into_iter().collect::<BTreeSet<_>>(), corrupted);
    }

    #[test]
    fn both_paths_agree_on_any_value_anywhere(
        values in proptest::collection::btree_map(0..leaves().len(), any_value(), 1..4)
    ) {
        let (leaves, mut body) = (leaves(), full());
        for (index, value) in values {
            put(&mut body, &leaves[index], value);
        }
        let json = serde_json::to_vec(&body).unwrap();
        prop_assert_eq!(Lead::read(&json).is_ok(), collected(&body).is_empty(), "{}", body);
        if let Ok(lead) = Lead::read(&json) {
            let stored = serde_json::to_vec(&lead).unwrap();
            prop_assert_eq!(serde_json::from_slice::<Lead>(&stored).unwrap(), lead);
        }
    }

    #[test]
    fn no_body_panics(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Lead::read(&body);
    }
}

/// Also under an unknown key, whose value is not read.
#[test]
fn a_body_that_is_no_text_is_no_json() {
    let body = b"{\"productTypes\":[\"savings\"],\"x\":\"\xc3(\"}";
    assert!(matches!(Lead::read(body), Err(UnreadableBody::NotJson(_))));
}

#[test]
fn what_the_specification_lacks_is_asked_for_by_name_and_known_by_who_names_it() {
    for (lead, newer) in [
        (r#"{}"#, false),
        (r#"{"productTypes":[]}"#, false),
        (r#"{"productTypes":["loan","other"]}"#, false),
        (r#"{"mortgageInformation":{"requestedLoanTerms":["thirty_year_fixed"]}}"#, false),
        (r#"{"productTypes":["generic"]}"#, true),
        (r#"{"mortgageInformation":{"requestedLoanTerms":["thirty_year_fixed","forty_year_fixed"]}}"#, true),
    ] {
        assert_eq!(Lead::read(lead.as_bytes()).unwrap().has_newer_values(), newer, "{lead}");
    }
    let nothing_named = Lead::default();
    let asked = ProductType::ALL.iter().copied().filter(|one| nothing_named.asks_for(*one));
    assert_eq!(asked.collect::<Vec<_>>(), ProductType::SPECIFIED);
    assert_eq!(ProductType::SPECIFIED.len(), 7);
}
