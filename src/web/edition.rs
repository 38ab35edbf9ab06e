//! The edition of the interface that a request asks for.

use hyper::HeaderMap;
use hyper::header::ACCEPT;

use super::list;

/// An edition of the interface; the current one, unless `Accept` names the v1 type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edition {
    /// The edition that the specification describes first.
    Current,
    /// The older edition, requested by `Accept: application/vnd.<vendor>.v1+json`.
    V1,
}

/// The editions that a route is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editions {
    /// A path of the specification, or one that is the same in both editions.
    All,
    /// A path that was added after v1.
    CurrentOnly,
}

impl Edition {
    /// Reads `Accept`. The v1 type of any of `vendors` counts anywhere in the list, except with weight zero.
    pub fn requested(headers: &HeaderMap, vendors: &[String]) -> Self {
        match list::items(headers, &ACCEPT).any(|range| is_v1_type(range, vendors)) {
            true => Self::V1,
            false => Self::Current,
        }
    }
}

impl Editions {
    /// Whether `edition` is among them.
    pub fn include(self, edition: Edition) -> bool {
        self == Self::All || edition == Edition::Current
    }
}

fn is_v1_type(media_range: &str, vendors: &[String]) -> bool {
    let mut parts = media_range.split(';');
    let media_type = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    // A weight of zero means "not acceptable".
    if parts.any(|parameter| list::weight(parameter) == Some(0.0)) {
        return false;
    }
    let vendor = media_type.strip_prefix("application/vnd.").and_then(|rest| rest.strip_suffix(".v1+json"));
    let is_welcome =
        |vendor: &str| vendors.is_empty() || vendors.iter().any(|known| known.eq_ignore_ascii_case(vendor));
    vendor.is_some_and(|vendor| !vendor.is_empty() && is_welcome(vendor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn requested(accept: &'static str) -> Edition {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        Edition::requested(&headers, &["offerd".to_owned(), "Acme".to_owned()])
    }

    #[test]
    fn only_a_known_vendors_v1_type_asks_for_v1() {
        assert_eq!(requested("application/vnd.offerd.v1+json"), Edition::V1);
        assert_eq!(requested("text/plain, Application/VND.acme.V1+JSON;q=0.5 , */*"), Edition::V1);
        for refused in ["q=0", " Q = 0.000", "charset=utf-8;q=0.0"] {
            let mut headers = HeaderMap::new();
            let accept = format!("application/vnd.acme.v1+json;{refused}");
            headers.insert(ACCEPT, HeaderValue::from_str(&accept).unwrap());
            assert_eq!(Edition::requested(&headers, &[]), Edition::Current, "{accept}");
        }
        assert_eq!(requested("application/vnd.acme.v1+json;q=0.001"), Edition::V1);
        assert_eq!(requested("application/vnd.other.v1+json"), Edition::Current);
        assert_eq!(requested("application/vnd.offerd.v2+json"), Edition::Current);
        assert_eq!(requested("application/json, text/plain, */*"), Edition::Current);
        assert_eq!(Edition::requested(&HeaderMap::new(), &[]), Edition::Current);
    }

    #[test]
    fn without_known_vendors_anybodys_v1_type_asks_for_v1() {
        let anybodys = |accept: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            Edition::requested(&headers, &[])
        };
        for accept in ["application/vnd.other.v1+json", "*/*, APPLICATION/vnd.a.b.V1+json; charset=utf-8"] {
            assert_eq!(anybodys(accept), Edition::V1, "{accept}");
        }
        for accept in ["application/vnd..v1+json", "application/vnd.v1+json", "application/vnd.other.v2+json"]
        {
            assert_eq!(anybodys(accept), Edition::Current, "{accept}");
        }
    }
}
