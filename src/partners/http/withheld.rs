//! Redaction of transcripts: secrets, values derived from them, and credentials that partners issue.
//!
//! The request is built a second time with `***` in place of each secret, and that version is kept, so
//! derived values are redacted as well. Of a header that differs, only the name is kept. Texts from the
//! partner may repeat a secret or contain a new one, such as a session token; these are found and replaced.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{
    AUTHORIZATION, COOKIE, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, WWW_AUTHENTICATE,
};
use memchr::memmem;
use serde_json::Value;

use super::ask_progress::AskProgress;
use super::document;
use super::http_partner::{HttpPartner, MappingInput};
use super::request::HttpRequest;
use super::secret::{MASKED, Secret, Secrets};
use super::spellings::each_spelling;

/// Headers of which only the name is kept, in either direction.
const HEADERS: [HeaderName; 6] =
    [AUTHORIZATION, COOKIE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, WWW_AUTHENTICATE];

/// Parts of names, in lower case, that mark a value as a credential.
const NAMES: [&str; 8] =
    ["token", "secret", "password", "passwd", "assertion", "apikey", "api_key", "credential"];

/// Shorter texts may occur by chance.
const SHORTEST: usize = 6;

/// A redacted request.
pub struct RedactedRequest {
    /// The URL.
    pub url: String,
    /// Names and values; `None` for a header that carries a secret.
    pub headers: Vec<(String, Option<String>)>,
    /// The body.
    pub body: Bytes,
}

/// Texts to redact. Not `Debug`, since they are secrets.
#[derive(Default)]
pub struct SecretRedaction(BTreeSet<String>);

impl HttpPartner {
    /// The redacted request of the current call; adds the secret header values to `withheld`.
    pub fn kept_request(
        &self,
        sent: &HttpRequest,
        progress: &AskProgress,
        given: &MappingInput,
        withheld: &mut SecretRedaction,
    ) -> RedactedRequest {
        let shown = self.request(progress, given, Secrets::Withheld(sent.nonce)).ok().flatten();
        let Some(shown) = shown else {
            let host = self.hosts.first().map(|(_, host)| host.clone()).unwrap_or_default();
            let headers = sent.headers.keys().map(|name| (name.to_string(), None)).collect();
            return RedactedRequest { url: host, headers, body: Bytes::new() };
        };
        let of_session = |name: &HeaderName| {
            let headers = &self.step(progress).headers;
            headers.iter().any(|(known, value)| known == name && value.uses("kept"))
        };
        let headers = sent.headers.iter().map(|(name, value)| {
            let value = value.to_str().unwrap_or_default();
            let is_shown = shown.headers.get(name).is_some_and(|shown| shown == value);
            if is_shown && !HEADERS.contains(name) && !of_session(name) {
                return (name.to_string(), Some(value.to_owned()));
            }
            // Also the bearer token without its scheme.
            value.split_whitespace().chain([value]).for_each(|text| withheld.add(text));
            (name.to_string(), None)
        });
        RedactedRequest { headers: headers.collect(), url: shown.url, body: shown.body }
    }

    /// The secrets, in all their encodings.
    pub fn withheld(&self) -> SecretRedaction {
        let mut withheld = SecretRedaction::default();
        self.secrets.values().flatten().map(Secret::reveal).for_each(|secret| withheld.add(secret));
        withheld
    }
}

/// The redacted headers of an answer or a callback.
pub fn kept_headers(headers: &HeaderMap) -> Vec<(String, Option<String>)> {
    let is_kept = |name: &HeaderName| {
        !HEADERS.contains(name) && !NAMES.iter().any(|part| name.as_str().replace('-', "_").contains(part))
    };
    let kept = headers.iter().map(|(name, value)| {
        let value = is_kept(name).then(|| String::from_utf8_lossy(value.as_bytes()).into_owned());
        (name.to_string(), value)
    });
    kept.collect()
}

