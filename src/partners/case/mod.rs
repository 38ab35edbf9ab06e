//! Test cases of partners that are asked over HTTP, as files: `<cases>/<key>/<case>.json`.
//!
//! A case states the requests that a partner's mappings make, and the offers that they read from answers:
//!
//! | key | meaning |
//! |---|---|
//! | `product` | product type of the seat |
//! | `lead` | the lead, or the name of its file `<leads>/<name>.json`; `with` is merged into it |
//! | `test` | whether it is a test lead |
//! | `call` | expected request: `method`, `url`, `headers` (a subset), `json` or `form` or `xml` |
//! | `response` | the answer: `status`, `headers`, and `json`, `xml` or `text` |
//! | `calls` | in place of both for several calls: a list of `call` and `response` |
//! | `expect` | `offers` (attributes to check), `declined` (reason or true) or `failed` (part of the cause) |
//!
//! In `calls`, a call that the partner makes to us has `callback` in place of `call`: how it is signed, and
//! the expected result.
//!
//! Secrets are masked as `***`. The ids of lead, rate table and ask are `{lead_uuid}`, `{rate_table_uuid}`
//! and `{ask_uuid}`, the callback address is `{callback_url}`, and a `nonce` is all zeros. The time is noon
//! of 2026-11-21, UTC. Every offer of the file counts as eligible.

mod callback;
mod expected;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

pub use self::callback::{CaseCallback, Sign};
use self::expected::CaseExpectation;
pub use self::expected::{CaseCall, Response};
use self::trial::Trial;
use crate::http::{AskContext, MappingInput};
use crate::{Book, Facts, Seat};
use offerd_model::{CreditBands, Lead, UnreadableBody};

const LEAD: Uuid = Uuid::from_u128(0x0198_c1f2_7d5e_7a11_9f3c_2b7d_4e6a_8c01);

const RATE_TABLE: Uuid = Uuid::from_u128(0x0198_c1f2_7d5e_7a11_9f3c_2b7d_4e6a_8000);

/// Callback address of every case.
const CALLBACK: &str = "https://offerd.example/callbacks/0198c1f2-7d5e-8a11-9f3c-2b7d4e6a8c04";

/// `NOW` as mappings see it.
const NOON: &str = "2026-11-21T12:00:00.000Z";

/// Time of every case, Unix seconds.
const NOW: i64 = 1_795_262_400;

/// Location of a case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseFile {
    /// Key of the partner.
    pub partner: String,
    /// Name of the case.
    pub name: String,
    path: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartnerCase {
    product: String,
    lead: Value,
    #[serde(default)]
    with: Value,
    #[serde(default)]
    test: bool,
    call: Option<CaseCall>,
    response: Option<Response>,
    #[serde(default)]
    calls: Vec<CaseExchange>,
    expect: Option<CaseExpectation>,
}

/// A call and its response, or a callback from the partner.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaseExchange {
    /// The expected request to the partner.
    pub call: Option<CaseCall>,
    /// The partner's callback.
    pub callback: Option<CaseCallback>,
    /// The partner's response, or the body of its callback.
    pub response: Option<Response>,
}

/// Parses a case, or the part of it that `C` names.
///
/// # Errors
/// The fault, by key and line.
pub fn read<C: DeserializeOwned>(text: &[u8]) -> Result<C, String> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read =
        serde_path_to_error::deserialize(&mut reader).map_err(|error| match error.path().to_string() {
            path if path == "." => error.inner().to_string(),
            path => format!("`{path}` {}", error.inner()),
        })?;
    reader.end().map(|()| read).map_err(|error| error.to_string())
}

impl CaseFile {
    /// Every case of a directory, or those of one partner.
    ///
    /// # Errors
    /// A directory that cannot be read.
    pub fn all(directory: &Path, partner: Option<&str>) -> Result<Vec<Self>, String> {
        let mut files = Vec::new();
        for folder in entries(directory)?.into_iter().filter(|folder| folder.is_dir()) {
            let key = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if partner.is_some_and(|partner| partner != key) {
                continue;
            }
            let of_partner = entries(&folder)?.into_iter();
            let cases = of_partner.filter(|path| path.extension().is_some_and(|kind| kind == "json"));
            files.extend(cases.map(|path| {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                Self { partner: key.clone(), name, path }
            }));
        }
        files.sort();
        Ok(files)
    }

