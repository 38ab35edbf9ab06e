//! Calls to receivers: on a separate wire, as webhooks, and only to permitted addresses.

use std::time::Duration;

use chrono::Utc;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Uri};

use super::signing_key::SigningKey;
use offerd_wire::{Call, GroupRules, Pool, PoolRules, Wire};

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// The longest answer in bytes; a longer one is a failure.
const ANSWER_BYTES: usize = 256 * 1024;

/// A wire for receivers, separate from that of partners so that failures of one do not affect the other.
pub fn wire(breakers_only_log: bool) -> Wire {
    let (open_ceiling, answer_bytes) = (Duration::MAX, usize::MAX);
    Wire::new(GroupRules { max_open_percent: 100, breakers_only_log, open_ceiling, answer_bytes })
}

/// The connection rules for a receiver.
pub fn pool_rules(connect_timeout: Duration, allow_addresses: &[String]) -> PoolRules {
    let allow_addresses = allow_addresses.to_vec();
    PoolRules { connect_timeout, max_response_bytes: ANSWER_BYTES, allow_addresses, ..PoolRules::default() }
}

/// The host of a URL; the rest of the URL may be secret.
///
/// # Errors
/// The URL has none; worded to follow the URL's key.
pub fn host(url: Option<&Uri>) -> Result<String, String> {
    let is_web = |uri: &&Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = url.filter(is_web).and_then(Uri::authority);
    let authority = authority.filter(|authority| !authority.as_str().contains('@'));
    authority
        .map(|authority| authority.host().to_owned())
        .ok_or_else(|| "must be an absolute URL of http or https, without a user".to_owned())
}

/// The fault of a URL whose host is a forbidden address. A host name is checked at each call.
pub fn forbidden(pool: &Pool, url: &str) -> Option<String> {
    let address = pool.forbids(url)?;
    let allows = format!("`allow_addresses = [\"{address}\"]` allows it");
    Some(format!("is at {address}, a private, local or reserved address; {allows}"))
}

/// A POST of JSON, signed with each of the keys at the current time.
pub fn webhook(url: String, id: &str, body: Vec<u8>, keys: &[SigningKey]) -> Call {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if !keys.is_empty() {
        let now_s = Utc::now().timestamp();
        let signatures: Vec<String> = keys.iter().map(|key| key.sign(id, now_s, &body)).collect();
        headers.insert(TIMESTAMP, now_s.into());
        for (name, text) in [(ID, id), (SIGNATURE, &signatures.join(" "))] {
            headers.insert(name, HeaderValue::from_str(text).expect("ids and base64 are ASCII"));
        }
    }
    // Receivers can detect duplicates by id but need not. The sender alone decides on retries.
    Call { method: Method::POST, url, headers, body: body.into(), idempotent: false }
}
