//! The validator is worth something: the documents are sound and closed, and no answer passes that was tampered with.

use serde_json::{Value, json};

use super::schema::{Edition, assert_conforms, faults};
use crate::kit::partners::partner;
use crate::kit::{Daemon, sample};

#[test]
fn every_document_is_a_schema() {
    for edition in Edition::BOTH {
        for (file, document) in edition.documents() {
            jsonschema::meta::validate(document).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
}

#[test]
fn every_object_is_closed() {
    for edition in Edition::BOTH {
        for (file, document) in edition.documents() {
            for (name, definition) in document["$defs"].as_object().unwrap() {
                // What others build on is closed by them.
                let is_base = ["Offer", "Sections"].contains(&name.as_str());
                assert!(is_base || is_closed(definition), "{name} of {file}");
            }
        }
    }
}

fn is_closed(schema: &Value) -> bool {
    let no_more = |keyword: &str| schema[keyword] == false;
    let closed = schema["type"] != "object"
        || no_more("additionalProperties")
        || no_more("unevaluatedProperties")
        || schema["additionalProperties"].is_object();
    let within = schema["properties"].as_object().into_iter().flatten().all(|(_, schema)| is_closed(schema));
    closed && within
}

#[test]
fn an_integer_is_not_written_with_a_fraction() {
    let ids =
        r#""uuid":"0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77","leadUuid":"0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77""#;
    for (amount, faulty) in [("10000", false), ("10000.0", true), ("1e4", true), ("3000000000", true)] {
        let table: Value = serde_json::from_str(&format!(r#"{{{ids},"loanAmount":{amount}}}"#)).unwrap();
        assert_eq!(!faults(Edition::V1, "RateTable", &table).is_empty(), faulty, "{amount}");
    }
}

#[tokio::test]
async fn nothing_that_was_tampered_with_passes() {
    let slow = partner("slow").loan(r#"simulate = { delay = "2s" }"#);
    let daemon = Daemon::with_partners(vec![slow, partner("bank").loan("").savings("").second_look(1.0, "")])
        .setting("matching.deadline", "3s")
        .start()
        .await;
    let pending = daemon.submit(sample("personal_loan")).await.json();
    let path = format!("/leads/{}", pending["leadUuid"].as_str().unwrap());
    let answers = [
        ("RateTable", pending),
        ("RateTable", daemon.submit(sample("savings")).await.json()),
        ("Lead", daemon.get(&path).await.json()),
        ("ApiErrors", daemon.get("/originator/rateTables/17").await.json()),
    ];
    for (name, answer) in answers {
        assert_conforms(Edition::Current, name, &answer);
        let tampered = tampered(&answer);
        assert!(tampered.len() > 3, "{name} has something to tamper with");
        for (at, other) in tampered {
            assert_ne!(faults(Edition::Current, name, &other), [""; 0], "{name} with {at} tampered with");
        }
    }
}

/// Every way to put a key into an object, or a value of another kind into the place of one.
fn tampered(answer: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    find_places(answer, String::new(), &mut places);
    let tamper = |at: &String| {
        let mut answer = answer.clone();
        let place = answer.pointer_mut(at).unwrap();
        match place {
            Value::Object(entries) => drop(entries.insert("surprise".to_owned(), json!(1))),
            Value::String(_) => *place = json!(1),
            _ => *place = json!("surprise"),
        }
        (at.clone(), answer)
    };
    places.iter().map(tamper).collect()
}

fn find_places(value: &Value, at: String, places: &mut Vec<String>) {
    places.push(at.clone());
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| find_places(value, format!("{at}/{key}"), places));
        }
        Value::Array(elements) => {
            elements
                .iter()
                .enumerate()
                .for_each(|(nth, value)| find_places(value, format!("{at}/{nth}"), places));
        }
        _ => {}
    }
}
