//! Rules and leads at random. Their values are drawn from few, which lie at each other's edges, so that they meet.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

/// What values a subject has.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// One of these.
    Category(&'static [&'static str]),
    /// True or false.
    Flag,
    /// A number, whose bounds are drawn from these.
    Number(&'static [f64]),
    /// A day.
    Date,
    /// A name.
    Text,
    /// Some of these.
    Set(&'static [&'static str]),
}

/// Every kind, among them what follows from other attributes: the rating from the score and the other way round, and the
/// last nine.
pub const SUBJECTS: [(&str, Kind); 20] = [
    ("personalInformation.state", Kind::Category(STATES)),
    ("creditInformation.providedCreditRating", Kind::Category(RATINGS)),
    ("creditInformation.providedNumericCreditScore", Kind::Number(SCORES)),
    ("legalInformation.consentsToFcra", Kind::Flag),
    ("loanInformation.loanAmount", Kind::Number(&[0.0, 1000.0, 1000.5, 35_000.0])),
    ("employmentInformation.startDate", Kind::Date),
    ("personalInformation.dateOfBirth", Kind::Date),
    ("mortgageInformation.lenderName", Kind::Text),
    ("creditCardInformation.cardPurposes", Kind::Set(PURPOSES)),
    ("productTypes", Kind::Set(PRODUCTS)),
    ("refinanceLoans", Kind::Number(&[1.0, 2.0])),
    ("creditScore", Kind::Number(SCORES)),
    ("age", Kind::Number(&[18.0, 21.0, 26.0])),
    ("debtToIncome", Kind::Number(&[0.0, 36.0, 43.0, 50.0])),
    ("loanToValue", Kind::Number(&[80.0, 97.0, 100.0])),
    ("mortgageLoanAmount", Kind::Number(&[80_000.0, 97_000.0, 100_000.0])),
    ("combinedLoanToValue", Kind::Number(&[80.0, 97.0, 101.0])),
    ("loanToIncome", Kind::Number(&[5.0, 50.0, 175.0])),
    ("mortgageToIncome", Kind::Number(&[100.0, 162.0, 400.0])),
    ("paymentToIncome", Kind::Number(&[16.0, 36.0, 108.0])),
];

const STATES: &[&str] = &["CA", "NY", "TX", "WA"];
const RATINGS: &[&str] = &["excellent", "good", "fair", "poor", "limited", "unknown"];
const PURPOSES: &[&str] = &["cash_back", "travel_incentives", "low_interest"];
const PRODUCTS: &[&str] = &["loan", "savings", "mortgage"];
const SCORES: &[f64] = &[300.0, 600.0, 620.0, 660.0, 720.0];
const DAYS: &[&str] = &["2000-02-29", "2005-11-20", "2005-11-21", "2005-11-22", "2008-11-21", "2008-11-22"];
const NAMES: &[&str] = &["Alder Bank", "ALDER BANK", "Birch Credit", "Çedar Trust", "çEDAR TRUST"];
const DOLLARS: &[i64] = &[0, 1, 800, 1800, 20_000, 60_000, 80_000, 97_000, 100_000];

/// A rule as it stands under `eligibility`: conditions, and alternatives with alternatives of their own.
pub fn rule() -> impl Strategy<Value = Value> {
    let leaf = prop::collection::btree_map(select(SUBJECTS.to_vec()).prop_flat_map(named), Just(()), 1..3);
    let conjunction = leaf.prop_map(|conditions| {
        let conditions = conditions
            .into_keys()
            .map(|(path, condition)| (path, serde_json::from_str(&condition).expect("a condition is JSON")));
        Value::Object(conditions.collect())
    });
    conjunction.prop_recursive(2, 12, 3, |inner| {
        (inner.clone(), prop::collection::vec(inner, 1..4)).prop_map(|(mut rule, any)| {
            rule["any"] = any.into();
            rule
        })
    })
}

