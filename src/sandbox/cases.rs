//! What partners answer, read from their case files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::behaviour;

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
pub struct Cases {
    answers: BTreeMap<String, BTreeMap<String, Case>>,
    skipped: Vec<String>,
}

/// What a partner answers in a case.
#[derive(Debug)]
struct Case {
    first: Answer,
    /// What it calls the asking side with, after that.
    callbacks: Vec<Callback>,
    /// To the calls after the first, which name no case: they are known by where they go.
    later: Vec<Later>,
}

/// The answers to equal calls, one after the other and then from the start.
#[derive(Debug)]
struct Later {
    method: String,
    /// What its path ends with.
    ends: Vec<String>,
    answers: Vec<Answer>,
    asked: AtomicUsize,
}

/// A call of the partner's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    /// How long after the first answer.
    pub after: Duration,
    /// The header that its signature stands in, and the key.
    pub signed: Option<(HeaderName, String)>,
    /// What it says.
    pub said: Answer,
}

/// How many segments at the end of a path tell calls apart.
const SEGMENTS: usize = 2;

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
    #[serde(default)]
    calls: Vec<Turn>,
}

/// A call and what is answered to it; or a call of the partner's own, and what it says.
#[derive(Deserialize)]
struct Turn {
    call: Option<Call>,
    callback: Option<DeclaredCallback>,
    response: Response,
}

/// How a partner calls back.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredCallback {
    #[serde(default)]
    after_ms: u64,
    sign: Option<DeclaredSignature>,
}

/// How it signs that: HMAC-SHA256 of the body, in hexadecimal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredSignature {
    header: String,
    key: String,
}

#[derive(Deserialize)]
struct Call {
    method: String,
    url: String,
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
    /// Reads `<directory>/<key>/<case>.json`; what is no case, or has no response, is left out and told.
    ///
    /// # Errors
    /// The first file that cannot be read, and why.
    pub fn load(directory: &Path) -> Result<Self, String> {
        let mut cases = Self::default();
        for partner in entries(directory)? {
            if !partner.is_dir() {
                cases.skip(&partner, "is no directory of a partner");
                continue;
            }
            for file in entries(&partner)? {
                if file.file_name().is_some_and(|name| name == behaviour::FILE) {
                    continue;
                }
                if file.extension().is_none_or(|extension| extension != "json") {
                    cases.skip(&file, "is no `.json`");
                    continue;
                }
                let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
                let text = fs::read(&file).map_err(|error| fault(&error))?;
                let case: CaseFile = serde_json::from_slice(&text).map_err(|error| fault(&error))?;
                match case.read().map_err(|error| fault(&error))? {
                    Some(case) => {
                        drop(cases.answers.entry(name(&partner)).or_default().insert(name(&file), case));
                    }
                    None => cases.skip(&file, "has no `response`"),
                }
            }
        }
        cases.skipped.sort();
        if cases.answers.is_empty() {
            return Err(format!("{} has no cases", directory.display()));
        }
        Ok(cases)
    }

    fn skip(&mut self, path: &Path, reason: &str) {
        self.skipped.push(format!("{} {reason}", path.display()));
    }

    /// The files that answer nothing, each with the reason.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// What a partner calls with after it has answered the first call of a case.
    pub fn callbacks(&self, key: &str, case: &str, answer: &Answer) -> &[Callback] {
        let case = self.answers.get(key).and_then(|cases| cases.get(case));
        let first = case.filter(|case| std::ptr::eq(&raw const case.first, answer));
        first.map_or(&[], |case| &case.callbacks)
    }

    /// How many partners there are.
    pub fn partners(&self) -> usize {
        self.answers.len()
    }

    /// Whether there is such a partner.
    pub fn knows(&self, key: &str) -> bool {
        self.answers.contains_key(key)
    }

    /// The names of all cases by partner.
    pub fn names(&self) -> BTreeMap<&str, Vec<&str>> {
        self.answers
            .iter()
            .map(|(key, cases)| (key.as_str(), cases.keys().map(String::as_str).collect()))
            .collect()
    }

    /// What a partner answers to a request.
    pub fn asked(&self, key: &str, method: &str, path: &str, body: &[u8]) -> Asked<'_> {
        let Some(cases) = self.answers.get(key) else { return Asked::Unknown };
        let wanted = trigger(&String::from_utf8_lossy(body));
        if wanted.is_none() {
            let later = cases.iter().find_map(|(name, case)| Some((name, case.later(method, path)?)));
            if let Some((name, answer)) = later {
                return Asked::Usual(name, answer);
            }
        }
        match (&wanted, cases.get_key_value(wanted.as_deref().unwrap_or(USUAL))) {
            (Some(_), Some((name, case))) => Asked::Named(name, &case.first),
            (None, Some((name, case))) => Asked::Usual(name, &case.first),
            (_, None) => Asked::Unknown,
        }
    }
}

