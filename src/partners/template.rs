//! Templates: the JSON of an offer that does not depend on the lead, and the recorded form of a seat,
//! rendered once when the book is loaded.
//!
//! An offer's template is the prefix of a JSON object, stored under its [`Fingerprint`], so that a rate table
//! reads the same after the partner file has changed. A template made from a partner's answer is stored with
//! that answer. [`write_offer`](super::offer_json::write_offer) joins template and quote.

use std::io::Write;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::declared;
use super::fingerprint::Fingerprint;
use super::json_object::JsonObjectWriter;
use offerd_model::ProductSubType;

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

/// A template: the JSON for clients, and what the engine needs while a table shows it.
#[derive(Debug, Clone)]
pub struct Template {
    /// Fingerprint that it is stored under.
    pub fingerprint: Fingerprint,
    /// The JSON that clients see of an offer, or the recorded form of a seat.
    pub json: Arc<str>,
    /// For an offer: what a click on it does.
    pub click_terms: Option<ClickTerms>,
    /// Product sub-type of the offer.
    pub sub_type: Option<ProductSubType>,
    /// Offset of the conversion probability in the JSON, if it comes last.
    conversion: Option<usize>,
}

/// What a click on an offer does: where it leads, and what it pays. Stored with the offer's template, so that
/// it holds whatever happens to the partner file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClickTerms {
    /// Name of the offer in the partner file: its key, and its term if there are several.
    pub name: String,
    /// URL that a click leads to; `{clickId}`, `{leadUuid}` and a leading `{baseUrl}` are filled in.
    pub landing_url: String,
    /// The payout and the step that earns it.
    pub payout: declared::DeclaredPayout,
    /// Validity in milliseconds from the creation of the table, if different from the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_for_ms: Option<i64>,
}

impl ClickTerms {
    /// The key of the offer, without a term.
    pub fn key(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

/// Default validity of an offer from the creation of its table: 31 days in ms.
pub const OFFER_MS: i64 = 31 * 24 * 60 * 60 * 1000;

impl Template {
    /// A template of a whole value.
    pub fn whole(value: &impl Serialize) -> Self {
        let json = serde_json::to_string(value).expect("templates have string keys and finite numbers");
        Self::of(Fingerprint([0; 16]), &json, None).fingerprinted()
    }

    /// A template of an offer; `write` writes what does not depend on the lead.
    pub fn of_offer(click_terms: ClickTerms, write: impl FnOnce(&mut JsonObjectWriter<'_>)) -> Self {
        let mut json = vec![b'{'];
        write(&mut JsonObjectWriter(&mut json));
        let json = String::from_utf8(json).expect("JSON is UTF-8");
        Self::of(Fingerprint([0; 16]), &json, Some(click_terms)).fingerprinted()
    }

    fn of(fingerprint: Fingerprint, json: &str, click_terms: Option<ClickTerms>) -> Self {
        const SUB_TYPE: &str = r#""productSubType":""#;
        const CONVERSION: &str = r#""conversionProbability":"#;
        // Quotes within a text are escaped, so these match the keys of the offer only.
        let sub_type = json.split_once(SUB_TYPE).and_then(|(_, rest)| rest.split('"').next());
        let conversion = json.rfind(CONVERSION).map(|place| place + CONVERSION.len());
        Self {
            fingerprint,
            sub_type: sub_type.and_then(ProductSubType::from_wire),
            conversion: conversion.filter(|place| !json[*place..].contains([',', '}'])),
            json: json.into(),
            click_terms,
        }
    }

    fn fingerprinted(mut self) -> Self {
        self.fingerprint = Fingerprint::of(&self.stored());
        self
    }

    /// The stored form: a line with the click terms, then the JSON.
    pub fn stored(&self) -> String {
        let click_terms = serde_json::to_string(&self.click_terms)
            .expect("click terms have string keys and finite numbers");
        format!("{click_terms}\n{}", self.json)
    }

    /// Writes its JSON. If the JSON ends with the conversion probability, `conversion` replaces it.
    pub(super) fn write(&self, out: &mut Vec<u8>, conversion: Option<f64>) {
        let Some((probability, place)) = conversion.zip(self.conversion) else {
            return out.extend_from_slice(self.json.as_bytes());
        };
        let probability = serde_json::Number::from_f64((probability * 1e6).round() / 1e6);
        out.extend_from_slice(&self.json.as_bytes()[..place]);
        write!(out, "{}", probability.unwrap_or_else(|| 0.into())).expect("memory takes all");
    }

    /// Parses the form of [`stored`](Self::stored); `None` if invalid.
    pub fn read(fingerprint: Fingerprint, stored: &str) -> Option<Self> {
        let (click_terms, json) = stored.split_once('\n')?;
        Some(Self::of(fingerprint, json, serde_json::from_str(click_terms).ok()?))
    }
}
