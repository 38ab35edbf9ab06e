//! An answer that is made once and given often: under load what is said most must cost least.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use warp::reply::Response;

use super::failure::Failure;

/// Room for an answer's own headers and for those that it is sealed with, so that they are moved nowhere on the way.
pub(super) const HEADERS: usize = 12;

/// What a failure is answered with, but for what each answer is sealed with.
#[derive(Debug)]
pub(super) struct StockAnswer {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

impl From<Failure> for StockAnswer {
    fn from(failure: Failure) -> Self {
        let Failure { status, errors, mut headers } = failure;
        let body = serde_json::to_vec(&errors).expect("strings and maps of strings always serialise");
        headers.push((CONTENT_TYPE, HeaderValue::from_static("application/json")));
        Self { status, headers, body: body.into() }
    }
}

impl StockAnswer {
    /// One answer more.
    pub(super) fn give(&self) -> Response {
        let mut response = Response::new(self.body.clone().into());
        *response.status_mut() = self.status;
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.extend(self.headers.iter().cloned());
        *response.headers_mut() = headers;
        response
    }
}
