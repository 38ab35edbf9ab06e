//! Redaction of personal data from a transcript.
//!
//! In a request every value is masked. In an answer only values that cannot be personal stay: flags, numbers,
//! and words of the partner's own file, unless they are part of the lead's data.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use offerd_engine::rate_table::transcript::CallInitiator;
use offerd_engine::records::transcripts::{AskTranscript, ShownMessage};
use offerd_model::{Attribute, AttributeValue, Lead};
use offerd_partners::http::{HttpPartner, document};

const MASKED: &str = "•••";

/// Headers whose values describe only the message.
const HEADERS: [&str; 6] =
    ["cache-control", "content-encoding", "content-length", "content-type", "date", "retry-after"];

/// The most digits of an unmasked number, name or part of a URL: more could identify a person.
const DIGITS: usize = 6;

pub(super) struct Redaction {
    /// The lead's values, including numbers, reduced to letters and digits.
    personal: Vec<String>,
    /// The lead's numbers, of whatever length.
    numbers: Vec<f64>,
    /// Words of the partner's file.
    words: BTreeSet<String>,
}

impl Redaction {
    pub(super) fn of(lead: &Lead, source: Option<&HttpPartner>) -> Self {
        let values: Vec<AttributeValue> =
            Attribute::all().iter().filter_map(|attribute| attribute.read(lead)).collect();
        let numbers = values.iter().filter_map(|value| match value {
            AttributeValue::Number(number) => Some(*number),
            _ => None,
        });
        let numbers = numbers.collect();
        let texts = values.into_iter().flat_map(|value| match value {
            AttributeValue::Text(text) => vec![text.to_owned()],
            AttributeValue::Texts(texts) => texts.to_vec(),
            AttributeValue::Number(number) => vec![number.to_string()],
            AttributeValue::Date(date) => vec![date.to_string(), date.format("%m%d%Y").to_string()],
            AttributeValue::Uuid(uuid) => vec![uuid.to_string()],
            AttributeValue::Category(_) | AttributeValue::Flag(_) | AttributeValue::Set(_) => Vec::new(),
        });
        let personal = texts.map(|text| bare(&text)).filter(|text| text.len() > 1).collect();
        let words = source.map(HttpPartner::words).unwrap_or_default();
        Self { personal, numbers, words: words.into_iter().collect() }
    }

    pub(super) fn redact(&self, ask: &mut AskTranscript) {
        for call in &mut ask.calls {
            call.url = self.url(&call.url);
            // A call from a partner to us is an answer too.
            self.message(&mut call.sent, call.by == CallInitiator::Offerd);
            call.came.iter_mut().for_each(|came| self.message(came, false));
        }
    }

    fn message(&self, message: &mut ShownMessage, is_request: bool) {
        let content_type = message.headers.iter().find(|(name, _)| name == "content-type");
        let content_type = content_type.and_then(|(_, value)| value.clone());
        for (name, value) in &mut message.headers {
            *value = value.take().filter(|value| HEADERS.contains(&&name[..]) && !self.is_personal(value));
        }
        if message.body.is_empty() {
            return;
        }
        message.body = match outline(content_type.as_deref(), message.body.as_bytes()) {
            None => MASKED.to_owned(),
            Some(mut value) => {
                self.mask(&mut value, is_request);
                serde_json::to_string_pretty(&value).unwrap_or_else(|_| MASKED.to_owned())
            }
        };
    }

    /// Keeps scheme, host, path and the names of the query.
    fn url(&self, url: &str) -> String {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, rest) = address.split_once("://").map_or(("", address), |(scheme, rest)| (scheme, rest));
        let mut parts = rest.split('/');
        // Without a user and a password.
        let host = parts.next().and_then(|host| host.rsplit('@').next()).unwrap_or_default();
        let is_name = |part: &str| {
            let mut decoded = form_urlencoded::parse(part.as_bytes());
            self.is_name(part) && decoded.all(|(name, value)| self.is_name(&name) && self.is_name(&value))
        };
        let shown = parts.map(|part| if is_name(part) { part } else { MASKED });
        let path: String = shown.map(|part| format!("/{part}")).collect();
        let names: Vec<String> =
            form_urlencoded::parse(query.as_bytes()).map(|(name, _)| format!("{name}={MASKED}")).collect();
        let query = if names.is_empty() { String::new() } else { format!("?{}", names.join("&")) };
        let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
        format!("{scheme}{host}{path}{query}")
    }

    fn mask(&self, value: &mut Value, is_request: bool) {
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask(value, is_request)),
            Value::Object(members) => {
                let named = std::mem::take(members).into_iter().enumerate();
                let masked = named.map(|(nth, (name, mut value))| {
                    self.mask(&mut value, is_request);
                    (if self.is_name(&name) { name } else { format!("{MASKED}{nth}") }, value)
                });
                *members = masked.collect::<Map<String, Value>>();
            }
            Value::Null => {}
            _ if is_request => *value = MASKED.into(),
            Value::Bool(_) => {}
            Value::Number(number) => {
                if !self.is_shown(&number.to_string()) {
                    *value = MASKED.into();
                }
            }
            Value::String(text) => {
                let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
                let is_word = self.words.contains(text.as_str());
                if !((is_number || is_word) && self.is_shown(text)) {
                    *value = MASKED.into();
                }
            }
        }
    }

    /// Whether a name, or a part of a URL, is not personal. Words that a lead also contains are common there.
    fn is_name(&self, text: &str) -> bool {
        let bare = bare(text);
        let is_personal =
            |personal: &String| *personal == bare || (personal.len() > 4 && bare.contains(personal.as_str()));
        digits(text) <= DIGITS && !self.personal.iter().any(is_personal)
    }

    /// Whether a value is not personal, and too short for an identifying number.
    fn is_shown(&self, text: &str) -> bool {
        digits(text) <= DIGITS && !self.is_personal(text)
    }

    fn is_personal(&self, text: &str) -> bool {
        if text.trim().parse::<f64>().is_ok_and(|number| self.numbers.contains(&number)) {
            return true;
        }
        // A part of a number identifies with fewer letters than a part of a word.
        let part = if text.bytes().all(|letter| letter.is_ascii_digit()) { 3 } else { 4 };
        let text = bare(text);
        self.personal.iter().any(|personal| {
            *personal == text
                || (personal.len() > 2 && text.contains(personal.as_str()))
                || (text.len() >= part && personal.contains(&text))
        })
    }
}

