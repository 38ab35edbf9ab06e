//! The one warp filter: it takes a request that passed the door apart and decides nothing.

use std::pin::Pin;

use bytes::{Buf, Bytes};
use futures_util::{Stream, StreamExt};
use hyper::{HeaderMap, Method};
use warp::path::FullPath;
use warp::{Filter, Rejection};

use super::peer::Peer;

/// The chunks of a body, as they come off the wire. A chunk is taken whole: it lies in memory already.
pub(super) type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, warp::Error>> + Send>>;

/// A request in its parts, nothing decoded.
pub(super) struct Arrival {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    pub(super) peer: Option<Peer>,
    pub(super) body: BodyStream,
}

/// Takes every request apart. Rejects none: which paths and methods exist is the router's to say.
pub(super) fn arrival() -> impl Filter<Extract = (Arrival,), Error = Rejection> + Clone {
    let query = warp::query::raw().or(warp::any().map(String::new)).unify();
    warp::method()
        .and(warp::path::full())
        .and(query)
        .and(warp::header::headers_cloned())
        .and(warp::ext::optional::<Peer>())
        .and(body())
        .map(|method, path: FullPath, query, headers, peer, body| {
            let path = path.as_str().to_owned();
            Arrival { method, path, query, headers, peer, body }
        })
}

fn body() -> impl Filter<Extract = (BodyStream,), Error = Rejection> + Clone {
    warp::body::stream().map(|chunks| {
        let whole = |chunk: Result<_, warp::Error>| chunk.map(into_bytes);
        Box::pin(StreamExt::map(chunks, whole)) as BodyStream
    })
}

fn into_bytes(mut chunk: impl Buf) -> Bytes {
    chunk.copy_to_bytes(chunk.remaining())
}
