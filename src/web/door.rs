//! Turns new work away while there is no room for it in the queue, before a request is taken apart: refusing must cost next to
//! nothing, or it is what there is no time for.
//!
//! It stands outside of the panic boundary, so nothing here may panic, whatever was sent.

use hyper::Request;
use warp::reply::Response;

use super::caller::{self, Authenticate, Principal};
use super::exchange;
use super::router::Found;
use super::surface::Surface;

/// The answer to a request that brings new work and has no room in the queue; `None` lets it go on. Whose token is not good is told
/// so further on.
///
/// It counts for its address all the same, and is refused for that first, so that a flood is told as much.
pub(super) fn turned_away<A: Authenticate, B>(
    surface: &Surface<A>,
    request: &Request<B>,
) -> Option<Response> {
    let line = surface.gate.full_line(request.method())?;
    let Found::Resource(resource, _) = surface.router.find(request.uri().path()) else { return None };
    // What else a path is asked for, such as its methods, is no work.
    let route = resource.route(request.method())?;
    let principal = caller::identify(route.scope, request.headers(), &[], &*surface.app).ok()?;
    if !line.refuses(principal.as_ref().and_then(Principal::company).unwrap_or_default()) {
        return None;
    }
    Some(exchange::refused(surface, request, resource.template(), || surface.gate.refuse_full()))
}
