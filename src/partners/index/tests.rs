//! Compares the index with a naive evaluation of every rule.

use std::sync::Arc;

use chrono::NaiveDate;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::zipcode_prefixes::ZipcodePrefixes;
use offerd_model::{CreditBands, Lead};

/// A subject of each kind, including derived ones and one whose value may follow from another.
const SUBJECTS: [&str; 12] = [
    "personalInformation.state",
    "creditInformation.providedCreditRating",
    "legalInformation.consentsToFcra",
    "loanInformation.loanAmount",
    "creditScore",
    "age",
    "employmentInformation.startDate",
    "mortgageInformation.lenderName",
    "creditCardInformation.cardPurposes",
    "personalInformation.zipcode",
    "clientTags.channel",
    "company",
];

fn condition() -> impl Strategy<Value = EligibilityCondition> {
    let subject = prop::sample::select(SUBJECTS.to_vec()).prop_map(Subject::of);
    (subject, any::<u64>(), -50.0..1200.0_f64, 0.0..900.0_f64, 0..8_u8, any::<bool>()).prop_map(
        |(subject, mask, low, width, form, or_missing)| {
            let subject = subject.zipcode().filter(|_| form > 1).unwrap_or(subject);
            let test = match (subject.kind(), form) {
                (_, 0) => ConditionTest::Present,
                (AttributeKind::Number, 1..5) if subject.path().ends_with("zipcode") => {
                    ConditionTest::Zipcode(places(mask))
                }
                (AttributeKind::Number, _) if subject.path().ends_with("zipcode") => {
                    ConditionTest::Zipcode(places(mask)).refused()
                }
                (AttributeKind::Texts, 1..5) => ConditionTest::Text(channels(mask)),
                (AttributeKind::Texts, _) => ConditionTest::Text(channels(mask)).refused(),
                (AttributeKind::Uuid, 1..5) => ConditionTest::Uuid(vec![company(mask)]),
                (AttributeKind::Uuid, _) => ConditionTest::Uuid(vec![company(mask)]).refused(),
                (AttributeKind::Category(_), _) => ConditionTest::Category(mask),
                (AttributeKind::Flag, _) => ConditionTest::Flag(mask & 1 == 1),
                (AttributeKind::Number, 1) => ConditionTest::Range { min: low.round(), max: f64::INFINITY },
                (AttributeKind::Number, 2) => {
                    ConditionTest::Range { min: f64::NEG_INFINITY, max: low.round() }
                }
                (AttributeKind::Number, _) => {
                    ConditionTest::Range { min: low.round(), max: (low + width).round() }
                }
                (AttributeKind::Date, _) => {
                    let day = crate::eligibility::days(day(mask as u32 % 3000));
                    ConditionTest::Range { min: day, max: day + width.round() }
                }
                (AttributeKind::Text, 1..4) => ConditionTest::Text(vec![lender(mask).to_lowercase()]),
                (AttributeKind::Text, _) => ConditionTest::Text(vec![lender(mask).to_lowercase()]).refused(),
                (AttributeKind::Set(_), 1..6) => ConditionTest::AnyOf(mask & 0xff),
                (AttributeKind::Set(_), _) => ConditionTest::AnyOf(mask & 0xff).refused(),
            };
            EligibilityCondition { subject, test, or_missing }
        },
    )
}

fn day(nth: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2015, 1, 1).unwrap() + chrono::Days::new(u64::from(nth))
}

const PLACES: [&str; 6] = ["9", "94", "941", "94105", "100", "00501"];

fn places(mask: u64) -> Arc<ZipcodePrefixes> {
    let some = PLACES.iter().enumerate().filter(|(nth, _)| *nth == mask as usize % 6 || mask >> nth & 1 == 1);
    Arc::new(ZipcodePrefixes::new(&some.map(|(_, prefix)| (*prefix).to_owned()).collect::<Vec<_>>()).unwrap())
}

