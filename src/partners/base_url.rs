//! The URLs of partner files, and `{baseUrl}`, by which a partner file names the address of the daemon itself. It stays in what is stored, and is filled in
//! whenever something is shown, so that what was stored before the daemon moved leads to where it is now.

use hyper::http::uri::Authority;
use memchr::memmem;

/// Stands for the address of the api listener where a URL of a partner file begins.
pub const BASE_URL: &str = "{baseUrl}";

/// How such a URL begins in JSON.
const IN_JSON: &[u8] = b"\"{baseUrl}/";

/// How the addresses of the pages begin that stand for sample partners.
pub const SAMPLE_PAGES: &str = "{baseUrl}/samples/";

/// Below which path the daemon shows what it has for sample partners.
pub const SAMPLES: &str = "/samples/";

/// The name of a sample partner's logo.
pub const LOGO: &str = "logo.svg";

/// What the picture of a sample partner's card is called behind the key of its offer.
pub const PICTURE: &str = ".svg";

/// A URL of a partner file, absolute.
pub fn absolute(url: &str, base_url: &str) -> String {
    match url.strip_prefix(BASE_URL) {
        Some(path) => format!("{base_url}{path}"),
        None => url.to_owned(),
    }
}

/// JSON made of partner files, each URL in it absolute.
pub fn absolute_in(json: Vec<u8>, base_url: &str) -> Vec<u8> {
    if memmem::find(&json, IN_JSON).is_none() {
        return json;
    }
    let base_url = serde_json::to_string(base_url).expect("a text is JSON");
    // Without the quote at its end.
    let base_url = &base_url.as_bytes()[..base_url.len() - 1];
    let mut out = Vec::with_capacity(json.len() + json.len() / 8);
    let mut from = 0;
    for place in memmem::find_iter(&json, IN_JSON) {
        out.extend_from_slice(&json[from..place]);
        out.extend_from_slice(base_url);
        from = place + IN_JSON.len() - 1;
    }
    out.extend_from_slice(&json[from..]);
    out
}

/// Whether a text is an absolute http or https URL. A character that controls something would end the header that a click is
/// answered with, or the line of a log.
pub fn is_absolute_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    is_authority(authority) && !url.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// A host, with or without a port, and without a user, whose password would stand where everybody reads it.
fn is_authority(text: &str) -> bool {
    let port = text.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    !text.contains('@')
        && port.is_none_or(|port| port.parse::<u16>().is_ok())
        && Authority::try_from(text).is_ok_and(|authority| !authority.host().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_url_that_begins_with_it_is_made_absolute_wherever_it_stands() {
        let url = "{baseUrl}/samples/bank/logo.svg";
        let shown = "https://offers.example/api/samples/bank/logo.svg";
        assert_eq!(absolute(url, "https://offers.example/api"), shown);
        let json = json!({"imageUrl": url, "images": [{"url": url}], "name": "Bank"}).to_string();
        let json = absolute_in(json.into_bytes(), "https://offers.example/api");
        let json: Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json, json!({"imageUrl": shown, "images": [{"url": shown}], "name": "Bank"}));
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let other = json!(["https://a.example/?b={baseUrl}/c", "{baseUrl}", "say {baseUrl}/d", "{clickId}"]);
        assert_eq!(absolute_in(other.to_string().into_bytes(), "http://x"), other.to_string().into_bytes());
        assert_eq!(absolute("https://a.example/", "http://x"), "https://a.example/");
    }

    #[test]
    fn whatever_the_address_is_the_json_stays_whole() {
        let json = absolute_in(br#"{"a":"{baseUrl}/b"}"#.to_vec(), "https://a\"b\\c");
        assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), json!({"a": "https://a\"b\\c/b"}));
    }

    #[test]
    fn a_url_has_a_host_that_can_be_called_and_no_password() {
        for url in ["https://a.example", "http://127.0.0.1:8080/x?y#z", "https://[::1]:443/", "http://[::1]"]
        {
            assert!(is_absolute_url(url), "{url}");
        }
        for url in [
            "a.example",
            "ftp://a.example",
            "https://",
            "https:///x",
            "http://[::1",
            "http://a.example:1809000/",
            "http://a.example:/",
            "http://:80/",
            "https://me:secret@a.example/",
            "https://a.example/a b",
        ] {
            assert!(!is_absolute_url(url), "{url}");
        }
    }
}
