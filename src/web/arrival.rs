//! A request that passed the door, in its parts.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use futures_util::Stream;
use hyper::{HeaderMap, Method, Request, Uri};

use super::last_call::LastCall;
use super::peer::Peer;

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

/// A request in its parts, nothing decoded.
pub(super) struct Arrival {
    pub(super) head: Arc<Head>,
    pub(super) body: BodyStream,
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
