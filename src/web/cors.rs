//! Cross-origin requests from browsers. With credentials `*` is invalid, so the origin is echoed.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{HeaderMap, Method, StatusCode};

use super::respond::Reply;

const EXPOSED: HeaderValue = HeaderValue::from_static(
    "ETag, Retry-After, RateLimit, RateLimit-Policy, Request-Id, Location, Table-Deadline, Unknown-Keys",
);

/// Headers that few answers have, with what such an answer exposes besides; other answers stay short.
const EXPOSED_WITH: [(HeaderName, HeaderValue); 3] = [
    (HeaderName::from_static("table-events"), HeaderValue::from_static("Table-Events")),
    (HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("Idempotent-Replayed")),
    (
        HeaderName::from_static("changed-values"),
        HeaderValue::from_static("Changed-Values, Preference-Applied"),
    ),
];
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("600");

/// Set on an answer that pages of other origins must never read ([`Reply::own_site`]).
pub(super) const OWN_SITE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The CORS policy of a listener, and the vendors of the older edition. Each request is answered under one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorsVendorPolicy {
    /// Which origins may call from a browser.
    pub cors: Cors,
    /// The vendor names that the v1 `Accept` type may carry; empty means any.
    pub vendors: Vec<String>,
}

/// The origins that may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cors {
    /// Every origin (`*` in the settings).
    Any,
    /// These origins; `https://*.shop.example` covers any name below the domain. Empty means no other origin.
    Only(Vec<String>),
}

impl Cors {
    /// Reads the settings' list; a `*` anywhere in it allows every origin.
    pub fn new(origins: &[String]) -> Self {
        if origins.iter().any(|origin| origin == "*") { Self::Any } else { Self::Only(origins.to_vec()) }
    }

    /// The answer to a preflight; `None` when the request is not one.
    pub(super) fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Reply> {
        let origin = headers.get(ORIGIN)?;
        let wanted_method = headers.get(ACCESS_CONTROL_REQUEST_METHOD)?;
        if method != Method::OPTIONS {
            return None;
        }
        let reply = Reply::empty(StatusCode::NO_CONTENT);
        if !self.allows(origin) {
            return Some(reply);
        }
        let reply = reply
            .header(ACCESS_CONTROL_ALLOW_METHODS, wanted_method.clone())
            .header(ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
        let wanted = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).into_iter();
        Some(wanted.fold(reply, |reply, wanted| reply.header(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone())))
    }

    /// Marks an answer as readable by `origin`, unless it is for its own site only.
    pub(super) fn mark(&self, answer: &mut HeaderMap, origin: Option<&HeaderValue>) {
        vary_by_origin_too(answer);
        let is_for_others = !answer.contains_key(OWN_SITE);
        let Some(origin) = origin.filter(|origin| is_for_others && self.allows(origin)) else { return };
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answer.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        for (header, exposed) in EXPOSED_WITH {
            if answer.contains_key(header) {
                answer.append(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
            }
        }
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        match self {
            Self::Any => is_origin(origin),
            Self::Only(origins) => origins.iter().any(|allowed| covers(allowed, origin.as_bytes())),
        }
    }
}

/// Whether an origin is the allowed one, or a name below an allowed `*.` domain.
fn covers(allowed: &str, origin: &[u8]) -> bool {
    let Some((scheme, domain)) = allowed.split_once("*.") else { return allowed.as_bytes() == origin };
    let below = origin.strip_prefix(scheme.as_bytes()).and_then(|name| name.strip_suffix(domain.as_bytes()));
    let is_of_name = |letter: &u8| letter.is_ascii_alphanumeric() || matches!(letter, b'.' | b'-' | b'_');
    below.is_some_and(|below| below.len() > 1 && below.ends_with(b".") && below.iter().all(is_of_name))
}

fn vary_by_origin_too(answer: &mut HeaderMap) {
    let mut names: Vec<&[u8]> = answer.get_all(VARY).iter().map(HeaderValue::as_bytes).collect();
    names.push(ORIGIN.as_str().as_bytes());
    let vary = HeaderValue::from_bytes(&names.join(&b", "[..]));
    answer.insert(VARY, vary.expect("names of headers and what joins them are visible"));
}

/// Whether a value has the form of an origin, of an app's own scheme or `null` too.
fn is_origin(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    let is_scheme = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'-' | b'.');
    let is_host = |letter: u8| {
        letter.is_ascii_alphanumeric() || matches!(letter, b'.' | b'-' | b'_' | b':' | b'[' | b']')
    };
    text == "null"
        || text.split_once("://").is_some_and(|(scheme, host)| {
            scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && scheme.bytes().all(is_scheme)
                && host.bytes().all(is_host)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_covers_the_names_below_it_alone() {
        let covers = |origin: &str| super::covers("https://*.shop.example:8443", origin.as_bytes());
        for origin in ["https://www.shop.example:8443", "https://a.b-c.shop.example:8443"] {
            assert!(covers(origin), "{origin}");
        }
        for other in [
            "https://shop.example:8443",
            "https://.shop.example:8443",
            "https://www.shop.example",
            "http://www.shop.example:8443",
            "https://wwwshop.example:8443",
            "https://evil.example/.shop.example:8443",
            "https://evil.example:1.shop.example:8443",
            "null",
        ] {
            assert!(!covers(other), "{other}");
        }
    }

    #[test]
    fn an_answer_exposes_what_it_has_and_no_more_than_it_needs() {
        let origin = HeaderValue::from_static("https://shop.example");
        let exposed = |header: Option<&'static str>| {
            let mut answer = HeaderMap::new();
            let value = HeaderValue::from_static("true");
            answer.extend(header.map(|header| (HeaderName::from_static(header), value)));
            Cors::Any.mark(&mut answer, Some(&origin));
            let lines = answer.get_all(ACCESS_CONTROL_EXPOSE_HEADERS).into_iter();
            lines.map(|line| line.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let exposed_always = EXPOSED;
        let always = exposed_always.to_str().unwrap();
        assert_eq!(exposed(None), [always]);
        assert_eq!(exposed(Some("idempotent-replayed")), [always, "Idempotent-Replayed"]);
        assert_eq!(exposed(Some("changed-values")), [always, "Changed-Values, Preference-Applied"]);
    }

    #[test]
    fn who_welcomes_every_origin_echoes_origins_alone() {
        let any = Cors::new(&["*".to_owned()]);
        let echoed = |origin: &'static str| any.allows(&HeaderValue::from_static(origin));
        for origin in [
            "null",
            "https://shop.example",
            "http://localhost:3000",
            "http://[::1]:8080",
            "https://a_b.example",
            "chrome-extension://abcdefgh",
            "capacitor://localhost",
            "file://",
        ] {
            assert!(echoed(origin), "{origin}");
        }
        for other in [
            "",
            "*",
            "shop.example",
            "https://shop.example/",
            "https://a.example, https://b.example",
            "https://a b",
            "://a",
            "1http://a",
            "https://a?b",
            "https://u@a",
            "NULL",
        ] {
            assert!(!echoed(other), "{other}");
        }
    }
}
