//! A request as handlers see it: parsed, with a body that is read on demand and under a cap.

use std::net::IpAddr;
use std::ops::Deref;
use std::pin::pin;
use std::sync::atomic::Ordering;

use futures_util::future::OptionFuture;
use futures_util::stream::Peekable;
use futures_util::{FutureExt, StreamExt};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use ipnet::IpNet;
use tokio::time::{Instant, timeout_at};

use super::client_address::{client_address, household};
use super::gate::{Bodies, BodyMemory};
use super::list;
use super::prelude::*;
use super::request_head::{BodyDrainDeadline, BodyStream, RequestHead};
use offerd_base::load_shedder::Permit;
use offerd_model::Leniency;

/// The headers in which browsers, old and new, announce a prefetch.
const PURPOSES: [HeaderName; 4] = [
    HeaderName::from_static("sec-purpose"),
    HeaderName::from_static("purpose"),
    HeaderName::from_static("x-purpose"),
    HeaderName::from_static("x-moz"),
];

/// One request; it derefs to its head. Deliberately not `Debug`: it holds the token and a person.
pub struct Request {
    /// The decoded query parameters, in order.
    pub query: Vec<(String, String)>,
    /// How far it is read as meant.
    pub leniency: Leniency,
    /// The permit for new work, held until it is taken and released, or the request is answered.
    pub permit: Permit,
    head: Arc<RequestHead>,
    body: Option<BodyStream>,
    put_back: Option<Bytes>,
    company: Option<Uuid>,
    bodies: Bodies,
    room: Option<BodyMemory>,
}

impl Request {
    pub(super) fn new(
        head: Arc<RequestHead>,
        body: BodyStream,
        query: Vec<(String, String)>,
        (company, leniency): (Option<Uuid>, Leniency),
        bodies: Bodies,
        permit: Permit,
    ) -> Self {
        Self { query, leniency, permit, head, body: Some(body), put_back: None, company, bodies, room: None }
    }

    /// The key that a client is limited by: its address or, for IPv6, its /64 network.
    pub fn client(&self, trusted_proxies: &[IpNet]) -> Option<IpAddr> {
        client_address(self.peer, &self.headers, trusted_proxies).map(household)
    }

    /// Whether a browser prefetches it, and may never show it to a person.
    pub fn is_prefetch(&self) -> bool {
        is_prefetch(&self.headers)
    }

    /// The first query parameter of this name.
    pub fn query_value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Reads the JSON body: at most `cap_bytes` of it, within `timeout`. A missing `Content-Type` means JSON.
    pub async fn read_body(&mut self, cap_bytes: usize, timeout: Duration) -> Result<Bytes, Failure> {
        let check = |headers: &HeaderMap| plain(headers, is_json, Failure::unsupported_media);
        self.read(check, cap_bytes, timeout).await.map(without_byte_order_mark)
    }

    /// Reads a body of any type and in any coding, as it came: at most `cap_bytes` of it, within `timeout`.
    pub async fn read_any_body(&mut self, cap_bytes: usize, timeout: Duration) -> Result<Bytes, Failure> {
        self.read(|_| Ok(()), cap_bytes, timeout).await
    }

    /// Reads the fields of an HTML form, in order: at most `cap_bytes` of body, within `timeout`.
    pub async fn read_form(&mut self, cap: usize, wait: Duration) -> Result<Vec<(String, String)>, Failure> {
        let check = |headers: &HeaderMap| plain(headers, is_form, Failure::unsupported_form);
        Ok(form_urlencoded::parse(&self.read(check, cap, wait).await?).into_owned().collect())
    }

    async fn read(
        &mut self,
        check: fn(&HeaderMap) -> Result<(), Failure>,
        cap_bytes: usize,
        timeout: Duration,
    ) -> Result<Bytes, Failure> {
        if let Some(bytes) = self.put_back.take() {
            return Ok(bytes);
        }
        let Some(body) = self.body.take() else { return Ok(Bytes::new()) };
        let (mut body, end) = (body.peekable(), Instant::now() + timeout);
        // Over HTTP/2 a body may arrive without headers that announce it.
        if !announces_body(&self.headers)
            && wait_for_body(&mut self.permit, end, self.head.last_call.clone(), Pin::new(&mut body).peek())
                .await?
                .is_none()
        {
            return Ok(Bytes::new());
        }
        check(&self.headers)?;
        let announced = content_length(&self.headers);
        if announced.is_some_and(|length| length > cap_bytes as u64) {
            return Err(Failure::too_large(cap_bytes));
        }
        let announced = announced.and_then(|length| usize::try_from(length).ok());
        let most = announced.map_or(cap_bytes, |length| length.min(cap_bytes));
        self.room = Some(self.bodies.room(self.company, most)?);
        wait_for_body(&mut self.permit, end, self.head.last_call.clone(), collect(body, cap_bytes)).await?
    }

    /// Adds to the count of unknown keys and values that the answer reports.
    pub fn note_unknown(&self, count: usize) {
        self.head.unknown_keys.fetch_add(count, Ordering::Relaxed);
    }