impl CaseFile {
    /// The answers; nothing where there are none.
    fn read(self) -> Result<Option<Case>, String> {
        let mut turns = self.calls.into_iter();
        let first = match (self.response, turns.next()) {
            (Some(response), _) => response,
            (None, Some(turn)) => turn.response,
            (None, None) => return Ok(None),
        };
        let mut case = Case { first: first.answer()?, callbacks: Vec::new(), later: Vec::new() };
        for Turn { call, callback, response } in turns {
            let answer = response.answer()?;
            let Some(Call { method, url }) = call else {
                case.callbacks
                    .push(callback.ok_or("`calls` needs a `call` or a `callback` each")?.saying(answer)?);
                continue;
            };
            let ends = ends(&url);
            match case.later.iter_mut().find(|later| later.is(&method, &ends)) {
                Some(later) => later.answers.push(answer),
                None => {
                    case.later.push(Later { method, ends, answers: vec![answer], asked: AtomicUsize::new(0) })
                }
            }
        }
        Ok(Some(case))
    }
}

impl DeclaredCallback {
    fn saying(self, said: Answer) -> Result<Callback, String> {
        let header =
            |name: &str| HeaderName::try_from(name).map_err(|_| format!("`{name}` is no name of a header"));
        let signed = self.sign.map(|sign| Ok::<_, String>((header(&sign.header)?, sign.key))).transpose()?;
        Ok(Callback { after: Duration::from_millis(self.after_ms), signed, said })
    }
}

impl Case {
    fn later(&self, method: &str, path: &str) -> Option<&Answer> {
        let ends = ends(path);
        let later = self.later.iter().find(|later| later.is(method, &ends))?;
        later.answers.get(later.asked.fetch_add(1, Ordering::Relaxed) % later.answers.len())
    }
}

impl Later {
    fn is(&self, method: &str, ends: &[String]) -> bool {
        self.method == method && self.ends == ends
    }
}

/// The last segments of the path of an address.
fn ends(url: &str) -> Vec<String> {
    let url = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').skip(1).filter(|segment| !segment.is_empty()).collect();
    segments[segments.len().saturating_sub(SEGMENTS)..].iter().map(|segment| (*segment).to_owned()).collect()
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
    use std::fs;

    use serde_json::json;

    use super::{Asked, Cases, trigger};

    #[test]
    fn what_answers_nothing_is_named_with_the_reason() {
        let directory = tempfile::tempdir().unwrap();
        let lender = directory.path().join("lender");
        fs::create_dir(&lender).unwrap();
        for (file, text) in [
            ("offers.json", r#"{"response": {"status": 200, "text": "ok"}}"#),
            ("asked.json", r#"{"product": "loan"}"#),
            ("notes.md", "Notes."),
        ] {
            fs::write(lender.join(file), text).unwrap();
        }
        fs::write(directory.path().join("README.md"), "Cases.").unwrap();
        let cases = Cases::load(directory.path()).unwrap();
        assert_eq!(cases.names()["lender"], ["offers"]);
        let told: Vec<&str> = cases.skipped().iter().map(|told| told.rsplit('/').next().unwrap()).collect();
        assert_eq!(
            told,
            [
                "README.md is no directory of a partner",
                "asked.json has no `response`",
                "notes.md is no `.json`"
            ]
        );
    }

    #[test]
    fn later_calls_are_known_by_where_they_go_and_answered_in_their_order() {
        let directory = tempfile::tempdir().unwrap();
        let lender = directory.path().join("lender");
        fs::create_dir(&lender).unwrap();
        let call = |method: &str, url: &str, text: &str| json!({"call": {"method": method, "url": url}, "response": {"status": 200, "text": text}});
        let status = "https://lender.example/v1/applications/A-1";
        let calls = [
            call("POST", "https://lender.example/v1/applications", "A-1"),
            call("GET", status, "wait"),
            call("GET", status, "done"),
        ];
        fs::write(lender.join("offers.json"), json!({"calls": calls}).to_string()).unwrap();
        let cases = Cases::load(directory.path()).unwrap();
        let asked = |method, path| match cases.asked("lender", method, path, b"") {
            Asked::Usual("offers", answer) => String::from_utf8_lossy(&answer.body).into_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(asked("POST", "/lender/applications"), "A-1");
        let polled = [(); 3].map(|()| asked("GET", "/lender/applications/A-1"));
        assert_eq!(polled, ["wait", "done", "wait"]);
    }

    #[test]
    fn a_trigger_is_found_in_bodies_of_all_kinds() {
        for body in [r#"{"name":"case:low_fico"}"#, "n=case%3Alow_fico&x=1", "<n>case:low_fico</n>"] {
            assert_eq!(trigger(body).as_deref(), Some("low_fico"), "{body}");
        }
        assert_eq!(trigger("a suitcase"), None);
    }
}
