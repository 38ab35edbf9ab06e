//! Turns new work away while there is no room for it in the queue, before a request is taken apart: refusing must cost next to
//! nothing, or it is what there is no time for.
//!
//! It stands outside of the panic boundary, so nothing here may panic, whatever was sent.

use hyper::Request;
use warp::reply::Response;

use super::caller::{self, Authenticate, Principal};
use super::exchange::Exchange;
use super::peer::Peer;
use super::router::Found;
use super::surface::Surface;
use crate::ids;

/// The answer to a request that brings new work and has no room in the queue; `None` lets it go on. Whose token is not good is told
/// so further on.
///
/// It counts for its address all the same, and is refused for that first, so that a flood is told as much.
pub(super) fn turned_away<A: Authenticate, B>(
    surface: &Surface<A>,
    request: &Request<B>,
) -> Option<Response> {
    let (method, headers) = (request.method(), request.headers());
    let line = surface.gate.full_line(method)?;
    let Found::Resource(resource, _) = surface.router.find(request.uri().path()) else { return None };
    // What else a path is asked for, such as its methods, is no work.
    let route = resource.route(method)?;
    let principal = caller::identify(route.scope, headers, &[], &*surface.app).ok()?;
    if !line.refuses(principal.as_ref().and_then(Principal::company).unwrap_or_default()) {
        return None;
    }

    let exchange = Exchange::begin(ids::random(), method, headers);
    let _span = exchange.span_of_answer(surface.meter.listener()).entered();
    let mut visit = surface.gate.visit(request.extensions().get::<Peer>().copied(), headers);
    let answer = match surface.gate.let_in(&mut visit) {
        Ok(()) => surface.gate.refuse_full(),
        Err(failure) => failure.into_response(),
    };
    let welcome = surface.welcome.borrow();
    Some(exchange.seal(surface, &welcome, &visit, resource.template(), answer))
}
