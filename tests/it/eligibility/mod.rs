//! Eligibility against an outside engine: partner files as an operator writes them, compiled to a book here, and to
//! JSONLogic there, which reads the very bytes that a client sends. Both must find the same partners.

mod drawn;
mod logic;

use std::path::PathBuf;

use chrono::NaiveDate;
use datalogic_rs::{Engine, Logic};
use offerd::model::{CreditBands, Lead};
use offerd::partners::{Book, Facts};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::kit::partners::partner;

/// The day on which leads are read.
pub const TODAY: &str = "2026-11-21";

/// A book with one partner a rule.
fn book(rules: &[Value]) -> Book {
    let file = |(nth, rule): (usize, &Value)| {
        let key = format!("partner_{nth}");
        let mut file: toml::Table = partner(&key).savings("").text().parse().unwrap();
        let rule = toml::Value::try_from(rule).unwrap();
        file["products"]["savings"].as_table_mut().unwrap().insert("eligibility".to_owned(), rule);
        (PathBuf::from(format!("{key}.toml")), file.to_string())
    };
    Book::from_texts(rules.iter().enumerate().map(file)).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// The partners whose rules hold for a lead, as the book finds them.
fn found(book: &Book, body: &Value) -> Vec<usize> {
    let lead =
        Lead::read(body.to_string().as_bytes()).unwrap_or_else(|refusal| panic!("{body}: {refusal:?}"));
    let today: NaiveDate = TODAY.parse().unwrap();
    // At noon in UTC it is that day in every state.
    let noon = today.and_hms_opt(12, 0, 0).unwrap().and_utc();
    let facts = Facts::new(&lead, noon, CreditBands::Current);
    book.fitting(&facts).into_iter().map(|fit| fit.position).collect()
}

/// The same as the outside engine finds them, for each body.
fn expected(rules: &[Value], bodies: &[Value]) -> Vec<Vec<usize>> {
    let engine = Engine::new();
    let compiled = |logic: Value| engine.compile(logic.to_string().as_str()).expect("JSONLogic");
    let subjects = compiled(logic::subjects());
    let rules: Vec<_> = rules.iter().map(|rule| compiled(logic::of(rule))).collect();
    let mut session = engine.session();
    let mut eval =
        |logic: &Logic, data: &Value| session.eval_str(logic, data.to_string().as_str()).expect("a value");
    let mut found = Vec::new();
    for body in bodies {
        let said = logic::named(serde_json::from_str(&eval(&subjects, body)).unwrap());
        let holds = |nth: &usize| match eval(&rules[*nth], &said).as_str() {
            "true" => true,
            "false" => false,
            other => panic!("a rule is {other}"),
        };
        found.push((0..rules.len()).filter(holds).collect());
    }
    found
}

proptest! {
    #![proptest_config(crate::kit::cases::cases(32))]

    #[test]
    fn the_book_finds_whom_an_outside_engine_finds(
        rules in prop::collection::vec(drawn::rule(), 1..12),
        bodies in prop::collection::vec(drawn::body(), 1..6),
    ) {
        let book = book(&rules);
        for (body, expected) in bodies.iter().zip(expected(&rules, &bodies)) {
            prop_assert_eq!(found(&book, body), expected, "{}", body);
        }
    }
}

/// The comparison would say nothing if hardly any rule held, or hardly any failed.
#[test]
fn rules_that_are_drawn_hold_as_often_as_they_fail() {
    let mut runner = TestRunner::deterministic();
    let (mut holding, mut drawn) = (0, 0);
    for _ in 0..40 {
        let rules = prop::collection::vec(drawn::rule(), 8).new_tree(&mut runner).unwrap().current();
        let body = drawn::body().new_tree(&mut runner).unwrap().current();
        holding += expected(&rules, &[body]).concat().len();
        drawn += rules.len();
    }
    assert!(holding * 5 > drawn && holding * 5 < drawn * 4, "{holding} of {drawn} hold");
}
