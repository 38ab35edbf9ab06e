//! `{baseUrl}`: by which a partner file names the address of the daemon itself. It stays in what is stored, and is filled in
//! whenever something is shown, so that what was stored before the daemon moved leads to where it is now.

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
}
