//! Percent-decoding of path segments and query strings.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

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
    fn a_query_keeps_order_repeats_and_empty_values() {
        let pairs = decode_query("a=1&b&&a=x+y%2B&c==").unwrap();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "1"), ("b", ""), ("a", "x y+"), ("c", "=")]);
        assert_eq!(decode_query("a=%"), None);
    }
}
