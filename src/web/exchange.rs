//! One request from arrival to answer: adds the common headers, counts and logs it.

use std::net::IpAddr;
use std::time::Instant;

use hyper::header::{CACHE_CONTROL, CONNECTION, ORIGIN};
use hyper::{Request, Uri};
use warp::reply::Response;

use super::cors::CorsVendorPolicy;
use super::gate::RequestAdmission;
use super::prelude::*;
use super::surface::Surface;
use offerd_base::ids;
use offerd_base::telemetry::logging::ACCESS;

/// The route of a request for which no row was found, or looked for, in metrics and the access log.
pub(super) const UNKNOWN_ROUTE: &str = "unknown";

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

pub(super) struct HttpExchange {
    id: Uuid,
    begun: Instant,
    method: Method,
    origin: Option<HeaderValue>,
    /// For the access log, if it is on: the address of the client, and the path.
    access: Option<(Option<IpAddr>, String)>,
}

/// A part of a path that opens a person's data to its holder.
const SECRET_PART: &str = "{prefillToken}";

/// The path as the access log may have it: the words of its route and uuids. Whatever else a client puts
/// there, such as an address, may be of a person.
fn public_path(path: &str, route: &str) -> String {
    if route == UNKNOWN_ROUTE {
        return route.to_owned();
    }
    let part = |(found, wanted): (&'_ str, &'_ str)| {
        let is_public = found == wanted || (wanted != SECRET_PART && Uuid::try_parse(found).is_ok());
        if is_public { found.to_owned() } else { wanted.to_owned() }
    };
    path.split('/').zip(route.split('/')).map(part).collect::<Vec<_>>().join("/")
}

impl HttpExchange {
    pub(super) fn begin(id: Uuid, method: &Method, headers: &HeaderMap) -> Self {
        let origin = headers.get(ORIGIN).cloned();
        Self { id, begun: Instant::now(), method: method.clone(), origin, access: None }
    }

    /// Keeps what the access log needs of a request, if it is on.
    pub fn noting<A>(self, surface: &Surface<A>, peer: Option<Peer>, headers: &HeaderMap, uri: &Uri) -> Self {
        if !tracing::enabled!(target: ACCESS, tracing::Level::INFO) {
            return self;
        }
        Self { access: Some((surface.gate.address(peer, headers), uri.path().to_owned())), ..self }
    }

    /// Writes the line of the access log. It has no query, since a query may have values of a person.
    fn log(&self, admission: &RequestAdmission, route: &'static str, status: StatusCode, elapsed_ms: f64) {
        let Some((address, path)) = &self.access else { return };
        tracing::info!(
            target: ACCESS,
            request_id = %self.id,
            address = address.map(tracing::field::display),
            company = admission.caller.as_deref(),
            method = %self.method,
            path = public_path(path, route),
            status = status.as_u16(),
            elapsed_ms,
            "request answered"
        );
    }

    pub(super) fn finish<A>(
        self,
        surface: &Surface<A>,
        policy: &CorsVendorPolicy,
        admission: &RequestAdmission,
        route: &'static str,
        mut response: Response,
    ) -> Response {
        let headers = response.headers_mut();
        policy.cors.mark(headers, self.origin.as_ref());
        admission.mark(headers);
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        headers.insert(REQUEST_ID, request_id(self.id));
        let (method, status, elapsed) = (&self.method, response.status(), self.begun.elapsed());
        surface.meter.answered(route, status, elapsed);
        let elapsed_ms = elapsed.as_secs_f64() * 1e3;
        self.log(admission, route, status, elapsed_ms);
        tracing::debug!(%method, route, status = status.as_u16(), elapsed_ms, "request answered");
        response
    }
}

/// Answers with an early reject, finished like any other answer; the rate limit of its address goes first.
pub(super) fn refused<A, B>(
    surface: &Surface<A>,
    request: &Request<B>,
    route: &'static str,
    refusal: impl FnOnce() -> Response,
) -> Response {
    let (peer, headers) = (request.extensions().get::<Peer>().copied(), request.headers());
    let exchange = HttpExchange::begin(ids::random(), request.method(), headers);
    let exchange = exchange.noting(surface, peer, headers, request.uri());
    let listener = surface.meter.listener;
    let _span = tracing::debug_span!("request", request_id = %exchange.id, listener).entered();
    let mut admission = surface.gate.admission(peer, headers);
    let answer =
        surface.gate.admit_address(&mut admission).err().map_or_else(refusal, Failure::into_response);
    exchange.finish(surface, &surface.policy.borrow(), &admission, route, answer)
}

/// The last answer of a connection, to a request that was not parsed.
pub(super) fn last_answer(failure: Failure) -> hyper::Response<Bytes> {
    let mut response = failure.into_stock();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response.headers_mut().insert(REQUEST_ID, request_id(ids::random()));
    response
}

fn request_id(id: Uuid) -> HeaderValue {
    let mut text = Uuid::encode_buffer();
    HeaderValue::from_str(id.hyphenated().encode_lower(&mut text)).expect("a uuid is visible ASCII")
}