    /// Adds to the count of values that were read as meant, which the answer reports.
    pub fn note_changed(&self, count: usize) {
        self.head.changed_values.fetch_add(count, Ordering::Relaxed);
    }

    /// Puts back a body that was read, for the next reader.
    pub fn put_back(&mut self, bytes: Bytes) {
        self.put_back = Some(bytes);
    }
}

impl Deref for Request {
    type Target = RequestHead;

    fn deref(&self) -> &RequestHead {
        &self.head
    }
}

/// Waits for a part of the body, until `end` or the drain's deadline; the permit is paused meanwhile.
async fn wait_for_body<T>(
    permit: &mut Permit,
    end: Instant,
    last_call: Option<BodyDrainDeadline>,
    part: impl Future<Output = T>,
) -> Result<T, Failure> {
    let part = async {
        tokio::select! {
            biased;
            read = timeout_at(end, part) => read.map_err(|_| Failure::timeout()),
            Some(()) = OptionFuture::from(last_call.map(BodyDrainDeadline::over)) => Err(Failure::timeout()),
        }
    };
    let mut part = pin!(part);
    if let Some(read) = part.as_mut().now_or_never() {
        return read;
    }
    permit.pause();
    let read = part.await;
    permit.resume();
    read
}

async fn collect(mut body: Peekable<BodyStream>, cap_bytes: usize) -> Result<Bytes, Failure> {
    let mut collected = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| Failure::bad_request("Request body broke off"))?;
        if collected.len() + chunk.len() > cap_bytes {
            return Err(Failure::too_large(cap_bytes));
        }
        collected.extend_from_slice(&chunk);
    }
    Ok(collected.into())
}

/// `Sec-Purpose: prefetch;prerender`, `Purpose: preview` and the like.
fn is_prefetch(headers: &HeaderMap) -> bool {
    let purposes = PURPOSES.into_iter().flat_map(|name| list::items(headers, &name));
    let mut words = purposes.flat_map(|purpose| purpose.split(';')).map(str::trim);
    words
        .any(|word| ["prefetch", "prerender", "preview"].iter().any(|ahead| word.eq_ignore_ascii_case(ahead)))
}

fn announces_body(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING) || content_length(headers).is_some_and(|length| length > 0)
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Refuses a body of another type than this, or in a coding.
fn plain(headers: &HeaderMap, fits: fn(&HeaderMap) -> bool, refusal: fn() -> Failure) -> Result<(), Failure> {
    let is_coded = |coding: &HeaderValue| !coding.as_bytes().eq_ignore_ascii_case(b"identity");
    match fits(headers) {
        false => Err(refusal()),
        true if headers.get(CONTENT_ENCODING).is_some_and(is_coded) => Err(Failure::unsupported_coding()),
        true => Ok(()),
    }
}

/// `application/json` and `application/*+json`, with any parameters (`charset=utf-8`), in any case.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(media_type) = media_type(headers) else { return true };
    let subtype = media_type.strip_prefix("application/");
    subtype.is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
}

fn is_form(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|media_type| media_type == "application/x-www-form-urlencoded")
}

/// The media type of the body without its parameters, in lower case; `None` without the header.
fn media_type(headers: &HeaderMap) -> Option<String> {
    let content_type = headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
    Some(content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

fn without_byte_order_mark(mut bytes: Bytes) -> Bytes {
    if bytes.starts_with(b"\xef\xbb\xbf") { bytes.split_off(3) } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fetched_ahead_is_told_from_what_is_opened() {
        let is_ahead = |name: &'static str, value: &'static str| {
            let pair = (HeaderName::from_static(name), HeaderValue::from_static(value));
            is_prefetch(&HeaderMap::from_iter([pair]))
        };
        for (name, value) in [
            ("sec-purpose", "prefetch"),
            ("sec-purpose", "prefetch;prerender"),
            ("sec-purpose", "prefetch;anonymous-client-ip"),
            ("purpose", "prefetch"),
            ("purpose", "Preview"),
            ("x-purpose", "preview"),
            ("x-moz", "prefetch"),
        ] {
            assert!(is_ahead(name, value), "{name}: {value}");
        }
        for (name, value) in [("purpose", "navigate"), ("sec-purpose", ""), ("sec-fetch-mode", "prefetch")] {
            assert!(!is_ahead(name, value), "{name}: {value}");
        }
        assert!(!is_prefetch(&HeaderMap::new()));
    }

    #[test]
    fn json_types_are_told_from_others() {
        let is_json = |content_type: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            is_json(&headers)
        };
        assert!(is_json("application/json"));
        assert!(is_json("Application/JSON; charset=utf-8"));
        assert!(is_json("application/vnd.offerd.v1+json"));
        assert!(!is_json("text/json"));
        assert!(!is_json("application/x-www-form-urlencoded"));
        assert!(!is_json("application/jsonp"));
        assert!(super::is_json(&HeaderMap::new()));
    }
}
