//! A surface as a hyper service: early rejects in front of warp, then one warp filter that accepts every
//! request. Refusals as warp rejections would cost too much under load ([`door`]), and know neither `Allow`
//! nor the route table for the hints of a 404.

use std::sync::Arc;
use std::task::Poll;

use bytes::Buf;
use futures_util::future::{Either, ready};
use futures_util::{Stream, StreamExt, stream};
use hyper::Request;
use hyper::service::{Service, service_fn};
use hyper_util::service::TowerToHyperService;
use warp::Filter;

use super::activity::Activity;
use super::arrival::{BodyStream, RequestHead};
use super::caller::Authenticate;
use super::listener::HttpService;
use super::surface::Surface;
use super::{door, envelope};

/// Makes a surface servable by a [`Listener`](super::Listener).
pub fn service<A>(surface: Surface<A>) -> impl HttpService
where
    A: Authenticate + Send + Sync + 'static,
{
    let surface = Arc::new(surface);
    let inside = Arc::clone(&surface);
    let taken_apart = warp::ext::get::<Arc<RequestHead>>()
        .and(warp::body::stream())
        .and(warp::ext::optional::<Arc<Activity>>());
    let answered = taken_apart.then(move |head, chunks, activity| {
        envelope::answer(Arc::clone(&inside), head, body(chunks, activity))
    });
    let warped = TowerToHyperService::new(warp::service(answered));
    service_fn(move |mut request: Request<_>| match door::refused(&surface, &request) {
        Some(refusal) => Either::Left(ready(Ok(refusal))),
        None => {
            let head = Arc::new(RequestHead::take(&mut request));
            request.extensions_mut().insert(head);
            Either::Right(warped.call(request))
        }
    })
}

/// A body that marks its connection's activity as no longer receiving when it ends.
fn body<B: Buf>(
    chunks: impl Stream<Item = Result<B, warp::Error>> + Send + 'static,
    activity: Option<Arc<Activity>>,
) -> BodyStream {
    let whole = chunks.map(|chunk| chunk.map(|mut chunk: B| chunk.copy_to_bytes(chunk.remaining())));
    let end = stream::poll_fn(move |_| {
        activity.iter().for_each(|activity| activity.receives(false));
        Poll::Ready(None)
    });
    Box::pin(whole.chain(end))
}
