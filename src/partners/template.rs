//! Templates: the JSON of an offer that does not depend on the lead, prepared once when the book is loaded.
//!
//! An offer's template is the beginning of a JSON object, cut off where what depends on the lead goes on. It is
//! known by its [`Fingerprint`], under which it is also stored, so that a rate table reads the same after the partner's
//! file has changed. One that is made of words of a partner's answer is kept with that answer.
//! [`write_offer`](super::offer_json::write_offer) joins template and quote to the offer that a client sees.

use std::io::Write;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::declared;
use super::fingerprint::Fingerprint;
use super::json_object::JsonObject;
use offerd_model::ProductSubType;

impl PartialEq for Template {
    /// Equal texts have one fingerprint.
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

/// A template: what clients see of it, and what we ourselves must know as long as a table shows it.
#[derive(Debug, Clone)]
pub struct Template {
    /// Under which it is stored.
    pub fingerprint: Fingerprint,
    /// The JSON that clients see.
    pub json: Arc<str>,
    /// Beside an offer's: what a click on it does.
    pub imprint: Option<Imprint>,
    /// The finer kind of the offer.
    pub sub_type: Option<ProductSubType>,
    /// Where in the JSON the conversion probability stands, if that ends with it.
    conversion: Option<usize>,
}

/// What stays with an offer's template, whatever becomes of the partner's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Imprint {
    /// The offer's name in the partner's file: its key, and its term where there are several.
    pub name: String,
    /// Where a click leads; `{clickId}`, `{leadUuid}` and, where it begins, `{baseUrl}` are filled in.
    pub landing_url: String,
    /// What is earned, and when.
    pub payout: declared::Payout,
    /// For how many milliseconds from the making of its table the offer stands, where that is not as long as others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_for_ms: Option<i64>,
}

/// Milliseconds from the making of its table for which an offer stands (facts, Offers over time): 31 days.
pub const OFFER_MS: i64 = 31 * 24 * 60 * 60 * 1000;

impl Template {
    /// Prepares a whole value.
    pub fn whole(value: &impl Serialize) -> Self {
        let json = serde_json::to_string(value).expect("templates have string keys and finite numbers");
        Self::of(Fingerprint([0; 16]), &json, None).fingerprinted()
    }

    /// Prepares an offer, of which `write` writes all that does not depend on the lead.
    pub fn of_offer(imprint: Imprint, write: impl FnOnce(&mut JsonObject<'_>)) -> Self {
        let mut json = vec![b'{'];
        write(&mut JsonObject::go_on(&mut json));
        let json = String::from_utf8(json).expect("JSON is UTF-8");
        Self::of(Fingerprint([0; 16]), &json, Some(imprint)).fingerprinted()
    }

    fn of(fingerprint: Fingerprint, json: &str, imprint: Option<Imprint>) -> Self {
        const SUB_TYPE: &str = r#""productSubType":""#;
        const CONVERSION: &str = r#""conversionProbability":"#;
        // A quote within a text is never bare, so these stand where the offer has its keys.
        let sub_type = json.split_once(SUB_TYPE).and_then(|(_, rest)| rest.split('"').next());
        let conversion = json.rfind(CONVERSION).map(|place| place + CONVERSION.len());
        Self {
            fingerprint,
            sub_type: sub_type.and_then(ProductSubType::from_wire),
            conversion: conversion.filter(|place| !json[*place..].contains([',', '}'])),
            json: json.into(),
            imprint,
        }
    }

    fn fingerprinted(mut self) -> Self {
        self.fingerprint = Fingerprint::of(&self.stored());
        self
    }

    /// As it is stored: a line with the imprint, then the JSON.
    pub fn stored(&self) -> String {
        let imprint =
            serde_json::to_string(&self.imprint).expect("an imprint has string keys and finite numbers");
        format!("{imprint}\n{}", self.json)
    }

    /// Writes its JSON, with another conversion probability in place of the file's where it ends with that.
    pub(super) fn write(&self, out: &mut Vec<u8>, conversion: Option<f64>) {
        let Some((probability, place)) = conversion.zip(self.conversion) else {
            return out.extend_from_slice(self.json.as_bytes());
        };
        let probability = serde_json::Number::from_f64((probability * 1e6).round() / 1e6);
        out.extend_from_slice(&self.json.as_bytes()[..place]);
        write!(out, "{}", probability.unwrap_or_else(|| 0.into())).expect("memory takes all");
    }

    /// Reads what [`stored`](Self::stored) made; `None` when it is something else.
    pub fn read(fingerprint: Fingerprint, stored: &str) -> Option<Self> {
        let (imprint, json) = stored.split_once('\n')?;
        Some(Self::of(fingerprint, json, serde_json::from_str(imprint).ok()?))
    }
}