const CHANNELS: [&str; 3] = ["app", "web", "mail"];

fn channels(mask: u64) -> Vec<String> {
    CHANNELS.iter().skip(mask as usize % 3).take(2).map(|channel| (*channel).to_owned()).collect()
}

fn company(nth: u64) -> Uuid {
    Uuid::from_u128(1 + u128::from(nth % 2))
}

fn lender(nth: u64) -> &'static str {
    ["Alder Bank", "Birch Credit", "Cedar Trust"][nth as usize % 3]
}

/// A lead whose attributes are each given, null or missing.
fn lead() -> impl Strategy<Value = Lead> {
    let maybe = |value: BoxedStrategy<Value>| prop_oneof![1 => Just(None), 1 => Just(Some(Value::Null)), 4 => value.prop_map(Some)];
    let state = prop::sample::select(offerd_model::State::WIRE.to_vec()).prop_map(Value::from).boxed();
    let rating =
        prop::sample::select(offerd_model::ProvidedCreditRating::WIRE.to_vec()).prop_map(Value::from).boxed();
    let purposes =
        prop::collection::vec(prop::sample::select(offerd_model::CardPurpose::WIRE.to_vec()), 0..4);
    (
        maybe(state),
        maybe(rating),
        maybe((300..851_i32).prop_map(Value::from).boxed()),
        maybe(any::<bool>().prop_map(Value::from).boxed()),
        maybe((0..1200_i32).prop_map(Value::from).boxed()),
        maybe((0..3000_u32).prop_map(|nth| Value::from(day(nth).to_string())).boxed()),
        maybe((0..3000_u32).prop_map(|nth| Value::from(day(nth).to_string())).boxed()),
        maybe(any::<u64>().prop_map(|nth| Value::from(lender(nth))).boxed()),
        maybe(purposes.prop_map(Value::from).boxed()),
        maybe(
            prop::sample::select(vec!["94105", "94199-1804", "95000", "10001", "00501"])
                .prop_map(Value::from)
                .boxed(),
        ),
        maybe(
            prop::collection::vec(prop::sample::select(vec!["APP", "web", "other"]), 0..3)
                .prop_map(Value::from)
                .boxed(),
        ),
    )
        .prop_map(
            |(state, rating, score, fcra, amount, born, started, lender, purposes, zipcode, channel)| {
                let mut body = json!({});
                for (section, key, value) in [
                    ("personalInformation", "state", state),
                    ("personalInformation", "dateOfBirth", born),
                    ("creditInformation", "providedCreditRating", rating),
                    ("creditInformation", "providedNumericCreditScore", score),
                    ("legalInformation", "consentsToFcra", fcra),
                    ("loanInformation", "loanAmount", amount),
                    ("employmentInformation", "startDate", started),
                    ("mortgageInformation", "lenderName", lender),
                    ("creditCardInformation", "cardPurposes", purposes),
                    ("personalInformation", "zipcode", zipcode),
                    ("clientTags", "channel", channel),
                ] {
                    if let Some(value) = value {
                        body[section][key] = value;
                    }
                }
                Lead::read(body.to_string().as_bytes()).unwrap()
            },
        )
}

fn agree(rows: &[Vec<EligibilityCondition>], lead: &Lead) {
    let facts = Facts::new(lead, day(4000).and_time(chrono::NaiveTime::MIN).and_utc(), CreditBands::Current);
    let index = EligibilityIndex::build(rows);
    for facts in [facts, facts.submitted_by(company(0))] {
        let mut found = Vec::new();
        index.search(&facts, |row| found.push(row));
        let holds = |row: &usize| rows[*row].iter().all(|condition| condition.met_by(&facts));
        assert_eq!(found, (0..rows.len()).filter(holds).collect::<Vec<_>>());
    }
}

