//! A request that passed the door, in its parts: the one warp filter takes it apart and decides nothing.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Poll;

use bytes::{Buf, Bytes};
use futures_util::{Stream, StreamExt, stream};
use hyper::{HeaderMap, Method, Uri};
use warp::{Filter, Rejection};

use super::activity::Activity;
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

/// Puts the head where [`arrival`] finds it, since a filter could only copy it from where it stands.
pub(super) fn with_head<B>(mut request: hyper::Request<B>) -> hyper::Request<B> {
    let head = Head {
        method: request.method().clone(),
        uri: mem::take(request.uri_mut()),
        headers: mem::take(request.headers_mut()),
        peer: request.extensions().get::<Peer>().copied(),
        unknown_keys: AtomicUsize::new(0),
        last_call: request.extensions().get::<LastCall>().cloned(),
    };
    request.extensions_mut().insert(Arc::new(head));
    request
}

/// Takes every request apart that comes [with its head](with_head). Rejects none: which paths and methods exist is the router's to
/// say.
pub(super) fn arrival() -> impl Filter<Extract = (Arrival,), Error = Rejection> + Clone {
    warp::ext::get::<Arc<Head>>().and(body()).map(|head, body| Arrival { head, body })
}

fn body() -> impl Filter<Extract = (BodyStream,), Error = Rejection> + Clone {
    warp::body::stream().and(warp::ext::optional::<Arc<Activity>>()).map(|chunks, activity: Option<_>| {
        let whole = |chunk: Result<_, warp::Error>| chunk.map(into_bytes);
        let end = stream::poll_fn(move |_| {
            received(activity.as_ref());
            Poll::Ready(None)
        });
        Box::pin(StreamExt::map(chunks, whole).chain(end)) as BodyStream
    })
}

/// Notes that a body was read to its end.
fn received(activity: Option<&Arc<Activity>>) {
    if let Some(activity) = activity {
        activity.receives(false);
    }
}

fn into_bytes(mut chunk: impl Buf) -> Bytes {
    chunk.copy_to_bytes(chunk.remaining())
}
