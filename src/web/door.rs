//! Early rejects, before a request is parsed, at next to no cost: malformed heads, and new work while the
//! queue is full. HTTP/1.1 requires exactly one valid `Host` (RFC 9112, 3.2). A chunked body must not be
//! compressed as well (`Transfer-Encoding: gzip, chunked`). An `Expect` is either met or refused (RFC 9110,
//! 10.1.1). Outside the panic boundary, this code must not panic.

use hyper::header::{EXPECT, HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Request, Version};
use warp::reply::Response;

use super::caller::{self, Authenticate, Principal};
use super::exchange::{self, UNKNOWN_ROUTE};
use super::failure::Failure;
use super::surface::Surface;

/// A rejected request counts against its address, and the gate's 429 takes precedence.
pub(super) fn refused<A: Authenticate, B>(surface: &Surface<A>, request: &Request<B>) -> Option<Response> {
    faulty(surface, request).or_else(|| full_queue_refusal(surface, request))
}

/// 400 for an invalid `Host` or an unsupported transfer coding, 417 for an unmet `Expect`.
fn faulty<A, B>(surface: &Surface<A>, request: &Request<B>) -> Option<Response> {
    let headers = request.headers();
    let fault = fault(request.version(), headers).or_else(|| coding_fault(headers));
    let failure = fault.map(Failure::bad_request).or_else(|| unmet_expectation(headers))?;
    Some(exchange::refused(surface, request, UNKNOWN_ROUTE, || failure.into_response()))
}

/// The answer to new work while the queue is full; an invalid token is refused later.
fn full_queue_refusal<A: Authenticate, B>(surface: &Surface<A>, request: &Request<B>) -> Option<Response> {
    let shedder = surface.gate.shedder_if_full(request.method())?;
    let (resource, _) = surface.router.find(request.uri().path()).ok()?;
    // Other requests for the path, such as `OPTIONS`, are not work.
    let route = resource.route(request.method())?;
    let principal = caller::identify(route.scope, request.headers(), &[], &*surface.app).ok()?;
    if !shedder.refuses(principal.as_ref().and_then(Principal::company).unwrap_or_default()) {
        return None;
    }
    Some(exchange::refused(surface, request, resource.template, || surface.gate.refuse_full()))
}

fn fault(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    let mut hosts = headers.get_all(HOST).iter();
    let Some(host) = hosts.next() else {
        // HTTP/2 carries the host in `:authority`, and HTTP/1.0 does not require one.
        return (version == Version::HTTP_11).then_some("Host header is missing");
    };
    if hosts.next().is_some() {
        return Some("Host header must come once");
    }
    (!is_host(host)).then_some("Host header must be a host name or address, and perhaps a port")
}

fn coding_fault(headers: &HeaderMap) -> Option<&'static str> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let first = codings.next()?;
    let chunked = codings.next().is_none() && first.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    (!chunked).then_some("Transfer-Encoding must be chunked alone, or left out: bodies are read as they are")
}

/// The refusal of an `Expect` other than `100-continue`, which hyper meets.
fn unmet_expectation(headers: &HeaderMap) -> Option<Failure> {
    let mut expected = headers.get_all(EXPECT).iter();
    let is_met = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
    (!expected.all(is_met)).then(Failure::unmet_expectation)
}

/// Whether a value is a host with an optional port, without a user; or empty.
fn is_host(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    if text.is_empty() {
        return true;
    }
    // A colon inside the brackets of an IPv6 address does not begin a port.
    let (name, port) = text.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).unwrap_or((text, ""));
    if name.is_empty() || !port.bytes().all(|digit| digit.is_ascii_digit()) {
        return false;
    }
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    if name.bytes().all(is_usual) {
        return true;
    }
    let bracketed = name.starts_with('[') == name.ends_with(']');
    bracketed && !text.contains('@') && Authority::try_from(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
        let of = |text: &'static [u8]| is_host(&HeaderValue::from_bytes(text).unwrap());
        for good in
            ["", "x", "offers.example:8080", "127.0.0.1:8080", "[::1]", "[::1]:80", "a.example:", "a_b"]
        {
            assert!(of(good.as_bytes()), "{good}");
        }
        for bad in [
            "a b", "user@a", "a/b", "a:b", "a:8080x", ":80", "::1", "[::1", "::1]", "a?b", "a#b", "a\\b",
            "[]x",
        ] {
            assert!(!of(bad.as_bytes()), "{bad}");
        }
        assert!(!of(b"\xff"));
    }

    #[test]
    fn a_body_comes_in_chunks_alone_or_at_its_length() {
        let fault = |codings: &[&'static str]| {
            let coding = |coding: &&'static str| (TRANSFER_ENCODING, HeaderValue::from_static(coding));
            coding_fault(&codings.iter().map(coding).collect())
        };
        for good in [&[][..], &["chunked"], &["Chunked"]] {
            assert_eq!(fault(good), None, "{good:?}");
        }
        for bad in
            [&["gzip, chunked"][..], &["gzip", "chunked"], &["chunked", "chunked"], &["identity"], &[""]]
        {
            assert!(fault(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn only_http_1_1_must_have_one() {
        let none = HeaderMap::new();
        assert!(fault(Version::HTTP_11, &none).is_some());
        assert!(fault(Version::HTTP_10, &none).is_none() && fault(Version::HTTP_2, &none).is_none());
    }
}
