//! Successful answers: bodies, compression, and 304 where the client already holds the same bytes.

use std::fmt::Display;
use std::io;

use futures_util::{Stream, StreamExt};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    ETAG, IF_NONE_MATCH, LOCATION, REFERRER_POLICY, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use serde::Serialize;
use warp::Reply as _;
use warp::reply::Response;

use super::coding::{self, Coding, RenditionName, Renditions, without_coding};
use super::cors::OWN_SITE;
use super::failure::{HEADERS, our_fault};
use super::gate::HeldPermits;
use super::list;
use super::prelude::*;

const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A successful answer. Starts as 200; its methods add the rest.
#[must_use]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: ReplyBody,
    compressible: bool,
    words: &'static str,
    renditions: Option<Box<dyn Renditions>>,
    /// Held until the answer is made or, for a stream, until it ends.
    permits: HeldPermits,
}

enum ReplyBody {
    Whole(Bytes),
    Stream(Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send + Sync>>),
}

impl Reply {
    /// Serialises `value` as JSON. A failure is an internal error: logged here, opaque to the client.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        Ok(Self::json_bytes(serde_json::to_vec(value).map_err(our_fault("answer could not be serialised"))?))
    }

    /// An HTML page, with its content security policy.
    pub fn page(html: impl Into<Bytes>, policy: HeaderValue) -> Self {
        Self::bytes("text/html; charset=utf-8", html).header(CONTENT_SECURITY_POLICY, policy)
    }

    /// JSON that is already serialised, such as a stored rate table.
    pub fn json_bytes(body: impl Into<Bytes>) -> Self {
        Self::bytes("application/json", body)
    }

    /// A body of another type, such as an image.
    pub fn bytes(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::empty(StatusCode::OK).with_body(content_type, ReplyBody::Whole(body.into()))
    }

    /// A streamed body, such as an event stream, unbuffered. The drain deadline cuts it.
    pub fn stream<S>(content_type: &'static str, chunks: S) -> Self
    where
        S: Stream<Item = io::Result<Bytes>> + Send + Sync + 'static,
    {
        let reply = Self::empty(StatusCode::OK).with_body(content_type, ReplyBody::Stream(Box::pin(chunks)));
        reply.header(UNBUFFERED, HeaderValue::from_static("no"))
    }

    /// An answer without a body, for 204 and redirects.
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::with_capacity(HEADERS),
            body: ReplyBody::Whole(Bytes::new()),
            compressible: false,
            words: "",
            renditions: None,
            permits: HeldPermits::default(),
        }
    }

    /// A 304 for bytes that the client already holds; the caller adds their [`etag`](Self::etag).
    pub fn not_modified() -> Self {
        Self::empty(StatusCode::NOT_MODIFIED)
    }

    /// The answer to `OPTIONS`, with the methods of the resource.
    pub(super) fn options(allow: HeaderValue) -> Self {
        Self::empty(StatusCode::NO_CONTENT).header(ALLOW, allow)
    }

    /// Sets another success status.
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets a strong entity tag, given without quotes. A client that sends it back gets 304.
    pub fn etag(self, tag: impl Display) -> Self {
        let value = HeaderValue::try_from(format!("\"{tag}\""));
        self.header(ETAG, value.expect("an entity tag is visible ASCII"))
    }

    /// Allows compression. Not for answers that mix secrets with foreign input (`SECURITY.md`).
    pub fn compressible(self) -> Self {
        Self { compressible: true, ..self }
    }

    /// Uses a cache for other editions and codings of the body.
    pub fn kept_in(self, renditions: impl Renditions + 'static) -> Self {
        Self { renditions: Some(Box::new(renditions)), ..self }
    }

    /// Tells a polling client when to poll again.
    pub fn retry_after(self, seconds: u32) -> Self {
        self.header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Makes it a 201 with a `Location`.
    pub fn created(self, location: String) -> Self {
        let location = HeaderValue::try_from(location).expect("an address of ours is visible ASCII");
        self.status(StatusCode::CREATED).header(LOCATION, location)
    }

    /// Allows caching for an hour: the content changes with the program, or hardly ever.
    pub fn kept_an_hour(self) -> Self {
        self.header(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"))
    }

    /// Forbids content sniffing, and sends no referrer from its links.
    pub fn guarded(self) -> Self {
        self.header(REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
            .header(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))
    }

    /// Keeps pages of other origins from reading it, whatever the CORS settings.
    pub fn own_site(self) -> Self {
        self.header(OWN_SITE, HeaderValue::from_static("same-origin"))
    }

    /// Sets a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Rewrites the body for another edition, with `mark` in its entity tag; not of streams and 304s.
    pub fn reworded(
        mut self,
        mark: &'static str,
        reword: impl FnOnce(&[u8]) -> Result<Vec<u8>, Failure>,
    ) -> Result<Self, Failure> {
        self.words = mark;
        if let ReplyBody::Whole(body) = &self.body
            && self.status != StatusCode::NOT_MODIFIED
        {
            let rendition = (mark, Coding::Plain.name());
            let reworded = match self.rendition(rendition) {
                Some(reworded) => reworded,
                None => self.keep(rendition, reword(body)?.into()),
            };
            self.body = ReplyBody::Whole(reworded);
        }
        Ok(self.mark_tag(mark))
    }

    fn rendition(&self, rendition: RenditionName) -> Option<Bytes> {
        self.renditions.as_ref()?.find(rendition)
    }

    fn keep(&self, rendition: RenditionName, bytes: Bytes) -> Bytes {
        if let Some(renditions) = &self.renditions {
            renditions.keep(rendition, &bytes);
        }
        bytes
    }

    fn mark_tag(self, mark: &str) -> Self {
        let Some(tag) = self.headers.get(ETAG).filter(|_| !mark.is_empty()).cloned() else { return self };
        let Ok(text) = tag.to_str() else { return self };
        self.etag(format_args!("{}{mark}", text.trim_matches('"')))
    }

    pub(super) fn varying_by_accept(mut self) -> Self {
        self.headers.append(VARY, HeaderValue::from_name(ACCEPT));
        self
    }

    pub(super) fn with_permits(self, permits: HeldPermits) -> Self {
        Self { permits, ..self }
    }

    pub(super) fn unless_held(self, held: &HeldTags) -> Self {
        if ![StatusCode::OK, StatusCode::NOT_MODIFIED].contains(&self.status) {
            return self;
        }
        let Some(tag) = self.headers.get(ETAG).and_then(|tag| held.find(tag)) else { return self };
        let mut unchanged =
            Self { body: ReplyBody::Whole(Bytes::new()), status: StatusCode::NOT_MODIFIED, ..self };
        unchanged.headers.remove(CONTENT_TYPE);
        unchanged.header(ETAG, tag)
    }

    pub(super) async fn coded(mut self, coding: Coding) -> Self {
        if !self.compressible {
            return self;
        }
        self.headers.append(VARY, HeaderValue::from_name(ACCEPT_ENCODING));
        let plain = match &self.body {
            ReplyBody::Whole(body) if coding != Coding::Plain && body.len() >= coding::LEAST_BYTES => {
                body.clone()
            }
            _ => return self,
        };
        let rendition = (self.words, coding.name());
        let compressed = match self.rendition(rendition) {
            Some(kept) => kept,
            None => match compressed(coding, plain).await {
                Some(made) => self.keep(rendition, made),
                None => return self,
            },
        };
        self.body = ReplyBody::Whole(compressed);
        self.mark_tag(&format!("-{}", coding.name()))
            .header(CONTENT_ENCODING, HeaderValue::from_static(coding.name()))
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = match self.body {
            ReplyBody::Whole(body) => Response::new(body.into()),
            ReplyBody::Stream(chunks) => {
                let permits = self.permits;
                let chunks = chunks.inspect(move |_| {
                    let _held = &permits;
                });
                warp::reply::stream(chunks).into_response()
            }
        };
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    fn with_body(mut self, content_type: &'static str, body: ReplyBody) -> Self {
        self.body = body;
        self.header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }
}

/// The entity tags of a request's `If-None-Match`.
#[derive(Debug)]
pub struct HeldTags<'h>(Option<&'h HeaderMap>);

impl<'h> HeldTags<'h> {
    /// Reads them from a request. Only `GET` and `HEAD` are conditional.
    pub fn of(method: &Method, headers: &'h HeaderMap) -> Self {
        Self(matches!(*method, Method::GET | Method::HEAD).then_some(headers))
    }

    /// The tags without quotes and without the suffix of a coding.
    pub fn opaque(&self) -> impl Iterator<Item = &str> {
        self.each().map(|tag| without_coding(tag.trim_matches('"')))
    }

    /// The tag that names the same content, in any coding, by weak comparison (RFC 9110, 13.1.2).
    fn find(&self, tag: &HeaderValue) -> Option<HeaderValue> {
        let wanted = tag.to_str().ok()?.trim_matches('"');
        let held = self.each().find(|one| *one == "*" || without_coding(one.trim_matches('"')) == wanted)?;
        if held == "*" { Some(tag.clone()) } else { HeaderValue::from_str(held).ok() }
    }

    fn each(&self) -> impl Iterator<Item = &str> {
        let tags = self.0.into_iter().flat_map(|headers| list::items(headers, &IF_NONE_MATCH));
        tags.map(|tag| tag.strip_prefix("W/").unwrap_or(tag))
    }
}

/// Compresses a body; `None` if that fails, which is logged.
async fn compressed(coding: Coding, plain: Bytes) -> Option<Bytes> {
    if plain.len() <= coding::MOST_BYTES_AT_ONCE {
        return Some(coding.compress(&plain));
    }
    let compressing = tokio::task::spawn_blocking(move || coding.compress(&plain));
    compressing.await.inspect_err(|error| tracing::error!(%error, "an answer could not be compressed")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(if_none_match: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_str(if_none_match).unwrap());
        headers
    }

    fn status_for(method: Method, if_none_match: &str) -> StatusCode {
        let reply =
            Reply::json_bytes("{}").etag("v7").unless_held(&HeldTags::of(&method, &holding(if_none_match)));
        reply.into_response().status()
    }

    #[test]
    fn a_held_tag_is_found_anywhere_in_the_list() {
        assert_eq!(status_for(Method::GET, r#""v6", W/"v7""#), StatusCode::NOT_MODIFIED);
        assert_eq!(status_for(Method::HEAD, "*"), StatusCode::NOT_MODIFIED);
        assert_eq!(status_for(Method::GET, r#""v77""#), StatusCode::OK);
        assert_eq!(status_for(Method::POST, "*"), StatusCode::OK);
    }

    #[test]
    fn a_client_holds_the_same_in_whichever_coding_and_is_told_the_tag_that_it_holds() {
        for (list, tag) in [
            (r#""v6", "v7-gzip""#, "\"v7-gzip\""),
            (r#""v7-br""#, "\"v7-br\""),
            (r#"W/"v7""#, "\"v7\""),
            ("*", "\"v7\""),
        ] {
            let client = holding(list);
            let reply = Reply::json_bytes("{}").etag("v7").unless_held(&HeldTags::of(&Method::GET, &client));
            assert_eq!(reply.into_response().headers()[ETAG], tag, "{list}");
        }
        assert_eq!(status_for(Method::GET, r#""v7-gzip-gzip""#), StatusCode::OK);
        assert_eq!(status_for(Method::GET, r#""v7-gzip-br""#), StatusCode::OK);
        let client = holding(r#"W/"a-gzip", "b""#);
        assert_eq!(HeldTags::of(&Method::GET, &client).opaque().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[tokio::test]
    async fn only_what_may_be_and_is_worth_it_is_compressed() {
        let long = "a".repeat(coding::LEAST_BYTES);
        let coding_of = async |reply: Reply, coding| {
            let response = reply.etag("v7").coded(coding).await.into_response();
            let encoding = response.headers().get(CONTENT_ENCODING).cloned();
            (encoding.is_some(), response.headers().contains_key(VARY), response.headers()[ETAG].clone())
        };
        let whole = || Reply::json_bytes(long.clone());
        let (plain, gzip) = ("\"v7\"", "\"v7-gzip\"");
        assert_eq!(coding_of(whole(), Coding::Gzip).await, (false, false, HeaderValue::from_static(plain)));
        let open = || whole().compressible();
        assert_eq!(coding_of(open(), Coding::Plain).await, (false, true, HeaderValue::from_static(plain)));
        assert_eq!(coding_of(open(), Coding::Gzip).await, (true, true, HeaderValue::from_static(gzip)));
        let brotli = HeaderValue::from_static("\"v7-br\"");
        assert_eq!(coding_of(open(), Coding::Brotli).await, (true, true, brotli));
        let short = Reply::json_bytes(long[1..].to_owned()).compressible();
        assert_eq!(coding_of(short, Coding::Gzip).await, (false, true, HeaderValue::from_static(plain)));
    }
}