impl SecretRedaction {
    /// Adds a text with its encodings; escapes are found as such.
    pub fn add(&mut self, text: &str) {
        if text.len() < SHORTEST {
            return;
        }
        self.0.extend([
            STANDARD.encode(text).trim_end_matches('=').to_owned(),
            URL_SAFE_NO_PAD.encode(text),
            const_hex::encode(text),
            const_hex::encode_upper(text),
            text.to_ascii_lowercase(),
            text.to_ascii_uppercase(),
            text.to_owned(),
        ]);
        for behind in 0..3 {
            let bytes = [&[0; 2][..behind], text.as_bytes()].concat();
            // The letters that are of this text alone.
            let own = [0, 2, 3][behind]..bytes.len() * 8 / 6;
            let encoded = [STANDARD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)];
            self.0.extend(encoded.map(|text| text[own.clone()].to_owned()));
        }
    }

    /// Adds the values of a body whose names mark them as credentials, in JSON, XML or a form, even cut off,
    /// and every value of an object with such a name.
    pub fn learn(&mut self, body: &[u8]) {
        let document = document::read(None, body, |_| true).ok();
        if let Some(document) = document.and_then(|document| serde_json::to_value(document).ok()) {
            self.learn_value(&document, false);
        }
        let mut found = Vec::new();
        each_spelling(body, &mut |spelling| {
            let text = String::from_utf8_lossy(&spelling.bytes);
            let lower = text.to_ascii_lowercase();
            let names = NAMES.iter().flat_map(|name| memmem::find_iter(lower.as_bytes(), name));
            found.extend(names.filter_map(|at| value_behind(&text[at..])).map(str::to_owned));
        });
        for value in found {
            each_spelling(value.as_bytes(), &mut |value| self.add(&String::from_utf8_lossy(&value.bytes)));
        }
    }

    fn learn_value(&mut self, value: &Value, is_credential: bool) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| {
                let name = name.to_ascii_lowercase();
                let is_credential = is_credential || NAMES.iter().any(|part| name.contains(part));
                self.learn_value(value, is_credential);
            }),
            Value::Array(values) => values.iter().for_each(|value| self.learn_value(value, is_credential)),
            Value::String(text) => {
                if is_credential {
                    self.add(text);
                }
                // JSON within a text.
                if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                    self.learn_value(&inner, is_credential);
                }
            }
            Value::Number(number) if is_credential => self.add(&number.to_string()),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    /// Redacts a text.
    pub fn out_of(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.out_of_body(text.as_bytes())).into_owned()
    }

    /// Redacts a body, which may be cut within a character.
    pub fn out_of_body(&self, body: &[u8]) -> Vec<u8> {
        let whole = match std::str::from_utf8(body) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => body.len(),
        };
        let (mut redacted, mut from) = (Vec::with_capacity(whole), 0);
        for (start, end) in self.places(&body[..whole]) {
            redacted.extend_from_slice(&body[from..start]);
            redacted.extend_from_slice(MASKED.as_bytes());
            from = end;
        }
        redacted.extend_from_slice(&body[from..whole]);
        redacted
    }

    /// Where the withheld texts stand, in order and apart from each other.
    fn places(&self, body: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        each_spelling(body, &mut |spelling| {
            for withheld in &self.0 {
                let places = memmem::find_iter(&spelling.bytes, withheld);
                found.extend(places.map(|at| spelling.place(at, withheld.len())));
            }
        });
        found.sort_unstable();
        found.dedup_by(|next, last| {
            let is_within = next.0 < last.1;
            last.1 = if is_within { last.1.max(next.1) } else { last.1 };
            is_within
        });
        found
    }
}

