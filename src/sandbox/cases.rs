//! What partners answer, read from their case files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;

/// The case that answers when none is asked for.
const USUAL: &str = "offers";

/// How a request asks for a case, as it is and as forms encode it.
const TRIGGERS: [&str; 2] = ["case:", "case%3A"];

/// An answer, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// The answers of every partner by case.
#[derive(Debug, Default)]
pub struct Cases(BTreeMap<String, BTreeMap<String, Answer>>);

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked<'c> {
    /// A case by its name.
    Named(&'c str, &'c Answer),
    /// Nothing in particular.
    Usual(&'c str, &'c Answer),
    /// What there is not.
    Unknown,
}

/// The part of a case file that is of interest here.
#[derive(Deserialize)]
struct CaseFile {
    response: Option<Response>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    json: Option<Value>,
    xml: Option<Vec<String>>,
    text: Option<String>,
}

impl Cases {
    /// Reads `<directory>/<key>/<case>.json`; cases without a response are left out.
    ///
    /// # Errors
    /// The first file that cannot be read, and why.
    pub fn load(directory: &Path) -> Result<Self, String> {
        let mut cases = Self::default();
        for partner in entries(directory)? {
            if !partner.is_dir() {
                continue;
            }
            for file in entries(&partner)? {
                if file.extension().is_none_or(|extension| extension != "json") {
                    continue;
                }
                let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
                let text = fs::read(&file).map_err(|error| fault(&error))?;
                let case: CaseFile = serde_json::from_slice(&text).map_err(|error| fault(&error))?;
                if let Some(response) = case.response {
                    let answer = response.answer().map_err(|error| fault(&error))?;
                    cases.0.entry(name(&partner)).or_default().insert(name(&file), answer);
                }
            }
        }
        if cases.0.is_empty() {
            return Err(format!("{} has no cases", directory.display()));
        }
        Ok(cases)
    }

    /// How many partners there are.
    pub fn partners(&self) -> usize {
        self.0.len()
    }

    /// Whether there is such a partner.
    pub fn knows(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The names of all cases by partner.
    pub fn names(&self) -> BTreeMap<&str, Vec<&str>> {
        self.0.iter().map(|(key, cases)| (key.as_str(), cases.keys().map(String::as_str).collect())).collect()
    }

    /// What a partner answers to a body.
    pub fn asked(&self, key: &str, body: &[u8]) -> Asked<'_> {
        let Some(cases) = self.0.get(key) else { return Asked::Unknown };
        let wanted = trigger(&String::from_utf8_lossy(body));
        match (&wanted, cases.get_key_value(wanted.as_deref().unwrap_or(USUAL))) {
            (Some(_), Some((name, answer))) => Asked::Named(name, answer),
            (None, Some((name, answer))) => Asked::Usual(name, answer),
            (_, None) => Asked::Unknown,
        }
    }
}

/// The name that follows a trigger.
fn trigger(body: &str) -> Option<String> {
    let rest = TRIGGERS.iter().find_map(|trigger| body.split_once(trigger))?.1;
    Some(rest.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect())
}

fn entries(directory: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let fault = |error| format!("{} cannot be read: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(fault)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(fault)).collect()
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

impl Response {
    fn answer(self) -> Result<Answer, String> {
        let status = StatusCode::from_u16(self.status).map_err(|_| "`response.status` is no status")?;
        let (kind, body) = match (self.json, self.xml, self.text) {
            (Some(json), _, _) => ("application/json", json.to_string()),
            (_, Some(lines), _) => ("application/xml", lines.join("\n")),
            (_, _, text) => ("text/plain", text.unwrap_or_default()),
        };
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
        for (name, value) in &self.headers {
            let header = (HeaderName::try_from(name), HeaderValue::try_from(value));
            let (Ok(name), Ok(value)) = header else {
                return Err(format!("`response.headers.{name}` is no header"));
            };
            headers.insert(name, value);
        }
        Ok(Answer { status, headers, body: body.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::trigger;

    #[test]
    fn a_trigger_is_found_in_bodies_of_all_kinds() {
        for body in [r#"{"name":"case:low_fico"}"#, "n=case%3Alow_fico&x=1", "<n>case:low_fico</n>"] {
            assert_eq!(trigger(body).as_deref(), Some("low_fico"), "{body}");
        }
        assert_eq!(trigger("a suitcase"), None);
    }
}
