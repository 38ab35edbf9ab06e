//! A surface as a listener serves it: what is refused in front of warp, and the way behind it.

use std::sync::Arc;

use futures_util::future::{Either, ready};
use hyper::service::{Service, service_fn};
use hyper_util::service::TowerToHyperService;
use warp::Filter;

use super::arrival::{arrival, with_head};
use super::caller::Authenticate;
use super::door;
use super::envelope;
use super::host;
use super::listener::HttpService;
use super::surface::Surface;

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
            None => Either::Right(warped.call(with_head(request))),
        }
    })
}
