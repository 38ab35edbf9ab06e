//! URLs of partner files. `{baseUrl}` stands for the address of the daemon and is filled in on display.

use hyper::http::uri::Authority;
use memchr::memmem;

use offerd_base::config::split_scheme;

/// Placeholder for the address of the API listener, at the start of a URL of a partner file.
pub const BASE_URL: &str = "{baseUrl}";

const IN_JSON: &[u8] = b"\"{baseUrl}/";

/// URL prefix of the pages of sample partners.
pub const SAMPLE_PAGES: &str = "{baseUrl}/samples/";

/// Path prefix of what the daemon serves for sample partners.
pub const SAMPLES: &str = "/samples/";

/// File name of a sample partner's logo.
pub const LOGO: &str = "logo.svg";

/// Suffix that turns the key of a sample partner's offer into the name of its card image.
pub const PICTURE: &str = ".svg";

/// Resolves a URL of a partner file.
pub fn absolute(url: &str, base_url: &str) -> String {
    url.strip_prefix(BASE_URL).map_or_else(|| url.to_owned(), |path| format!("{base_url}{path}"))
}

/// Resolves every URL in JSON made from partner files.
pub fn absolute_in(json: Vec<u8>, base_url: &str) -> Vec<u8> {
    if memmem::find(&json, IN_JSON).is_none() {
        return json;
    }
    let base_url = serde_json::to_string(base_url).expect("a text is JSON");
    // Without the closing quote.
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

/// Why a text is no absolute http or https URL, worded to follow its key. User info is refused, since its
/// password would be public; control characters, since they could end a header of a click's response, or a log
/// line.
pub fn url_fault(url: &str) -> Option<&'static str> {
    let authority =
        split_scheme(url).and_then(|(_, rest)| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let is_broken = |letter: char| letter.is_whitespace() || letter.is_control();
    match () {
        () if authority.contains('@') => Some("must not hold a user or a password"),
        () if !authority.is_ascii() && !authority.contains(char::REPLACEMENT_CHARACTER) => {
            Some("must name its host in ASCII, where such a name begins with `xn--`")
        }
        () if url.contains(char::REPLACEMENT_CHARACTER) => {
            Some("must not hold half a character, such as a lone `\\ud800` of JSON")
        }
        () if !is_authority(authority) || url.contains(is_broken) => {
            Some("must be an absolute http or https URL")
        }
        () => None,
    }
}

/// Whether a text is a host with an optional port.
fn is_authority(text: &str) -> bool {
    let port = text.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    port.is_none_or(|port| port.parse::<u16>().is_ok())
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
        for url in [
            "https://a.example",
            "HTTPS://A.EXAMPLE/",
            "Http://a.example",
            "http://127.0.0.1:8080/x?y#z",
            "https://[::1]:443/",
            "http://[::1]",
        ] {
            assert_eq!(url_fault(url), None, "{url}");
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
            "https://a.example/a b",
        ] {
            assert_eq!(url_fault(url), Some("must be an absolute http or https URL"), "{url}");
        }
        let broken = "https://a.example/?name=Ja\u{fffd}e";
        assert!(url_fault(broken).is_some_and(|fault| fault.starts_with("must not hold half a character")));
        let in_letters = url_fault("https://b\u{fc}cher.example/");
        assert!(in_letters.is_some_and(|fault| fault.ends_with("such a name begins with `xn--`")));
        for url in ["https://me:secret@a.example/", "https://me@a.example"] {
            assert_eq!(url_fault(url), Some("must not hold a user or a password"), "{url}");
        }
    }
}
