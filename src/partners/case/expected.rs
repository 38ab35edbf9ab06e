//! The request that a case expects, the response to it, and the expected reading of that.

use std::collections::BTreeMap;

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{NOW, RATE_TABLE, filled};
use crate::http::{AnswerReading, Answered, HttpRequest, MappingResult};
use crate::offer_json::{OfferPlace, write_offer};
use crate::{Quote, Seat};

/// `response`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    json: Option<Value>,
    xml: Option<Vec<String>>,
    text: Option<String>,
}

/// `call`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseCall {
    /// HTTP method.
    pub method: String,
    /// URL.
    pub url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    json: Option<Value>,
    form: Option<BTreeMap<String, String>>,
    xml: Option<Vec<String>>,
}

impl CaseCall {
    pub(super) fn compare(&self, ask: Uuid, request: &HttpRequest, wrong: &mut Vec<String>) {
        let mut same = |what: &str, expected: String, found: String| {
            if expected != found {
                wrong.push(format!("{what}\n  expected {expected}\n  found    {found}"));
            }
        };
        same("method", self.method.clone(), request.method.to_string());
        same("url", filled(ask, &self.url), request.url.clone());
        for (name, value) in &self.headers {
            let found = request.headers.get(name).and_then(|value| value.to_str().ok());
            same(&format!("header {name}"), filled(ask, value), found.unwrap_or_default().to_owned());
        }
        if let Some(json) = &self.json {
            let found: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            same("json", filled(ask, &json.to_string()), found.to_string());
        }
        if let Some(form) = &self.form {
            let found: BTreeMap<String, String> =
                form_urlencoded::parse(&request.body).into_owned().collect();
            let expected: BTreeMap<String, String> =
                form.iter().map(|(name, value)| (name.clone(), filled(ask, value))).collect();
            same("form", format!("{expected:?}"), format!("{found:?}"));
        }
        if let Some(lines) = &self.xml {
            let found = String::from_utf8_lossy(&request.body);
            same("xml", filled(ask, &lines.join("\n")), found.trim().to_owned());
        }
    }
}

/// The reading of an answer, or why its mappings could not be run.
pub(super) type Reading = MappingResult<AnswerReading>;

/// `expect`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum CaseExpectation {
    Offers(Vec<Value>),
    Declined(Value),
    Failed(String),
}

impl Response {
    /// Status and headers.
    ///
    /// # Errors
    /// The invalid one, by its key.
    pub fn head(&self) -> Result<(StatusCode, HeaderMap), String> {
        let status =
            StatusCode::from_u16(self.status).map_err(|_| "`response.status` is not an HTTP status")?;
        let kind = match (&self.json, &self.xml) {
            (Some(_), _) => "application/json",
            (_, Some(_)) => "application/xml",
            _ => "text/plain",
        };
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
        for (name, value) in &self.headers {
            let header = (HeaderName::try_from(name), HeaderValue::try_from(value));
            let (Ok(known), Ok(value)) = header else {
                return Err(format!("`response.headers.{name}` is not a valid header"));
            };
            headers.insert(known, value);
        }
        Ok((status, headers))
    }

    /// The body.
    pub fn body(&self) -> Vec<u8> {
        match (&self.json, &self.xml, &self.text) {
            (Some(json), _, _) => json.to_string().into_bytes(),
            (_, Some(lines), _) => lines.join("\n").into_bytes(),
            (_, _, text) => text.clone().unwrap_or_default().into_bytes(),
        }
    }
}

impl CaseExpectation {
    pub(super) fn compare(&self, seat: &Seat, reading: &Reading, wrong: &mut Vec<String>) {
        let reading = match (self, reading) {
            (_, Ok(reading)) => reading,
            (Self::Failed(cause), Err(error)) if error.to_string().contains(cause.as_str()) => return,
            (_, Err(error)) => {
                return wrong.push(format!("the answer cannot be mapped: {}", error.in_full()));
            }
        };
        let before = wrong.len();
        self.compare_meaning(seat, &reading.answered, wrong);
        if wrong.len() > before {
            let dropped = reading.dropped.iter();
            wrong.extend(dropped.map(|one| format!("offer {} is not shown: {}", one.position, one.detail)));
            wrong.extend(reading.absent.iter().map(ToString::to_string));
        }
    }

    fn compare_meaning(&self, seat: &Seat, answered: &Answered, wrong: &mut Vec<String>) {
        match (self, &Self::found(seat, answered)) {
            (Self::Offers(expected), Self::Offers(found)) => {
                if expected.len() != found.len() {
                    wrong.push(format!("offers: expected {}, found {}", expected.len(), found.len()));
                }
                for (nth, (expected, found)) in expected.iter().zip(found).enumerate() {
                    compare_part(&format!("offers[{nth}]"), expected, found, wrong);
                }
            }
            (Self::Declined(reason), Self::Declined(found)) if reason == found => {}
            (Self::Declined(reason), Self::Declined(found)) => {
                wrong.push(format!("declined: expected {reason}, found {found}"));
            }
            (Self::Failed(cause), Self::Failed(found)) if found.contains(cause.as_str()) => {}
            (expected, found) => {
                wrong.push(format!("expected {}, found {}", expected.outcome(), found.outcome()));
            }
        }
    }

    /// The expectation that an answer would meet.
    fn found(seat: &Seat, answered: &Answered) -> Self {
        match answered {
            Answered::Offers(quotes) => Self::Offers(quotes.iter().map(|quote| shown(seat, quote)).collect()),
            Answered::Declined(reason) => {
                Self::Declined(reason.map_or(Value::from(true), |reason| reason.as_str().into()))
            }
            Answered::Failed(cause) => Self::Failed(cause.clone()),
        }
    }

    fn outcome(&self) -> String {
        match self {
            Self::Offers(offers) => format!("offers ({})", offers.len()),
            Self::Declined(Value::String(reason)) => format!("declined ({reason})"),
            Self::Declined(_) => "declined".to_owned(),
            Self::Failed(cause) => format!("failed: {cause}"),
        }
    }
}

/// A quote as a client would see it, except that the landing URL is the partner's own.
fn shown(seat: &Seat, quote: &Quote) -> Value {
    let offer = seat.offers.iter().find(|offer| offer.text.fingerprint == quote.text);
    let mut json = Vec::new();
    if let Some(offer) = offer {
        let place =
            OfferPlace { uuid: RATE_TABLE, url: "https://click.example", rank: 1, made_at: NOW * 1000 };
        write_offer(&mut json, quote.own.as_deref().unwrap_or(&offer.text), quote, place);
    }
    let mut shown: Value = serde_json::from_slice(&json).unwrap_or_default();
    shown["landingUrl"] = quote.landing_url.clone().into();
    shown
}

/// Compares the values that `expected` names.
fn compare_part(path: &str, expected: &Value, found: &Value, wrong: &mut Vec<String>) {
    match expected {
        Value::Object(entries) => {
            for (key, expected) in entries {
                compare_part(&format!("{path}.{key}"), expected, &found[key], wrong);
            }
        }
        _ if expected == found => {}
        _ => wrong.push(format!("{path}: expected {expected}, found {found}")),
    }
}