    /// Runs the case and lists every difference from its expectations; `leads` is the directory of lead
    /// files. Shows values of the case, which are fictitious.
    pub fn differences(&self, book: &Book, leads: &Path) -> Vec<String> {
        self.run(book, leads).unwrap_or_else(|fault| vec![fault])
    }

    fn run(&self, book: &Book, leads: &Path) -> Result<Vec<String>, String> {
        let text = fs::read(&self.path).map_err(|error| format!("cannot be read: {error}"))?;
        let case: PartnerCase = read(&text).map_err(|fault| format!("is not a valid case: {fault}"))?;
        let is_meant = |seat: &&std::sync::Arc<Seat>| {
            seat.identity.key == self.partner && seat.product_type.as_str() == case.product
        };
        let seat = book.seats().iter().find(is_meant);
        let seat =
            seat.ok_or_else(|| format!("`{}` has no product type `{}`", self.partner, case.product))?;
        case.differences(seat, leads)
    }
}

impl PartnerCase {
    fn differences(mut self, seat: &Seat, leads: &Path) -> Result<Vec<String>, String> {
        let source = seat.http.as_ref().ok_or("the partner has no `http`, so there is nothing to try")?;
        let lead = self.lead(leads)?;
        let now = DateTime::<Utc>::from_timestamp(NOW, 0).unwrap_or_default();
        let facts = Facts::new(&lead, now, CreditBands::Current);
        let given = MappingInput::of(
            &facts,
            &AskContext { lead: LEAD, rate_table: RATE_TABLE, test: self.test, now },
        );
        let turns = self.turns()?;
        let mut trial = Trial::of(seat, source, &given, &facts);
        for (nth, turn) in turns.iter().enumerate() {
            trial.turn(turn)?;
            if nth + 1 == turns.len() {
                trial.end(self.expect.as_ref());
            }
            if !trial.wrong.is_empty() {
                break;
            }
        }
        let placed = |wrong: String| format!("call {}: {wrong}", trial.turns);
        let wrong = trial.wrong.into_iter();
        Ok(if turns.len() > 1 { wrong.map(placed).collect() } else { wrong.collect() })
    }

    fn turns(&mut self) -> Result<Vec<CaseExchange>, String> {
        let only = CaseExchange { call: self.call.take(), response: self.response.take(), callback: None };
        match (only.call.is_none() && only.response.is_none(), self.calls.is_empty()) {
            (_, true) => Ok(vec![only]),
            (true, false) => Ok(std::mem::take(&mut self.calls)),
            (false, false) => {
                Err("`calls` conflicts with `call` and `response`; each call has its own".to_owned())
            }
        }
    }

    fn lead(&self, leads: &Path) -> Result<Lead, String> {
        let mut lead = match &self.lead {
            Value::String(name) => {
                let path = leads.join(format!("{name}.json"));
                let text = fs::read(&path);
                let text = text.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
                serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))?
            }
            lead => lead.clone(),
        };
        merge(&mut lead, &self.with);
        Lead::read(lead.to_string().as_bytes()).map_err(|unreadable| {
            let faults = match unreadable {
                UnreadableBody::NotJson(fault) => vec![fault],
                UnreadableBody::Faults(faults) => faults,
            };
            let told = faults.into_iter().map(|fault| {
                let path = fault.attribute.map_or_else(String::new, |attribute| format!(".{attribute}"));
                format!("`lead{path}` {}", fault.message.unwrap_or_default())
            });
            told.collect::<Vec<_>>().join("\n")
        })
    }
}

/// Fills the placeholders of a case with its ids.
fn filled(ask: Uuid, text: &str) -> String {
    let text = text.replace("{ask_uuid}", &ask.to_string()).replace("{callback_url}", CALLBACK);
    text.replace("{lead_uuid}", &LEAD.to_string()).replace("{rate_table_uuid}", &RATE_TABLE.to_string())
}

/// The paths in a directory.
///
/// # Errors
/// The directory cannot be read.
pub fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let fault = |error| format!("{} cannot be read: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(fault)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(fault)).collect()
}

/// Merges objects; `null` removes a key.
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
