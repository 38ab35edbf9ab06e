//! The answers of partners, read from their case files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::HeaderMap;
use serde::Deserialize;

use super::behaviour;
use offerd_partners::case::{self, CaseCall, CaseCallback, CaseExchange, Response, Sign};

/// The case that answers if the request names none.
const USUAL: &str = "offers";

/// How a request names a case, plain and form-encoded.
const TRIGGERS: [&str; 2] = ["case:", "case%3A"];

pub type SimulatedAnswer = hyper::Response<Bytes>;

/// The answers of every partner by case.
#[derive(Debug, Default)]
pub struct SandboxCases {
    answers: BTreeMap<String, BTreeMap<String, SandboxCase>>,
    /// The skipped files, each with the reason.
    pub skipped: Vec<String>,
    /// Number of cases begun, over all partners.
    begun: AtomicU64,
}

#[derive(Debug)]
struct SandboxCase {
    first: SimulatedAnswer,
    /// Callbacks it makes after the call that gives their address.
    callbacks: Vec<SimulatedCallback>,
    /// Answers to the calls after the first, recognised by their path.
    later: Vec<LaterAnswers>,
    begun: AtomicU64,
}

#[derive(Debug)]
struct LaterAnswers {
    method: String,
    ends: Vec<String>,
    answers: Vec<SimulatedAnswer>,
    asked: AtomicUsize,
}

/// A callback of the partner.
#[derive(Debug, Clone)]
pub struct SimulatedCallback {
    /// Delay after the answer to the call that gives the address.
    pub after: Duration,
    /// How it is signed.
    pub sign: Option<Sign>,
    /// Its headers and body.
    pub said: SimulatedAnswer,
}

/// Number of trailing path segments that distinguish calls.
const SEGMENTS: usize = 2;

/// The answer to a request.
#[derive(Debug)]
pub struct CaseAnswer<'c> {
    /// The case.
    pub case: &'c str,
    /// Whether the request names the case, or is a later call of a case begun by name.
    pub named: bool,
    /// The answer to send.
    pub answer: &'c SimulatedAnswer,
    /// The partner's callbacks, made if the request gives an address.
    pub callbacks: &'c [SimulatedCallback],
}

#[derive(Deserialize)]
struct SandboxCaseFile {
    call: Option<CaseCall>,
    response: Option<Response>,
    #[serde(default)]
    calls: Vec<CaseExchange>,
}

