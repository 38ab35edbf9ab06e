//! A sample context with every attribute of a lead, on which mappings run when a partner file is checked.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::value::{Serde, Value as Mapped};
use serde_json::{Map, Value, json};

use offerd_model::{Attribute, AttributeKind};

static SPECIMEN: LazyLock<Mapped> = LazyLock::new(|| Mapped::from(Serde(specimen())));

/// The variables of request mappings, without secrets.
pub(super) fn context() -> Mapped {
    SPECIMEN.clone()
}

/// The same, with secrets of these names.
pub(super) fn context_with(secrets: &[&str]) -> Mapped {
    let secret: BTreeMap<&str, &str> = secrets.iter().map(|name| (*name, "***")).collect();
    minijinja::context! { secret, ..context() }
}

fn specimen() -> Value {
    let mut lead = Map::new();
    for attribute in Attribute::all() {
        put(&mut lead, attribute.path, of_kind(attribute.kind));
    }
    json!({
        "lead": lead,
        "lead_uuid": "0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8c01",
        "rate_table_uuid": "0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8000",
        "ask_uuid": "0198c1f2-7d5e-8a11-9f3c-2b7d4e6a8c02",
        "callback_url": "https://offerd.example/callbacks/0198c1f2-7d5e-8a11-9f3c-2b7d4e6a8c04",
        "header": {},
        "body": "{}",
        "nonce": "0198c1f2-7d5e-4a11-9f3c-2b7d4e6a8c03",
        "request": {"method": "POST", "url": "https://partner.example/quotes?a=1", "path": "/quotes", "query": "a=1", "body": "{}"},
        "test": true,
        "now": "2026-11-21T12:00:00.000Z",
        "age": 40,
        "credit_score": 700,
        "credit_rating": "good",
    })
}

fn of_kind(kind: AttributeKind) -> Value {
    match kind {
        AttributeKind::Category(names) => json!(names.first()),
        AttributeKind::Set(names) => json!(names),
        AttributeKind::Flag => json!(true),
        AttributeKind::Number => json!(1000),
        AttributeKind::Date => json!("1986-02-28"),
        AttributeKind::Text | AttributeKind::Uuid => json!("text"),
        AttributeKind::Texts => json!(["text"]),
    }
}

/// Sets a value at a path, creating tables as needed. An existing table is kept.
fn put(table: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(table.entry(path).or_insert(value)),
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            inner.as_object_mut().into_iter().for_each(|inner| put(inner, rest, value.clone()));
        }
    }
}
