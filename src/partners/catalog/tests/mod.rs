//! Prices, product by product: an offer of a partner file and a lead go in, a quote comes out.
//!
//! Expected figures were worked out apart from this code, with fifty decimals, by the formulas that each
//! table names.

mod card;
mod loan;
mod mortgage;
mod savings;

use std::fmt::Display;

use chrono::DateTime;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::offer_json::{OfferPlace, write_offer};
use crate::partner_files::{PartnerFile, partner};
use crate::quote::Spread;
use crate::{Book, Facts, Quote};
use offerd_model::{CreditBands, Lead};

/// A lender with one offer, which earns $1 whenever it is shown, so that its score is its suitability.
fn offer(product: &str, keys: &str) -> PartnerFile {
    partner("lender").and(&format!(
        "[products.{product}]\ntimeout = \"5s\"\n[[products.{product}.offers]]\nkey = \"one\"\n\
         landing_url = \"https://lender.example/\"\npayout = {{ on = \"click\", fixed = 1.0 }}\n\
         conversion_probability = 1.0\n{keys}"
    ))
}

fn load(file: &PartnerFile) -> Result<Book, Vec<String>> {
    let loaded = Book::from_texts([("lender.toml".into(), file.text())]);
    loaded.map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

fn book(file: &PartnerFile) -> Book {
    load(file).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// Checks that a file has one fault, which ends like this, or none.
fn assert_fault(file: &PartnerFile, fault: Option<&str>) {
    let found = load(file).err().unwrap_or_default();
    let is_expected =
        found.len() == fault.iter().len() && found.iter().all(|one| one.ends_with(fault.unwrap()));
    assert!(is_expected, "expected {fault:?}, got {found:?} for {file:?}");
}

fn read(lead: &Value) -> Lead {
    Lead::read(lead.to_string().as_bytes()).unwrap_or_else(|_| panic!("{lead} is no lead"))
}

/// The facts of a lead whose client knows every value.
fn facts(lead: &Lead) -> Facts<'_> {
    Facts::new(lead, DateTime::default(), CreditBands::Current).with_newer_values(true)
}

/// Whether the lead meets the rule of an offer.
fn fits(file: &PartnerFile, lead: &Value) -> bool {
    let lead = read(lead);
    book(file).seats()[0].offers.iter().any(|offer| offer.rule.holds(&facts(&lead)))
}

/// The quote of the first offer; `None` if none of its bands fits.
fn quote(file: &PartnerFile, lead: &Value, may_be_personal: bool) -> Option<Quote> {
    book(file).seats()[0].offers[0].quote(&facts(&read(lead)), may_be_personal)
}

/// The first offer as a client sees it when it does not name itself, with its partner by name.
fn shown(file: &PartnerFile) -> Value {
    let book = book(file);
    let offer = &book.seats()[0].offers[0];
    let quote = offer.quote(&facts(&read(&json!({}))), false).unwrap();
    let place = OfferPlace { uuid: Uuid::nil(), url: "https://api.example/", rank: 1, made_at: 0 };
    let mut json = Vec::new();
    write_offer(&mut json, &offer.text, &quote, place);
    let mut shown: Value = serde_json::from_slice(&json).unwrap();
    for institution in ["partner", "originator"] {
        if let Some(partner) = shown.get_mut(institution) {
            *partner = partner["name"].take();
        }
    }
    for of_table in ["uuid", "url", "rank", "expiresAt"] {
        shown.as_object_mut().unwrap().remove(of_table);
    }
    shown
}

/// A spread in words: `8-12`, or `8` when it is one figure.
fn span(Spread { min, max }: Spread) -> String {
    if min == max { min.to_string() } else { joined([min, max], "-") }
}

fn joined(words: impl IntoIterator<Item = impl Display>, by: &str) -> String {
    words.into_iter().map(|word| word.to_string()).collect::<Vec<_>>().join(by)
}

/// A lead with this credit score.
fn scoring(score: i32) -> Value {
    json!({"creditInformation": {"providedNumericCreditScore": score}})
}

/// A lead with this rating and no score.
fn rated(rating: &str) -> Value {
    json!({"creditInformation": {"providedCreditRating": rating}})
}

/// What two leads give together.
fn both(one: &Value, other: &Value) -> Value {
    let sections = [one, other].map(|lead| lead.as_object().unwrap().clone());
    sections.into_iter().flatten().collect()
}
