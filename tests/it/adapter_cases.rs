//! The cases of partners that are asked over HTTP, as files: `tests/partners/<key>/<case>.json`.
//!
//! A case says what a lead makes of a partner's mappings and what an answer means:
//!
//! | key | what it is |
//! |---|---|
//! | `product` | the product type of the seat |
//! | `lead` | the name of a sample lead in `tests/leads`, and `with` what is merged into it |
//! | `test` | whether the lead is a test |
//! | `call` | the expected request: `method`, `url`, `headers` (those that matter), and `json`, `form` or `xml` |
//! | `response` | the answer: `status`, `headers`, and `json`, `xml` or `text` |
//! | `expect` | `offers` (of each the attributes that matter), `declined` (a reason or true), or `failed` (part of the cause) |
//!
//! Secrets are masked as `***`. Ids of lead and rate table are `{lead_uuid}` and `{rate_table_uuid}`.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{NaiveDate, TimeZone, Utc};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use offerd::model::{CreditBands, Lead};
use offerd::partners::catalog::CatalogOffer;
use offerd::partners::http::{Answered, Asked, Given, HttpRequest, Secrets};
use offerd::partners::text::write_offer;
use offerd::partners::{Book, Facts, Seat};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::kit::sample;

const LEAD: Uuid = Uuid::from_u128(0x0198_c1f2_7d5e_7a11_9f3c_2b7d_4e6a_8c01);
const RATE_TABLE: Uuid = Uuid::from_u128(0x0198_c1f2_7d5e_7a11_9f3c_2b7d_4e6a_8000);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    product: String,
    lead: String,
    #[serde(default)]
    with: Value,
    #[serde(default)]
    test: bool,
    call: Option<Call>,
    response: Option<Response>,
    expect: Option<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    method: String,
    url: String,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    json: Option<Value>,
    form: Option<std::collections::BTreeMap<String, String>>,
    xml: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    status: u16,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    json: Option<Value>,
    xml: Option<Vec<String>>,
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Expected {
    Offers(Vec<Value>),
    Declined(Value),
    Failed(String),
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every case with the key of its partner.
fn cases() -> Vec<(String, PathBuf)> {
    let mut cases = Vec::new();
    for partner in fs::read_dir(root().join("tests/partners")).unwrap() {
        let partner = partner.unwrap();
        let key = partner.file_name().into_string().unwrap();
        for case in fs::read_dir(partner.path()).unwrap() {
            cases.push((key.clone(), case.unwrap().path()));
        }
    }
    cases.sort();
    cases
}

#[test]
fn every_case_holds() {
    let book = Book::load(&root().join("partners")).unwrap();
    let mut wrong = Vec::new();
    for (key, path) in cases() {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let case: Case = serde_json::from_str(&fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let of_case = |seat: &&std::sync::Arc<Seat>| {
            seat.identity.key == key && seat.product_type.as_str() == case.product
        };
        let seat = book.seats().iter().find(of_case).unwrap_or_else(|| panic!("{name}: no such seat"));
        wrong.extend(case.run(seat).into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_partner_that_is_asked_over_http_has_cases() {
    let book = Book::load(&root().join("partners")).unwrap();
    let with_cases: Vec<String> = cases().into_iter().map(|(key, _)| key).collect();
    let over_http: Vec<&str> = book
        .seats()
        .iter()
        .filter(|seat| seat.http.is_some())
        .map(|seat| seat.identity.key.as_str())
        .collect();
    assert!(over_http.len() >= 3, "{over_http:?}");
    for key in over_http {
        assert!(with_cases.iter().filter(|known| *known == key).count() >= 3, "{key} has too few cases");
    }
}

impl Case {
    /// All that is not as the case says.
    fn run(&self, seat: &Seat) -> Vec<String> {
        let mut lead: Value = serde_json::from_str(&sample(&self.lead)).unwrap();
        merge(&mut lead, &self.with);
        let lead = Lead::read(lead.to_string().as_bytes()).unwrap();
        let today = NaiveDate::from_ymd_opt(2026, 11, 21).unwrap();
        let facts = Facts::new(&lead, today, CreditBands::CURRENT);
        let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
        let asked = Asked { lead: LEAD, rate_table: RATE_TABLE, test: self.test, now };
        let given = Given::of(&facts, &asked);
        let source = seat.http.as_ref().expect("a case is of a partner over HTTP");

        let mut wrong = Vec::new();
        match (source.request(&given, Secrets::Masked), &self.call) {
            (Ok(Some(request)), Some(call)) => call.compare(&request, &mut wrong),
            (Ok(None), None) | (Ok(Some(_)), None) => {}
            (Ok(None), Some(_)) => wrong.push("the partner is not asked".to_owned()),
            (Err(error), _) => wrong.push(format!("the request cannot be made: {error} ({})", error.detail)),
        }
        if let (Some(response), Some(expected)) = (&self.response, &self.expect) {
            let body = response.body();
            let offers: Vec<&CatalogOffer> = seat.offers.iter().collect();
            let status = StatusCode::from_u16(response.status).unwrap();
            match source.answer(status, &response.headers(), &body, &given, &facts, &offers) {
                Ok((answered, dropped)) => {
                    expected.compare(seat, &answered, &mut wrong);
                    let dropped = dropped
                        .iter()
                        .map(|one| format!("offer {} is dropped: {}", one.position, one.reason));
                    if !wrong.is_empty() {
                        wrong.extend(dropped);
                    }
                }
                Err(error) => match expected {
                    Expected::Failed(cause) if error.to_string().contains(cause.as_str()) => {}
                    _ => wrong.push(format!("the answer cannot be mapped: {error} ({})", error.detail)),
                },
            }
        }
        wrong
    }
}

impl Call {
    fn compare(&self, request: &HttpRequest, wrong: &mut Vec<String>) {
        let filled = |text: &str| {
            text.replace("{lead_uuid}", &LEAD.to_string())
                .replace("{rate_table_uuid}", &RATE_TABLE.to_string())
        };
        let mut same = |what: &str, expected: String, found: String| {
            if expected != found {
                wrong.push(format!("{what}\n  expected {expected}\n  found    {found}"));
            }
        };
        same("method", self.method.clone(), request.method.to_string());
        same("url", filled(&self.url), request.url.clone());
        for (name, value) in &self.headers {
            let found = request.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            same(&format!("header {name}"), filled(value), found.unwrap_or_default());
        }
        if let Some(json) = &self.json {
            let found: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            same("json", filled(&json.to_string()), found.to_string());
        }
        if let Some(form) = &self.form {
            let found: std::collections::BTreeMap<String, String> =
                form_urlencoded::parse(&request.body).into_owned().collect();
            let expected: std::collections::BTreeMap<String, String> =
                form.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
            same("form", format!("{expected:?}"), format!("{found:?}"));
        }
        if let Some(lines) = &self.xml {
            let found = std::str::from_utf8(&request.body).unwrap().trim();
            same("xml", filled(&lines.join("\n")), found.to_owned());
        }
    }
}

impl Response {
    fn body(&self) -> Vec<u8> {
        match (&self.json, &self.xml, &self.text) {
            (Some(json), _, _) => json.to_string().into_bytes(),
            (_, Some(lines), _) => lines.join("\n").into_bytes(),
            (_, _, text) => text.clone().unwrap_or_default().into_bytes(),
        }
    }

    fn headers(&self) -> HeaderMap {
        let headers = self.headers.iter();
        headers
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap()))
            .collect()
    }
}

impl Expected {
    fn compare(&self, seat: &Seat, answered: &Answered, wrong: &mut Vec<String>) {
        match (self, answered) {
            (Self::Offers(expected), Answered::Offers(quotes)) => {
                if expected.len() != quotes.len() {
                    wrong.push(format!("{} offers expected, {} found", expected.len(), quotes.len()));
                }
                for (nth, (expected, quote)) in expected.iter().zip(quotes).enumerate() {
                    let text = seat.offers.iter().find(|offer| offer.text.fingerprint == quote.text).unwrap();
                    let mut shown = Vec::new();
                    write_offer(&mut shown, &text.text.json, quote, RATE_TABLE, "https://click.example");
                    let mut shown: Value = serde_json::from_slice(&shown).unwrap();
                    shown["landingUrl"] = quote.landing_url.clone().into();
                    compare_part(&format!("offers[{nth}]"), expected, &shown, wrong);
                }
            }
            (Self::Declined(reason), Answered::Declined(found)) => {
                let found = found.map_or(Value::from(true), |found| found.as_str().into());
                if *reason != found {
                    wrong.push(format!("declined: {reason} expected, {found} found"));
                }
            }
            (Self::Failed(cause), Answered::Failed(found)) if found.contains(cause.as_str()) => {}
            (_, found) => wrong.push(format!("another outcome: {found:?}")),
        }
    }
}

/// Compares what `expected` names.
fn compare_part(path: &str, expected: &Value, found: &Value, wrong: &mut Vec<String>) {
    match expected {
        Value::Object(entries) => {
            for (key, expected) in entries {
                compare_part(&format!("{path}.{key}"), expected, &found[key], wrong);
            }
        }
        _ if expected == found => {}
        _ => wrong.push(format!("{path}: {expected} expected, {found} found")),
    }
}

/// Merges objects; `null` takes out.
fn merge(into: &mut Value, with: &Value) {
    let (Some(target), Some(source)) = (into.as_object_mut(), with.as_object()) else {
        if !with.is_null() {
            *into = with.clone();
        }
        return;
    };
    for (key, value) in source {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
