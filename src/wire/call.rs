//! What is sent, and what comes back.

use std::time::Duration;

use bytes::Bytes;
use hyper::{HeaderMap, Method, StatusCode};

/// One request. Headers and body hold personal data and secrets, so it is not `Debug`.
#[derive(Clone)]
pub struct Call {
    /// Its method.
    pub method: Method,
    /// Its absolute URL, without user or password.
    pub url: String,
    /// Its headers; those that frame the body (`content-length`, `transfer-encoding`) are the wire's own.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// Whether sending it twice does no harm.
    pub idempotent: bool,
}

/// One answer, whatever its status.
#[derive(Clone)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers; those that spoke of its codings are gone.
    pub headers: HeaderMap,
    /// Its whole body, its codings undone.
    pub body: Bytes,
    /// How often the call was sent for it, attempts that did not come through included.
    pub sent: u8,
    /// How long it took.
    pub took: Phases,
}

/// How long the phases of a call took that was answered, of the attempt that came through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// Until there was a connection, from the pool or a new one: name, TCP and TLS.
    pub connect: Duration,
    /// From there until the head of the answer.
    pub wait: Duration,
    /// Reading the body.
    pub read: Duration,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Reply")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body", &self.body.len())
            .field("sent", &self.sent)
            .finish()
    }
}
