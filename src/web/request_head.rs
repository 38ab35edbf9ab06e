//! The parts of a request that passed the early rejects.

use std::mem;
use std::sync::atomic::AtomicUsize;

use futures_util::Stream;
use hyper::{Request, Uri};
use tokio::sync::watch;

use super::prelude::*;

pub(super) type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, warp::Error>> + Send>>;

/// A request without its body. Deliberately not `Debug`: headers hold the token.
pub struct RequestHead {
    /// The method as sent (`HEAD` on a `GET` route stays `HEAD`).
    pub method: Method,
    /// The target as sent, still percent-encoded.
    pub uri: Uri,
    /// All headers.
    pub headers: HeaderMap,
    /// The client's connection; absent only when no listener of ours accepted it.
    pub peer: Option<Peer>,
    /// The number of unknown keys and values in the body, once it has been read.
    pub(super) unknown_keys: AtomicUsize,
    /// The number of values that were read as meant, once they have been read.
    pub(super) changed_values: AtomicUsize,
    /// A limit on the wait for the body while the daemon drains; absent where no body is coming.
    pub(super) last_call: Option<BodyDrainDeadline>,
}

#[derive(Debug, Clone)]
pub(super) struct BodyDrainDeadline {
    draining: watch::Receiver<bool>,
    longest: Duration,
}

impl BodyDrainDeadline {
    pub(super) fn new(draining: watch::Receiver<bool>, longest: Duration) -> Self {
        Self { draining, longest }
    }

    pub(super) async fn over(mut self) {
        // A closed channel means that the drain has begun, too.
        let _ = self.draining.wait_for(|begun| *begun).await;
        tokio::time::sleep(self.longest).await;
    }
}

impl RequestHead {
    pub(super) fn take<B>(request: &mut Request<B>) -> Self {
        Self {
            method: request.method().clone(),
            uri: mem::take(request.uri_mut()),
            headers: mem::take(request.headers_mut()),
            peer: request.extensions().get::<Peer>().copied(),
            unknown_keys: AtomicUsize::new(0),
            changed_values: AtomicUsize::new(0),
            last_call: request.extensions().get::<BodyDrainDeadline>().cloned(),
        }
    }
}
