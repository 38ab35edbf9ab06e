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

use super::exchange::PartnerExchange;
use super::given::Given;
use super::request::HttpRequest;
use super::secret::{MASKED, Secret, Secrets};
use super::source::HttpSource;

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

impl HttpSource {
    /// The redacted request of the exchange's current call; adds the secret header values to `withheld`.
    pub fn kept_request(
        &self,
        sent: &HttpRequest,
        exchange: &PartnerExchange,
        given: &Given,
        withheld: &mut SecretRedaction,
    ) -> RedactedRequest {
        let shown = self.request(exchange, given, Secrets::Withheld(sent.nonce)).ok().flatten();
        let Some(shown) = shown else {
            let host = self.hosts.first().map(|(_, host)| host.clone()).unwrap_or_default();
            let headers = sent.headers.keys().map(|name| (name.to_string(), None)).collect();
            return RedactedRequest { url: host, headers, body: Bytes::new() };
        };
        let of_session = |name: &HeaderName| {
            let headers = &self.step(exchange).headers;
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
    /// Adds a text in all its encodings.
    pub fn add(&mut self, text: &str) {
        if text.len() < SHORTEST {
            return;
        }
        let form: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let json = serde_json::to_string(text).unwrap_or_default();
        self.0.extend([
            form.replace('+', "%20"),
            form,
            json[1..json.len() - 1].to_owned(),
            text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
            STANDARD.encode(text).trim_end_matches('=').to_owned(),
            URL_SAFE_NO_PAD.encode(text),
            const_hex::encode(text),
            const_hex::encode_upper(text),
            text.to_owned(),
        ]);
    }

    /// Adds the values of a body whose names mark them as credentials, in JSON, XML or a form, even cut off.
    pub fn learn(&mut self, body: &[u8]) {
        let text = String::from_utf8_lossy(body);
        let lower = text.to_ascii_lowercase();
        for name in NAMES {
            for at in memmem::find_iter(lower.as_bytes(), name) {
                self.add(value_behind(&text[at..]).unwrap_or_default());
            }
        }
    }

    /// Redacts a text.
    pub fn out_of(&self, text: &str) -> String {
        // The longest first: one may be part of another.
        let mut found: Vec<&String> = self.0.iter().filter(|withheld| text.contains(*withheld)).collect();
        found.sort_by_key(|withheld| std::cmp::Reverse(withheld.len()));
        found.into_iter().fold(text.to_owned(), |text, withheld| text.replace(withheld, MASKED))
    }

    /// Redacts a body.
    pub fn out_of_body(&self, body: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(body) {
            Ok(text) => self.out_of(text).into_bytes(),
            // The body may be cut within a character.
            Err(error) if error.error_len().is_none() => self.out_of_body(&body[..error.valid_up_to()]),
            Err(_) if self.0.iter().any(|withheld| memmem::find(body, withheld.as_bytes()).is_some()) => {
                MASKED.as_bytes().to_vec()
            }
            Err(_) => body.to_vec(),
        }
    }
}

/// The value after a name at the start of a text: `token": "abc"`, `token>abc<`, `token=abc&`.
fn value_behind(text: &str) -> Option<&str> {
    let rest =
        text.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter));
    let rest = rest.trim_start_matches(['"', '\\']).trim_start();
    let rest = rest.strip_prefix([':', '=', '>'])?;
    let rest = rest.trim_start().trim_start_matches(['"', '\\', '\'']);
    let end = rest.find(|letter: char| letter.is_whitespace() || "\"'<>&,}\\".contains(letter));
    Some(&rest[..end.unwrap_or(rest.len())])
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
        ] {
            let mut withheld = SecretRedaction::default();
            withheld.learn(body.as_bytes());
            let kept = String::from_utf8(withheld.out_of_body(body.as_bytes())).unwrap();
            assert!(!kept.contains("abc-123-def") && kept.contains("9.5"), "{kept}");
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
        ] {
            assert_eq!(withheld.out_of(&format!("<{written}>")), "<***>", "{written}");
        }
        assert_eq!(withheld.out_of_body(b"\xff\xfe s&cret \"key\""), b"***");
        assert_eq!(withheld.out_of_body("9.5 \u{e9}".as_bytes().split_last().unwrap().1), b"9.5 ");
    }
}
