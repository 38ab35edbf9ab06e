//! A lead's body: it is read or refused, and nothing of it is told on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use chrono::DateTime;
use offerd::http::v1::submission::translate;
use offerd::model::{ApiError, Arrival, Attribute, CreditBands, Lead, Leniency, UnreadableBody};
use offerd::partners::Facts;
use offerd::partners::facts::Subject;
use serde_json::{Map, Value, json};

/// Every sentence that is ever said of an attribute: none has a place for a value.
static SENTENCES: LazyLock<BTreeSet<String>> = LazyLock::new(sentences);

/// More faults than these are not told.
const FAULTS_MAX: usize = 500;

/// What is read comes back equal from the store, and from a client that sends it again; what is refused is refused with
/// sentences that are the same for every value. The older edition refuses nothing in other words.
pub fn holds(body: &[u8]) {
    match Lead::read(body) {
        Ok(lead) => reads_back(&lead),
        Err(refusal) => tells_nothing(body, &refusal),
    }
    match translate(body, Arrival::ANY, Leniency::Usual) {
        Ok((translated, _)) if Lead::read(body).is_ok() => {
            assert!(
                Lead::read(&translated).is_ok(),
                "what both editions read is put into words that are read"
            );
        }
        Ok(_) => {}
        Err(failure) => assert!(!failure.errors.is_empty(), "a refusal says why"),
    }
}

fn reads_back(lead: &Lead) {
    let stored = serde_json::to_vec(lead).expect("a lead can be written");
    let from_store: Lead = serde_json::from_slice(&stored).expect("a stored lead can be read");
    assert_eq!(&from_store, lead, "a lead comes back from the store as it was");
    assert_eq!(Lead::read(&stored).as_ref(), Ok(lead), "a lead that is sent as it is shown is the same lead");
    assert_eq!(&lead.merged(&Lead::default()), lead, "what is not given changes nothing");

    for attribute in Attribute::all() {
        attribute.read(lead);
    }
    let now = DateTime::from_timestamp(1_795_262_400, 0).expect("a time");
    for bands in [CreditBands::Current, CreditBands::V1] {
        let facts = Facts::new(lead, now, bands);
        for path in Subject::paths() {
            facts.get(&Subject::named(path).expect("a path names a subject"));
        }
    }
}

fn tells_nothing(body: &[u8], refusal: &UnreadableBody) {
    match refusal {
        UnreadableBody::NotJson(error) => {
            assert_eq!(error.attribute, None);
            let message = error.message.as_deref().unwrap_or_default();
            let known = [
                "the body is not JSON: see line ",
                "the body is empty, ",
                "the body must be a JSON object, got ",
            ];
            assert!(known.iter().any(|known| message.starts_with(known)), "{message}");
            let is_object = serde_json::from_slice::<Map<String, Value>>(body).is_ok();
            assert!(!is_object, "an object of JSON is read or has faults: {message}");
        }
        UnreadableBody::Faults(faults) => {
            assert!(!faults.is_empty() && faults.len() <= FAULTS_MAX + 1);
            for fault in faults.iter().take(FAULTS_MAX) {
                let ApiError { attribute, message, .. } = fault;
                assert!(attribute.is_some(), "a fault has its place");
                let message = message.as_deref().unwrap_or_default();
                // A value of ours that is alike.
                let message =
                    message.split_once("; did you mean `").map_or(message, |(sentence, _)| sentence);
                assert!(SENTENCES.contains(message), "a sentence that may hold a value: {message}");
            }
        }
    }
}

/// What is said when each attribute in turn is something that it cannot be.
fn sentences() -> BTreeSet<String> {
    let wrong = [
        json!("?"),
        json!(true),
        json!(7),
        json!(0.5),
        json!(-0.5),
        json!(3e9),
        json!(-3e9),
        json!(1e300),
        json!(-7),
        json!([]),
        json!({}),
        json!([null]),
        json!(["?"]),
        json!([true]),
        json!([7]),
        json!([0.5]),
        json!([[]]),
        json!([{}]),
        json!({"?": null}),
        json!({"?": 7}),
        json!({"?": [7]}),
        json!({"?": [null]}),
        json!({"?": [0.5]}),
        json!({"?": [[]]}),
        json!({"?": [{}]}),
        json!({"?": [true]}),
        json!({"?": "?"}),
        json!({"?": 0.5}),
        json!({"?": true}),
        json!({"?": {}}),
        json!("?".repeat(100_000)),
        json!("?\u{7}"),
        json!("000-00-0000"),
        json!("1000-01-01"),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(900),
        json!(-1),
        json!(0),
    ];
    let mut found = BTreeSet::from(["is given twice; leave one of the two out".to_owned()]);
    for wrong in &wrong {
        for (section, keys) in shape() {
            let mut note = |body: Value| {
                if let Err(UnreadableBody::Faults(faults)) = Lead::read(body.to_string().as_bytes()) {
                    found.extend(faults.into_iter().filter_map(|fault| fault.message));
                }
            };
            note(json!({ section.clone(): wrong }));
            for key in keys {
                let within = json!({ key: wrong });
                note(match section.as_str() {
                    "refinanceLoans" => json!({ section.clone(): [within] }),
                    _ => json!({ section.clone(): within }),
                });
            }
        }
    }
    found
}

/// The names at the top of a lead that gives everything, each with those within.
fn shape() -> BTreeMap<String, BTreeSet<String>> {
    let full: Map<String, Value> =
        serde_json::from_str(include_str!("../../../src/model/testdata/full_lead.json")).expect("an object");
    let within = |value: &Value| match value {
        Value::Object(entries) => entries.keys().cloned().collect(),
        Value::Array(elements) => {
            elements.iter().filter_map(Value::as_object).flat_map(|entries| entries.keys().cloned()).collect()
        }
        _ => BTreeSet::new(),
    };
    full.iter().map(|(name, value)| (name.clone(), within(value))).collect()
}