impl SandboxCases {
    /// Reads `<directory>/<key>/<case>.json`; skips and lists files that are no case, skips those without a
    /// response. The error is a file's.
    pub fn load(directory: &Path) -> Result<Self, String> {
        let mut cases = Self::default();
        for partner in case::entries(directory)? {
            if !partner.is_dir() {
                cases.skip(&partner, "is not a partner's directory");
                continue;
            }
            let declared = behaviour::read(&partner)?;
            for file in case::entries(&partner)? {
                if file.file_name().is_some_and(|name| name == behaviour::FILE) {
                    continue;
                }
                if file.extension().is_none_or(|extension| extension != "json") {
                    cases.skip(&file, "is not a `.json` file");
                    continue;
                }
                let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
                let text = fs::read(&file).map_err(|error| fault(&error))?;
                let case: SandboxCaseFile = case::read(&text).map_err(|error| fault(&error))?;
                // A case without a response tests the request alone.
                if let Some(case) = case.read(&declared.secrets).map_err(|error| fault(&error))? {
                    cases.answers.entry(name(&partner)).or_default().insert(name(&file), case);
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

    /// The number of partners.
    pub fn partners(&self) -> usize {
        self.answers.len()
    }

    /// Whether a partner exists.
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

    /// The answer of a partner to a request. One that names a case begins it, unless its path matches only a
    /// later call of it; any other continues the case begun last.
    pub fn asked(&self, key: &str, method: &str, target: &str, body: &[u8]) -> Option<CaseAnswer<'_>> {
        let cases = self.answers.get(key)?;
        let wanted = trigger(target).or_else(|| trigger(&String::from_utf8_lossy(body)));
        let path = target.split('?').next().unwrap_or_default();
        let path = path.strip_prefix('/').and_then(|path| path.strip_prefix(key)).unwrap_or(path);
        let begun = |case: &SandboxCase| case.begun.load(Ordering::Relaxed);
        let later = cases.iter().filter(|(_, case)| case.goes_on(method, path).is_some());
        let (name, case) = match &wanted {
            Some(wanted) => cases.get_key_value(wanted)?,
            None => later
                .max_by_key(|(name, case)| (begun(case), std::cmp::Reverse(*name)))
                .or_else(|| cases.get_key_value(USUAL))?,
        };
        let named = wanted.is_some() || name != USUAL && begun(case) > 0;
        let answer = case.later(method, path).unwrap_or_else(|| self.begin(case));
        Some(CaseAnswer { case: name, named, answer, callbacks: &case.callbacks })
    }

    fn begin<'c>(&self, case: &'c SandboxCase) -> &'c SimulatedAnswer {
        case.begun.store(self.begun.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        &case.first
    }
}

impl SandboxCaseFile {
    /// The answers of the file; `None` if it has no first response.
    fn read(self, secrets: &BTreeMap<String, String>) -> Result<Option<SandboxCase>, String> {
        let mut exchanges: Vec<CaseExchange> = self.calls;
        let only = CaseExchange { call: self.call, response: self.response, callback: None };
        if only.response.is_some() {
            exchanges.insert(0, only);
        }
        let mut exchanges = exchanges.into_iter().enumerate();
        let Some((_, CaseExchange { call: asked, response: Some(first), .. })) = exchanges.next() else {
            return Ok(None);
        };
        let first = answer(&first)?;
        let mut case = SandboxCase { first, callbacks: vec![], later: vec![], begun: AtomicU64::new(0) };
        for (nth, CaseExchange { call, callback, response }) in exchanges {
            let placed = |fault: String| format!("`calls[{nth}]`: {fault}");
            let said = response.ok_or_else(|| placed("has no `response`".to_owned()))?;
            let said = answer(&said).map_err(placed)?;
            match (call, callback) {
                (Some(call), _) => case.goes_on_with(&call, said),
                (None, Some(callback)) => {
                    case.callbacks
                        .push(SimulatedCallback::declared(callback, said, secrets).map_err(placed)?);
                }
                (None, None) => return Err(placed("needs a `call` or a `callback`".to_owned())),
            }
        }
        asked.iter().for_each(|asked| case.begins_at(asked));
        Ok(Some(case))
    }
}

impl SimulatedCallback {
    fn declared(
        callback: CaseCallback,
        said: SimulatedAnswer,
        secrets: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let calling = Self { after: Duration::from_millis(callback.after_ms), sign: callback.sign, said };
        calling.signed(secrets).map(|_| calling).map_err(|fault| format!("`callback`: {fault}"))
    }

    /// Its headers and body, as sent, or why it cannot be signed.
    pub fn signed(&self, secrets: &BTreeMap<String, String>) -> Result<(HeaderMap, Bytes), String> {
        let (headers, body) = (self.said.headers(), self.said.body());
        let Some(sign) = &self.sign else { return Ok((headers.clone(), body.clone())) };
        let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let (headers, body) = sign.signed((headers, body), &now, Some(secrets))?;
        Ok((headers, body.into()))
    }
}

impl SandboxCase {
    fn goes_on_with(&mut self, call: &CaseCall, answer: SimulatedAnswer) {
        let ends = ends(&call.url);
        match self.later.iter_mut().find(|later| later.is(&call.method, &ends)) {
            Some(later) => later.answers.push(answer),
            None => self.later.push(LaterAnswers {
                method: call.method.clone(),
                ends,
                answers: vec![answer],
                asked: AtomicUsize::new(0),
            }),
        }
    }

    /// Puts the first answer before those to later calls with the same path as the first call.
    fn begins_at(&mut self, call: &CaseCall) {
        let ends = ends(&call.url);
        if let Some(same) = self.later.iter_mut().find(|later| later.is(&call.method, &ends)) {
            same.answers.insert(0, self.first.clone());
        }
    }

    fn goes_on(&self, method: &str, path: &str) -> Option<&LaterAnswers> {
        let ends = ends(path);
        self.later.iter().find(|later| later.is(method, &ends))
    }

    fn later(&self, method: &str, path: &str) -> Option<&SimulatedAnswer> {
        let later = self.goes_on(method, path)?;
        let nth = later.asked.fetch_add(1, Ordering::Relaxed) % later.answers.len();
        Some(&later.answers[nth])
    }
}

impl LaterAnswers {
    fn is(&self, method: &str, ends: &[String]) -> bool {
        let equal = self.ends.iter().rev().zip(ends.iter().rev()).all(|(one, other)| one == other);
        self.method == method && self.ends.is_empty() == ends.is_empty() && equal
    }
}

fn ends(url: &str) -> Vec<String> {
    let url = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').skip(1).filter(|segment| !segment.is_empty()).collect();
    segments[segments.len().saturating_sub(SEGMENTS)..].iter().map(|segment| (*segment).to_owned()).collect()
}

fn trigger(text: &str) -> Option<String> {
    let rest = TRIGGERS.iter().find_map(|trigger| text.split_once(trigger))?.1;
    Some(rest.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect())
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn answer(response: &Response) -> Result<SimulatedAnswer, String> {
    let (status, headers) = response.head()?;
    let mut answer = SimulatedAnswer::new(response.body().into());
    (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::{SandboxCases, trigger};

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
        let cases = SandboxCases::load(directory.path()).unwrap();
        assert_eq!(cases.names()["lender"], ["offers"]);
        let told: Vec<&str> = cases.skipped.iter().map(|told| told.rsplit('/').next().unwrap()).collect();
        assert_eq!(told, ["README.md is not a partner's directory", "notes.md is not a `.json` file"]);
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
        let calls =
            [call("POST", "https://lender.example/v1/applications", "A-1"), call("GET", status, "never")];
        fs::write(lender.join("declined.json"), json!({"calls": calls}).to_string()).unwrap();
        let cases = SandboxCases::load(directory.path()).unwrap();
        let asked = |method, target, body: &str| {
            let asked = cases.asked("lender", method, target, body.as_bytes());
            let asked = asked.unwrap_or_else(|| panic!("{target} is unknown"));
            String::from_utf8_lossy(asked.answer.body()).into_owned()
        };
        assert_eq!(asked("POST", "/lender/applications", ""), "A-1");
        let poll = || asked("GET", "/lender/applications/A-1", "");
        assert_eq!([poll(), poll(), poll()], ["wait", "done", "wait"]);
        assert_eq!(asked("POST", "/lender/applications", "case:declined"), "A-1");
        assert_eq!(poll(), "never", "what is asked of a case that was asked for stays with it");
        assert_eq!(asked("POST", "/lender/applications", ""), "A-1");
        assert_eq!(poll(), "done");
        assert_eq!(asked("GET", "/lender/applications/A-1?name=case%3Adeclined", ""), "never");
    }

    #[test]
    fn the_post_of_a_ping_is_known_by_the_one_word_that_its_address_ends_with() {
        let directory = tempfile::tempdir().unwrap();
        let buyer = directory.path().join("buyer");
        fs::create_dir(&buyer).unwrap();
        let call = |url: &str, text: &str| json!({"call": {"method": "POST", "url": url}, "response": {"status": 200, "text": text}});
        let calls = [call("https://buyer.example/ping", "a bid"), call("https://buyer.example/post", "sold")];
        fs::write(buyer.join("offers.json"), json!({"calls": calls}).to_string()).unwrap();
        let cases = SandboxCases::load(directory.path()).unwrap();
        for (target, text) in [("/buyer/ping", "a bid"), ("/buyer/post", "sold"), ("/buyer/v2/post", "sold")]
        {
            let asked = cases.asked("buyer", "POST", target, b"").unwrap();
            assert!(!asked.named && asked.answer.body() == text, "{target}");
        }
    }

    #[test]
    fn a_trigger_is_found_in_bodies_of_all_kinds() {
        for body in [r#"{"name":"case:low_fico"}"#, "n=case%3Alow_fico&x=1", "<n>case:low_fico</n>"] {
            assert_eq!(trigger(body).as_deref(), Some("low_fico"), "{body}");
        }
        assert_eq!(trigger("a suitcase"), None);
    }
}
