//! What a client reads when a request succeeds, and when it already holds the same bytes (304).

use std::fmt::Display;
use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use hyper::header::{ALLOW, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH, RETRY_AFTER};
use hyper::{HeaderMap, Method, StatusCode};
use serde::Serialize;
use warp::Reply as _;
use warp::reply::Response;

use super::failure::Failure;
use super::gate::Passage;

/// A successful answer. Starts as 200; its verbs add the rest.
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
    /// Held until the answer is made or, of a stream, told to its end.
    passage: Passage,
}

enum Body {
    Whole(Bytes),
    Stream(Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send + Sync>>),
}

impl Reply {
    /// `value` as JSON. A value that cannot be written is our fault: logged here, opaque to the client.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        let body = serde_json::to_vec(value).map_err(|error| {
            tracing::error!(%error, "answer could not be serialised");
            Failure::internal()
        })?;
        Ok(Self::json_bytes(body))
    }

    /// JSON that is serialised already, such as a stored rate table.
    pub fn json_bytes(body: impl Into<Bytes>) -> Self {
        Self::bytes("application/json", body)
    }

    /// Bytes of another type, such as an image.
    pub fn bytes(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::empty(StatusCode::OK).with_body(content_type, Body::Whole(body.into()))
    }

    /// A body that is written as it comes into being, such as an event stream. The drain deadline cuts it.
    pub fn stream<S>(content_type: &'static str, chunks: S) -> Self
    where
        S: Stream<Item = io::Result<Bytes>> + Send + Sync + 'static,
    {
        Self::empty(StatusCode::OK).with_body(content_type, Body::Stream(Box::pin(chunks)))
    }

    /// No body at all, for 204 and redirects.
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Body::Whole(Bytes::new()),
            passage: Passage::default(),
        }
    }

    /// What a resource answers to `OPTIONS`: its methods.
    pub(super) fn options(allow: HeaderValue) -> Self {
        Self::empty(StatusCode::NO_CONTENT).header(ALLOW, allow)
    }

    /// Answers with another success status.
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Names these bytes by a strong entity tag; a client that sends it back gets 304. `tag` goes without
    /// quotes.
    #[must_use]
    pub fn etag(self, tag: impl Display) -> Self {
        let value = HeaderValue::try_from(format!("\"{tag}\""));
        debug_assert!(value.is_ok(), "an entity tag is visible ASCII");
        match value {
            Ok(value) => self.header(ETAG, value),
            Err(_) => self,
        }
    }

    /// Tells a polling client when to come again.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        self.header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Sets one more header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The same answer in other words. `mark` goes behind its entity tag, so that the two are told apart. A
    /// stream stays as it is.
    pub fn reworded(
        mut self,
        mark: &str,
        reword: impl FnOnce(&[u8]) -> Result<Vec<u8>, Failure>,
    ) -> Result<Self, Failure> {
        if let Body::Whole(body) = &self.body {
            self.body = Body::Whole(reword(body)?.into());
        }
        let tag = self.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        let marked = tag.map(|tag| format!("{}{mark}", tag.trim_matches('"')));
        Ok(match marked {
            Some(marked) => self.etag(marked),
            None => self,
        })
    }

    /// Keeps a request's place among those under way.
    pub(super) fn holding(self, passage: Passage) -> Self {
        Self { passage, ..self }
    }

    /// Turns the reply into an answer, 304 when the client `held` the same bytes.
    pub(super) fn into_response(mut self, held: &HeldTags) -> Response {
        let unchanged =
            self.status == StatusCode::OK && self.headers.get(ETAG).is_some_and(|tag| held.cover(tag));
        if unchanged {
            self.headers.remove(CONTENT_TYPE);
            self = Self { body: Body::Whole(Bytes::new()), status: StatusCode::NOT_MODIFIED, ..self };
        }
        let mut response = match self.body {
            Body::Whole(body) => Response::new(body.into()),
            Body::Stream(chunks) => {
                let passage = self.passage;
                let chunks = chunks.inspect(move |_| {
                    let _held = &passage;
                });
                warp::reply::stream(chunks).into_response()
            }
        };
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    fn with_body(mut self, content_type: &'static str, body: Body) -> Self {
        self.body = body;
        self.header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }
}

/// The entity tags that a client says it holds (`If-None-Match`).
#[derive(Debug, Default)]
pub(super) struct HeldTags(Vec<HeaderValue>);

impl HeldTags {
    /// Reads them off a request. Only reading methods are conditional here.
    pub(super) fn of(method: &Method, headers: &HeaderMap) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self(headers.get_all(IF_NONE_MATCH).iter().cloned().collect()),
            _ => Self::default(),
        }
    }

    /// Whether `tag` is among them, by weak comparison (RFC 9110, 13.1.2).
    fn cover(&self, tag: &HeaderValue) -> bool {
        let lists = self.0.iter().filter_map(|value| value.to_str().ok());
        let mut held = lists.flat_map(|list| list.split(',')).map(str::trim);
        held.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one).as_bytes() == tag.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_for(method: Method, if_none_match: &str) -> StatusCode {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_str(if_none_match).unwrap());
        let held = HeldTags::of(&method, &headers);
        Reply::json_bytes("{}").etag("v7").into_response(&held).status()
    }

    #[test]
    fn a_held_tag_is_found_anywhere_in_the_list() {
        assert_eq!(status_for(Method::GET, r#""v6", W/"v7""#), StatusCode::NOT_MODIFIED);
        assert_eq!(status_for(Method::HEAD, "*"), StatusCode::NOT_MODIFIED);
        assert_eq!(status_for(Method::GET, r#""v77""#), StatusCode::OK);
        assert_eq!(status_for(Method::POST, "*"), StatusCode::OK);
    }
}
