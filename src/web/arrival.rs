//! A request that passed the door, in its parts.

use std::mem;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use hyper::{HeaderMap, Method, Request, Uri};
use tokio::sync::watch;

use super::client_address::Peer;

/// A body as it comes in.
pub(super) type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, warp::Error>> + Send>>;

/// All of a request but its body, and a note on that; shared by whoever looks at it, since what was sent never changes. Deliberately not `Debug`: headers hold
/// the token.
pub struct Head {
    /// The method as sent (`HEAD` on a `GET` route stays `HEAD`).
    pub method: Method,
    /// The target as sent, still percent-encoded.
    pub uri: Uri,
    /// All headers.
    pub headers: HeaderMap,
    /// Who sent it; absent only when no listener of ours accepted it.
    pub peer: Option<Peer>,
    /// How many keys, or values, of its body mean nothing, once it was read.
    pub(super) unknown_keys: AtomicUsize,
    /// Until when its body is waited for, whatever it may take otherwise; absent where none is coming.
    pub(super) last_call: Option<LastCall>,
}

/// Tells when a body that is still coming is not waited for any more: once we drain it has a part of the drain to come to its end, so
/// that no client holds it. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct LastCall {
    draining: watch::Receiver<bool>,
    longest: Duration,
}

impl LastCall {
    /// Bodies are waited for so long from when `draining` turns true.
    pub(super) fn new(draining: watch::Receiver<bool>, longest: Duration) -> Self {
        Self { draining, longest }
    }

    /// Returns then.
    pub(super) async fn over(mut self) {
        // A sender that is gone means the same.
        let _ = self.draining.wait_for(|begun| *begun).await;
        tokio::time::sleep(self.longest).await;
    }
}

impl Head {
    /// Takes the head out of a request, which keeps its body and its extensions.
    pub(super) fn take<B>(request: &mut Request<B>) -> Self {
        Self {
            method: request.method().clone(),
            uri: mem::take(request.uri_mut()),
            headers: mem::take(request.headers_mut()),
            peer: request.extensions().get::<Peer>().copied(),
            unknown_keys: AtomicUsize::new(0),
            last_call: request.extensions().get::<LastCall>().cloned(),
        }
    }
}