fn digits(text: &str) -> usize {
    text.chars().filter(char::is_ascii_digit).count()
}

fn bare(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A body as JSON; `None` if it is no table of names, or incomplete.
fn outline(content_type: Option<&str>, body: &[u8]) -> Option<Value> {
    if content_type.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
        let fields = form_urlencoded::parse(body);
        return Some(Value::Object(
            fields.map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect(),
        ));
    }
    let value = serde_json::to_value(document::read(content_type, body, |_| true).ok()?).ok()?;
    (value.is_object() || value.is_array()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction() -> Redaction {
        let lead = br#"{"personalInformation": {"firstName": "Maren", "ssn": "536-22-8714", "city": "Yakima",
            "dateOfBirth": "1985-04-12"}, "loanInformation": {"loanAmount": 10000},
            "autoInsuranceInformation": {"numberOfVehicles": 2}}"#;
        let words = ["APPROVED".to_owned(), "Maren".to_owned()].into();
        Redaction { words, ..Redaction::of(&Lead::read(lead).unwrap(), None) }
    }

    fn shown(kind: &str, body: &str, is_request: bool) -> String {
        let headers = vec![("content-type".to_owned(), Some(kind.to_owned()))];
        let mut message = ShownMessage { headers, body: body.into(), bytes: 9, cut: false };
        redaction().message(&mut message, is_request);
        message.body.split_whitespace().collect()
    }

    #[test]
    fn of_a_request_names_are_shown_and_nothing_else() {
        let masked = r#"{"a":{"b":"•••","c":["•••",null]}}"#;
        assert_eq!(shown("application/json", r#"{"a":{"b":1,"c":["x",null]}}"#, true), masked);
        assert_eq!(
            shown("text/xml", "<r><a>Maren</a><b x='1'/></r>", true),
            r#"{"a":"•••","b":{"@x":"•••"}}"#
        );
        let form = "application/x-www-form-urlencoded";
        assert_eq!(shown(form, "ssn=536&a=b", true), r#"{"a":"•••","ssn":"•••"}"#);
        assert_eq!(shown("text/plain", "Maren", true), MASKED);
        assert_eq!(shown("application/json", r#"{"cut": "#, true), MASKED);
    }

    #[test]
    fn of_an_answer_only_what_can_be_nobodys_is_shown() {
        let answer = r#"{"status": "APPROVED", "apr": 9.25, "rate": "7.5", "ok": true,
            "name": "Maren", "hello": "Dear MAREN", "last4": 8714, "text": "a lender", "ssn": "536228714",
            "born": "04/12/1985", "account": 12345678, "same": [2, 2.0, "2", "2e0", 10000, "1e4", 536, "714", 3]}"#;
        let masked = r#"{"account":"•••","apr":9.25,"born":"•••","hello":"•••","last4":"•••","name":"•••","ok":true,"rate":"7.5","same":["•••","•••","•••","•••","•••","•••","•••","•••",3],"ssn":"•••","status":"APPROVED","text":"•••"}"#;
        assert_eq!(shown("application/json", answer, false), masked);
        assert_eq!(shown("application/json", r#"{"Maren": 1}"#, false), r#"{"•••0":1}"#);
    }

    #[test]
    fn of_a_url_host_and_path_and_the_names_of_the_query_are_shown() {
        for (url, shown) in [
            ("https://a.example/v2/quote?ssn=536228714&a=b", "https://a.example/v2/quote?ssn=•••&a=•••"),
            ("https://me:secret@a.example/v2/quote", "https://a.example/v2/quote"),
            ("https://a.example/people/M%61ren/%35362287", "https://a.example/people/•••/•••"),
            ("https://a.example/people/Maren/5362287", "https://a.example/people/•••/•••"),
            ("/callbacks/", "/callbacks/"),
        ] {
            assert_eq!(redaction().url(url), shown);
        }
    }
}