/// A subject with a condition on it, as text, so that it has an order.
fn named((path, kind): (&'static str, Kind)) -> impl Strategy<Value = (String, String)> {
    condition(kind).prop_map(move |condition| (path.to_owned(), condition.to_string()))
}

fn condition(kind: Kind) -> impl Strategy<Value = Value> {
    let tests = match kind {
        Kind::Category(names) => words(["in", "not_in"], names),
        Kind::Set(names) => words(["any_of", "none_of"], names),
        Kind::Text => words(["in", "not_in"], NAMES),
        Kind::Flag => any::<bool>().prop_map(|flag| json!({ "is": flag })).boxed(),
        Kind::Number(bounds) => {
            let bound = select(bounds.to_vec());
            (bound.clone(), bound, 0..3_u8)
                .prop_map(|(one, two, ends)| range(json!(one.min(two)), json!(one.max(two)), ends))
                .boxed()
        }
        Kind::Date => (select(DAYS), select(DAYS), 0..3_u8)
            .prop_map(|(one, two, ends)| range(json!(one.min(two)), json!(one.max(two)), ends))
            .boxed(),
    };
    let tests = prop_oneof![6 => tests, 1 => Just(json!({ "present": true }))];
    (tests, prop::bool::weighted(0.6)).prop_map(|(mut condition, or_missing)| {
        if or_missing && condition.get("present").is_none() {
            condition["or_missing"] = true.into();
        }
        condition
    })
}

/// One of two words, or both, each with some names.
fn words(words: [&'static str; 2], names: &'static [&'static str]) -> BoxedStrategy<Value> {
    let some = || subsequence(names, 1..names.len());
    (some(), some(), 0..5_u8)
        .prop_map(move |(one, two, which)| match which {
            0 | 1 => json!({ words[0]: one }),
            2 | 3 => json!({ words[1]: two }),
            _ => {
                // A file may not have a name in both.
                let is_other = |name: &&str| !one.iter().any(|one| one.to_lowercase() == name.to_lowercase());
                match two.into_iter().filter(is_other).collect::<Vec<_>>() {
                    two if two.is_empty() => json!({ words[0]: one }),
                    two => json!({ words[0]: one, words[1]: two }),
                }
            }
        })
        .boxed()
}

fn range(min: Value, max: Value, ends: u8) -> Value {
    match ends {
        0 => json!({ "min": min }),
        1 => json!({ "max": max }),
        _ => json!({ "min": min, "max": max }),
    }
}

/// A lead's body: each attribute given, or not, or given as nothing.
pub fn body() -> impl Strategy<Value = Value> {
    let of = |names: &'static [&'static str]| maybe(select(names).prop_map(Value::from));
    let some_of =
        |names: &'static [&'static str]| maybe(subsequence(names, 0..=names.len()).prop_map(Value::from));
    let dollars = || maybe(select(DOLLARS).prop_map(Value::from));
    let near = |bounds: &'static [f64]| {
        let least = bounds[0] as i64; // less is implausible
        let near = (select(bounds), -1..2_i64).prop_map(move |(bound, off)| (bound as i64 + off).max(least));
        maybe(near.prop_map(Value::from))
    };
    let loans = maybe((0..4_usize).prop_map(|count| vec![json!({}); count].into()));
    let person =
        (of(STATES), of(DAYS), of(RATINGS), near(SCORES), maybe(any::<bool>().prop_map(Value::from)));
    let wishes =
        (near(&[0.0, 1000.0, 35_000.0]), of(DAYS), of(NAMES), some_of(PURPOSES), some_of(PRODUCTS), loans);
    let money = (dollars(), dollars(), dollars());
    let home =
        (of(&["purchase", "refinance"]), dollars(), dollars(), dollars(), dollars(), dollars(), dollars());
    (person, wishes, money, home).prop_map(|(person, wishes, money, home)| {
        let (state, born, rating, score, consents) = person;
        let (amount, started, lender, purposes, products, loans) = wishes;
        let (income, debt, housing) = money;
        let (kind, value, down, mortgage, refinance, balance, cash_out) = home;
        section([
            ("productTypes", products),
            ("refinanceLoans", loans),
            ("personalInformation", section([("state", state), ("dateOfBirth", born)])),
            (
                "creditInformation",
                section([("providedCreditRating", rating), ("providedNumericCreditScore", score)]),
            ),
            ("legalInformation", section([("consentsToFcra", consents)])),
            ("loanInformation", section([("loanAmount", amount)])),
            ("employmentInformation", section([("startDate", started)])),
            ("creditCardInformation", section([("cardPurposes", purposes)])),
            (
                "financialInformation",
                section([
                    ("annualIncome", income),
                    ("monthlyDebt", debt),
                    ("monthlyHousingPayment", housing),
                ]),
            ),
            (
                "mortgageInformation",
                section([
                    ("mortgageType", kind),
                    ("propertyValue", value),
                    ("downPaymentAmount", down),
                    ("mortgageAmount", mortgage),
                    ("refinanceAmount", refinance),
                    ("mortgageBalance", balance),
                    ("cashOutAmount", cash_out),
                    ("lenderName", lender),
                ]),
            ),
        ])
        .expect("a section is a value")
    })
}

/// A value, none, or one of the two that say nothing.
fn maybe(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Option<Value>> {
    prop_oneof![5 => value.prop_map(Some), 2 => Just(None), 1 => Just(Some(Value::Null)), 1 => Just(Some("".into()))]
}

/// An object of what is given.
fn section<const N: usize>(fields: [(&str, Option<Value>); N]) -> Option<Value> {
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some(Value::Object(Map::from_iter(fields)))
}