proptest! {
    /// The index agrees with the naive evaluation on arbitrary rules and leads.
    #[test]
    fn the_index_agrees_with_the_naive_evaluator(
        rows in prop::collection::vec(prop::collection::vec(condition(), 0..5), 0..150),
        leads in prop::collection::vec(lead(), 1..4),
    ) {
        for lead in &leads {
            agree(&rows, lead);
        }
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    /// So it does if the rules name more bounds than there are cells.
    #[test]
    fn it_agrees_with_coarse_cells(leads in prop::collection::vec(lead(), 8)) {
        let amount = Subject::of("loanInformation.loanAmount");
        let row = |nth: u32| {
            let min = f64::from(nth * 7919 % 1201);
            vec![EligibilityCondition::new(amount.clone(), ConditionTest::Range { min, max: min + f64::from(nth % 97) })]
        };
        let rows: Vec<Vec<EligibilityCondition>> = (0..2000).map(row).collect();
        for lead in &leads {
            agree(&rows, lead);
        }
    }
}

fn at_least(min: f64) -> EligibilityCondition {
    let amount = Subject::of("loanInformation.loanAmount");
    EligibilityCondition::new(amount, ConditionTest::Range { min, max: f64::INFINITY })
}

fn with_a_purpose_of(set: u64) -> EligibilityCondition {
    EligibilityCondition::new(Subject::of("creditCardInformation.cardPurposes"), ConditionTest::AnyOf(set))
}

#[test]
fn every_column_narrows_rows_that_repeat_in_each_word() {
    let state =
        EligibilityCondition::new(Subject::of("personalInformation.state"), ConditionTest::Category(1));
    let rows = vec![vec![state, at_least(500.0)]; BLOCK];
    let state = offerd_model::State::WIRE[0];
    let lead = json!({ "personalInformation": { "state": state }, "loanInformation": { "loanAmount": 0 } });
    agree(&rows, &Lead::read(lead.to_string().as_bytes()).unwrap());
}

#[test]
fn a_column_of_too_many_bounds_gets_cells_at_even_distances() {
    let index = |bounds: usize| {
        let rows: Vec<_> = (0..bounds).map(|nth| vec![at_least(nth as f64)]).collect();
        EligibilityIndex::build(&rows)
    };
    assert!(!index(MAX_CELLS - 1).has_doubts, "each bound has a cell");
    assert!(index(MAX_CELLS).has_doubts);
    let ColumnCells::Stretches { bounds, .. } = &index(8 * MAX_CELLS).columns[0].cells else { panic!() };
    assert_eq!(*bounds, (1..MAX_CELLS).map(|nth| (8 * nth) as f64).collect::<Vec<_>>());
}

#[test]
fn only_a_second_set_of_required_members_is_in_doubt() {
    let doubts = |row: Vec<EligibilityCondition>| EligibilityIndex::build(&[row]).doubts[0].clone();
    assert_eq!(doubts(vec![with_a_purpose_of(0b11)]), []);
    assert_eq!(doubts(vec![with_a_purpose_of(0b11), with_a_purpose_of(0b100)]), [with_a_purpose_of(0b100)]);
}

/// The mean of each kind of column: 11 rows of 2 flags; 5 rows of any other lender; 5 rows of any card
/// purpose, and one for each of 2 purposes.
#[test]
fn the_most_selective_column_goes_first() {
    let fcra =
        EligibilityCondition::new(Subject::of("legalInformation.consentsToFcra"), ConditionTest::Flag(true));
    let lender = ConditionTest::Text(vec![lender(0).to_lowercase()]);
    let lender = EligibilityCondition::new(Subject::of("mortgageInformation.lenderName"), lender);
    let mut rows = vec![vec![with_a_purpose_of(0b11)], vec![fcra], vec![lender]];
    rows.resize(6, Vec::new());
    let index = EligibilityIndex::build(&rows);
    assert_eq!(index.columns.iter().map(IndexColumn::density).collect::<Vec<_>>(), [5, 5, 6]);
}
