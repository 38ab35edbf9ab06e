//! Leads made up from the specification itself: any field there or not, any value of its type.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::places::properties;
use super::schema::Edition;

/// So many leads as clients of the edition may send them, the same ones each time.
pub fn leads(edition: Edition, count: usize) -> Vec<Value> {
    let strategy = of(edition, edition.definition("LeadCreateData"));
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// Any value that fits a schema.
pub fn of(edition: Edition, schema: &'static Value) -> BoxedStrategy<Value> {
    if let Some(values) = schema["examples"].as_array().or(schema["enum"].as_array()) {
        return select(values.clone()).boxed();
    }
    let properties = properties(edition, schema);
    if !properties.is_empty() {
        return object(edition, properties);
    }
    if let Some(reference) = schema["$ref"].as_str() {
        return of(edition, edition.follow(reference));
    }
    match schema["type"].as_str() {
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => {
            let bound = |name: &str| schema[name].as_i64().unwrap();
            let any = bound("minimum")..=bound("maximum");
            let usual = bound("minimum").max(0)..=bound("maximum").min(200_000);
            prop_oneof![usual, any].prop_map(Value::from).boxed()
        }
        // A quarter: written alike on the way in and out.
        Some("number") => {
            let most = schema["maximum"].as_i64().unwrap();
            (0..most).prop_map(|whole| json!(whole as f64 + 0.25)).boxed()
        }
        Some("string") => text(schema["format"].as_str()),
        Some("array") => array(edition, &schema["items"]),
        Some("object") => {
            let values = of(edition, &schema["additionalProperties"]);
            prop::collection::vec(("[a-z]{1,8}", values), 0..4)
                .prop_map(|entries| entries.into_iter().collect::<Map<_, _>>().into())
                .boxed()
        }
        other => panic!("nothing is made up for {other:?}: {schema}"),
    }
}

fn object(edition: Edition, properties: Vec<(&'static str, &'static Value)>) -> BoxedStrategy<Value> {
    let field = |(name, schema): (&'static str, &'static Value)| {
        prop::option::of(of(edition, schema))
            .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
    };
    let fields: Vec<_> = properties.into_iter().map(field).collect();
    fields.prop_map(|fields| fields.into_iter().flatten().collect::<Map<_, _>>().into()).boxed()
}

/// Values of an enumeration stand in an array once, as in a set.
fn array(edition: Edition, items: &'static Value) -> BoxedStrategy<Value> {
    let target = items["$ref"].as_str().map_or(items, |reference| edition.follow(reference));
    match target["enum"].as_array() {
        Some(values) => subsequence(values.clone(), 0..=values.len()).prop_map(Value::from).boxed(),
        None => prop::collection::vec(of(edition, items), 0..4).prop_map(Value::from).boxed(),
    }
}

fn text(format: Option<&str>) -> BoxedStrategy<Value> {
    match format {
        Some("uuid") => any::<u128>().prop_map(|bits| json!(Uuid::from_u128(bits))).boxed(),
        Some("date") => (1930..2030, 1..=12, 1..=28)
            .prop_map(|(year, month, day)| json!(format!("{year}-{month:02}-{day:02}")))
            .boxed(),
        None => r#"[A-Za-z0-9][a-zA-Zé’🙂 '"&<>/\\-]{0,16}[a-z.]"#.prop_map(Value::from).boxed(),
        Some(format) => panic!("nothing is made up for {format}"),
    }
}