/// The value after a name at the start of a text: `token": "abc"`, `token>abc<`, `token=abc&`.
fn value_behind(text: &str) -> Option<&str> {
    let rest =
        text.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter));
    let rest = rest.trim_start_matches(['"', '\\']).trim_start();
    let rest = rest.strip_prefix([':', '=', '>'])?;
    let rest = rest.trim_start().trim_start_matches(['"', '\\', '\'']);
    let ends = |letter: char| letter.is_whitespace() || "\"'<>&,}".contains(letter);
    let value = &rest[..rest.find(ends).unwrap_or(rest.len())];
    // A quote within a text of JSON.
    Some(value.trim_end_matches('\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_is_known_by_is_found_in_json_xml_and_forms_and_not_kept() {
        for body in [
            r#"{"sessionToken": "abc-123-def", "apr": 9.5}"#,
            r#"{"a":[{"ACCESS_TOKEN":"abc-123-def"}],"apr":9.5}"#,
            r#"{"access_token":"abc-123-def","apr":9.5,"cut off": "he"#,
            "<r><Token>abc-123-def</Token><apr>9.5</apr></r>",
            r#"<r token="abc-123-def"><apr>9.5</apr></r>"#,
            "apr=9.5&client_secret=abc-123-def&b=1",
            r#"{"apr":9.5,"t\u006fken":"abc-123-d\u0065f"}"#,
            r#"{"token":{"kind":"x","values":["abc-123-def"]},"apr":9.5}"#,
            r#"{"apr":9.5,"answer":"{\"credentials\":{\"a\":\"abc-123-def\"}}"}"#,
            "<r><token><value>abc-123-def</value></token><apr>9.5</apr></r>",
            r#"{"apr":9.5,"token":"\/a\"bc-123-def"}"#,
            r#"{"apr":9.5,"token":"1\/abc-123-def", "cut off": "he"#,
        ] {
            let mut withheld = SecretRedaction::default();
            withheld.learn(body.as_bytes());
            let kept = String::from_utf8(withheld.out_of_body(body.as_bytes())).unwrap();
            assert!(!kept.contains("bc-123-d") && kept.contains("9.5"), "{kept}");
        }
    }

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        let mut withheld = SecretRedaction::default();
        withheld.add("s&cret \"key\"");
        for written in [
            "s&cret \"key\"",
            "s%26cret+%22key%22",
            r#"s&cret \"key\""#,
            "s&amp;cret \"key\"",
            "cyZjcmV0ICJrZXki",
            "s%26cret%20%22key%22",
            r"s\u0026cret \u0022k\u0065y\u0022",
            r"s\x26cret \x22key\x22",
            r#"s&cret \\\"key\\\""#,
            "s&#38;cret &#x22;key&quot;",
            "s&amp;amp;cret &quot;key&quot;",
            r"s%5Cu0026cret+%5C%22key%5C%22",
            "73266372657420226b657922",
        ] {
            assert_eq!(withheld.out_of(&format!("<{written}>")), "<***>", "{written}");
        }
        assert_eq!(withheld.out_of("<S&CRET \"KEY\">"), "<***>");
        for (before, after) in [("x", ""), ("xy", ""), ("xyz", "z"), ("x", "yz"), ("", "x")] {
            let written = STANDARD.encode(format!("{before}s&cret \"key\"{after}"));
            let kept = withheld.out_of(&written);
            assert!(kept.contains("***") && kept.len() <= 12, "{written}: {kept}");
        }
        withheld.add("/\u{1f600}+key/");
        assert_eq!(withheld.out_of(r"<\/\ud83d\ude00+key\/>"), "<***>");
        assert_eq!(withheld.out_of("<%2F%F0%9F%98%80%2Bkey/>"), "<***>");
        for other in [r"s\u0026cre", r"a\u00zz\", "&#xfffffff; %zz %e9 \\ud83d", "s & cret"] {
            assert_eq!(withheld.out_of(other), other);
        }
        assert_eq!(withheld.out_of_body(b"\xff\xfe s&cret \"key\""), b"\xff\xfe ***");
        assert_eq!(withheld.out_of_body("9.5 \u{e9}".as_bytes().split_last().unwrap().1), b"9.5 ");
    }
}
