//! Percent-decoding of path segments and query strings; percent-encoding of redirect targets.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// ASCII characters that no URL may hold (RFC 3986). `%` is not among them: escapes stay as they are.
const NEVER_IN_URLS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Encodes the characters of a URL that a header may not hold, such as `é` to `%C3%A9`.
pub fn encode(url: &str) -> Cow<'_, str> {
    utf8_percent_encode(url, NEVER_IN_URLS).into()
}

/// Decodes `%41` to `A`; `None` when an escape is broken or the result is not UTF-8.
pub(super) fn decode(text: &str) -> Option<Cow<'_, str>> {
    let is_whole = |escape: &[u8]| escape.len() >= 2 && escape[..2].iter().all(u8::is_ascii_hexdigit);
    text.as_bytes().split(|byte| *byte == b'%').skip(1).all(is_whole).then_some(())?;
    percent_decode_str(text).decode_utf8().ok()
}

/// Splits and decodes `a=1&b=x+y`; `None` when a name or value does not decode.
pub(super) fn decode_query(query: &str) -> Option<Vec<(String, String)>> {
    decode(query)?;
    Some(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_broken_ones_refused() {
        assert_eq!(decode("plain").unwrap(), "plain");
        assert_eq!(decode("a%2Fb%C3%A9").unwrap(), "a/bé");
        assert_eq!(decode("%zz"), None);
        assert_eq!(decode("%4"), None);
        assert_eq!(decode("%+1"), None);
        assert_eq!(decode("%ff"), None);
    }

    #[test]
    fn a_redirect_target_holds_only_what_a_url_may() {
        let plain = "https://[::1]:80/a%20b/;c=d,e?f=g+h&i=(j)*k!~#l";
        assert_eq!(encode(plain), plain);
        assert_eq!(
            encode("https://a.example/caf\u{e9} b?c=\"<|\u{1f600}"),
            "https://a.example/caf%C3%A9%20b?c=%22%3C%7C%F0%9F%98%80"
        );
    }

    #[test]
    fn a_query_keeps_order_repeats_and_empty_values() {
        let pairs = decode_query("a=1&b&&a=x+y%2B&c==").unwrap();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "1"), ("b", ""), ("a", "x y+"), ("c", "=")]);
        assert_eq!(decode_query("a=%"), None);
    }
}
