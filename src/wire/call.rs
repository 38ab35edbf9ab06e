//! Requests and replies.

use std::time::Duration;

use bytes::Bytes;
use hyper::{HeaderMap, Method, StatusCode};

use super::error::CallError;

/// One request. Not `Debug`, since headers and body hold personal data and secrets.
#[derive(Clone)]
pub struct Call {
    /// HTTP method.
    pub method: Method,
    /// Absolute URL, without user or password.
    pub url: String,
    /// HTTP headers; the wire sets those that frame the body (`content-length`, `transfer-encoding`).
    pub headers: HeaderMap,
    /// Request body.
    pub body: Bytes,
    /// Whether repeating the request is harmless.
    pub idempotent: bool,
}

/// A reply, or why there is none.
pub type CallResult = Result<CallReply, CallError>;

/// One reply, of any status.
#[derive(Clone)]
pub struct CallReply {
    /// HTTP status.
    pub status: StatusCode,
    /// HTTP headers, without those about content codings.
    pub headers: HeaderMap,
    /// The whole body, decoded.
    pub body: Bytes,
    /// Number of times that the call was sent, failed attempts included.
    pub sent: u8,
    /// Time taken by phase.
    pub took: Phases,
}

/// Durations of the phases of the successful attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// Until a connection was available, pooled or new: name resolution, TCP and TLS.
    pub connect: Duration,
    /// From there until the head of the answer.
    pub wait: Duration,
    /// Reading the body.
    pub read: Duration,
}

impl std::fmt::Debug for CallReply {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Reply")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body", &self.body.len())
            .field("sent", &self.sent)
            .finish()
    }
}
