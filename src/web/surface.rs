//! One public listener's whole surface: what it offers, to whom, in which editions.

use std::sync::Arc;

use futures_util::future::{Either, ready};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper::{Request, Uri};
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use warp::Filter;

use super::answer_meter::AnswerMeter;
use super::arrival::arrival;
use super::caller::Authenticate;
use super::door;
use super::envelope;
use super::gate::Gate;
use super::handler::Handler;
use super::host;
use super::listener::HttpService;
use super::router::Router;
use super::welcome::Welcome;

/// What a public listener serves.
pub struct Surface<A> {
    /// Counts its answers, by the listener's name.
    pub meter: AnswerMeter,
    /// The application that handlers are given.
    pub app: Arc<A>,
    /// The compiled route table.
    pub router: Router<Handler<A>>,
    /// What it lets past.
    pub gate: Arc<Gate>,
    /// Who is welcome as of now; a request keeps to what it finds when it arrives.
    pub welcome: watch::Receiver<Arc<Welcome>>,
}

/// Makes a surface servable by a [`Listener`](super::Listener).
pub fn service<A>(surface: Surface<A>) -> impl HttpService
where
    A: Authenticate + Send + Sync + 'static,
{
    let surface = Arc::new(surface);
    let inside = Arc::clone(&surface);
    let answered = arrival().then(move |arrival| envelope::answer(Arc::clone(&inside), arrival));
    let warped = TowerToHyperService::new(warp::service(answered));
    service_fn(move |request| {
        match host::refused(&surface, &request).or_else(|| door::turned_away(&surface, &request)) {
            Some(refusal) => Either::Left(ready(Ok(refusal))),
            None => Either::Right(warped.call(with_path(request))),
        }
    })
}

/// A target that is only a host, as proxies are sent (`CONNECT offers.example:443`), has no path, and warp panics on it. It
/// becomes `*`, which names no resource either.
fn with_path(mut request: Request<Incoming>) -> Request<Incoming> {
    if request.uri().path_and_query().is_none() {
        *request.uri_mut() = Uri::from_static("*");
    }
    request
}
