//! A surface as a hyper service: early rejects in front of warp ([`door`]), since refusals as warp rejections
//! would cost too much under load, then one warp filter that accepts every request.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::Poll;

use bytes::Buf;
use futures_util::future::{BoxFuture, Either, ready};
use futures_util::{Stream, StreamExt, stream};
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::service::TowerToHyperService;
use warp::Filter;
use warp::reply::Response;

use super::activity::Activity;
use super::caller::Authenticate;
use super::request_head::{BodyStream, RequestHead};
use super::surface::Surface;
use super::{door, envelope};

type AnswerFuture = BoxFuture<'static, Result<Response, Infallible>>;

/// What a [`Listener`](super::Listener) serves, boxed, so that the code of HTTP is compiled once.
#[derive(Clone)]
pub struct HttpService(Arc<dyn Fn(Request<Incoming>) -> AnswerFuture + Send + Sync>);

impl HttpService {
    /// Wraps a service, such as a warp filter in `TowerToHyperService::new(warp::service(filter))`.
    pub fn new<S>(service: S) -> Self
    where
        S: Service<Request<Incoming>, Response = Response, Error = Infallible> + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        Self(Arc::new(move |request| Box::pin(service.call(request))))
    }
}

impl Service<Request<Incoming>> for HttpService {
    type Response = Response;
    type Error = Infallible;
    type Future = AnswerFuture;

    fn call(&self, request: Request<Incoming>) -> AnswerFuture {
        (self.0)(request)
    }
}

trait AnySurface: Send + Sync {
    fn refused(&self, request: &Request<Incoming>) -> Option<Response>;

    fn answer(self: Arc<Self>, head: Arc<RequestHead>, body: BodyStream) -> BoxFuture<'static, Response>;
}

impl<A: Authenticate + Send + Sync + 'static> AnySurface for Surface<A> {
    fn refused(&self, request: &Request<Incoming>) -> Option<Response> {
        door::refused(self, request)
    }

    fn answer(self: Arc<Self>, head: Arc<RequestHead>, body: BodyStream) -> BoxFuture<'static, Response> {
        Box::pin(envelope::answer(self, head, body))
    }
}

/// Makes a surface servable by a [`Listener`](super::Listener).
pub fn service<A: Authenticate + Send + Sync + 'static>(surface: Surface<A>) -> HttpService {
    filtered(Arc::new(surface))
}

fn filtered(surface: Arc<dyn AnySurface>) -> HttpService {
    let inside = Arc::clone(&surface);
    let taken_apart = warp::ext::get::<Arc<RequestHead>>()
        .and(warp::body::stream())
        .and(warp::ext::optional::<Arc<Activity>>());
    let answered = taken_apart
        .then(move |head, chunks, activity| Arc::clone(&inside).answer(head, body(chunks, activity)));
    let warped = TowerToHyperService::new(warp::service(answered));
    HttpService::new(service_fn(move |mut request: Request<_>| match surface.refused(&request) {
        Some(refusal) => Either::Left(ready(Ok(refusal))),
        None => {
            let head = Arc::new(RequestHead::take(&mut request));
            request.extensions_mut().insert(head);
            Either::Right(warped.call(request))
        }
    }))
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
