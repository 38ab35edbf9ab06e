//! The envelope of a request's handler: a task of its own, a panic boundary, and the dispatch.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::FutureExt;
use hyper::Uri;
use hyper::header::LOCATION;
use warp::reply::Response;

use super::caller::{self, Authenticate, Principal, Scope};
use super::coding::Coding;
use super::cors::CorsVendorPolicy;
use super::edition::{Edition, Editions};
use super::exchange::{HttpExchange, UNKNOWN_ROUTE};
use super::gate::RequestAdmission;
use super::handler::{Answer, Context, Handler};
use super::percent;
use super::preferences::handling;
use super::prelude::*;
use super::request::Request;
use super::request_head::{BodyStream, RequestHead};
use super::respond::{HeldTags, Reply};
use super::router::{NotFound, Route, RouteMatch, without_last_slash};
use super::surface::Surface;
use offerd_base::ids;
use offerd_base::telemetry::requests::RequestFuture;
use offerd_model::Leniency;

const UNKNOWN_KEYS: HeaderName = HeaderName::from_static("unknown-keys");

const CHANGED_VALUES: HeaderName = HeaderName::from_static("changed-values");

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

#[derive(Debug, Clone, Default)]
struct QueuedFlag(Arc<AtomicBool>);

impl QueuedFlag {
    async fn during<T>(&self, wait: impl Future<Output = T>) -> T {
        self.0.store(true, Ordering::Relaxed);
        let ended = wait.await;
        self.0.store(false, Ordering::Relaxed);
        ended
    }

    /// Polls `work` until it ends, or until it waits (`None`) for something other than the queue.
    async fn until_waits<F: Future + Unpin>(&self, work: &mut F) -> Option<F::Output> {
        poll_fn(|cx| match Pin::new(&mut *work).poll(cx) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending if self.0.load(Ordering::Relaxed) => Poll::Pending,
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }
}

/// Answers one request. A panic is answered too. Once admitted, work that has to wait moves to a task of its
/// own: hyper drops the future when the client hangs up, and a half-written lead must be completed.
pub(super) async fn answer<A>(surface: Arc<Surface<A>>, head: Arc<RequestHead>, body: BodyStream) -> Response
where
    A: Authenticate + Send + Sync + 'static,
{
    let id = ids::random();
    let listener = surface.meter.listener;
    let is_queueing = QueuedFlag::default();
    let work = AssertUnwindSafe(carry_out(surface, id, head, body, is_queueing.clone())).catch_unwind();
    let mut work = RequestFuture::new(id, listener, Box::pin(work));
    let ended = match is_queueing.until_waits(&mut work).await {
        Some(ended) => ended.ok(),
        None => tokio::spawn(work).await.ok().and_then(Result::ok),
    };
    // A panic around a handler's, or a runtime that shuts down.
    ended.unwrap_or_else(|| Failure::overloaded(1).into_response())
}

async fn carry_out<A>(
    surface: Arc<Surface<A>>,
    id: Uuid,
    head: Arc<RequestHead>,
    body: BodyStream,
    is_queueing: QueuedFlag,
) -> Response
where
    A: Authenticate + Send + Sync + 'static,
{
    let exchange = HttpExchange::begin(id, &head.method, &head.headers);
    let exchange = exchange.noting(&surface, head.peer, &head.headers, &head.uri);
    let policy = Arc::clone(&surface.policy.borrow());
    let found = surface.router.find(head.uri.path());
    let route = found.as_ref().map_or(UNKNOWN_ROUTE, |(resource, _)| resource.template);
    let mut admission = surface.gate.admission(head.peer, &head.headers);

    let work = dispatch(&surface, &policy, &head, body, found, &mut admission, &is_queueing);
    let answer = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(panicked(route)));
    let permits = std::mem::take(&mut admission.permits);
    let page =
        |failed: Failure| (surface.failure_page)(&surface.app, route, &head.headers, &failed).ok_or(failed);
    let mut response = match answer.or_else(page) {
        Ok(reply) => fitted(reply.with_permits(permits), &head).await.into_response(),
        Err(failure) => failure.into_response(),
    };
    note(&head, response.headers_mut());
    exchange.finish(&surface, &policy, &admission, route, response)
}

/// Notes how the request was read.
fn note(head: &RequestHead, answer: &mut HeaderMap) {
    for (name, count) in [(UNKNOWN_KEYS, &head.unknown_keys), (CHANGED_VALUES, &head.changed_values)] {
        let count = count.load(Ordering::Relaxed);
        if count > 0 {
            answer.insert(name, HeaderValue::from(count));
        }
    }
    let applied = handling(&head.headers).map(|handling| match handling {
        Leniency::Strict => "handling=strict",
        Leniency::Usual | Leniency::Lenient => "handling=lenient",
    });
    if let Some(applied) = applied {
        answer.insert(PREFERENCE_APPLIED, HeaderValue::from_static(applied));
    }
}

async fn fitted(reply: Reply, head: &RequestHead) -> Reply {
    let held = HeldTags::of(&head.method, &head.headers);
    reply.unless_held(&held).coded(Coding::asked_for(&head.headers)).await
}

/// Answers with a preflight, a refusal (gate, router, authentication, edition), or the handler's reply.
async fn dispatch<A: Authenticate>(
    surface: &Surface<A>,
    policy: &CorsVendorPolicy,
    head: &Arc<RequestHead>,
    body: BodyStream,
    found: RouteMatch<'_, Handler<A>>,
    admission: &mut RequestAdmission,
    is_queueing: &QueuedFlag,
) -> Answer {
    let RequestHead { method, uri, headers, .. } = &**head;
    if let Some(preflight) = policy.cors.preflight(method, headers) {
        return Ok(preflight);
    }
    surface.gate.admit_address(admission)?;
    let (resource, params) = found.map_err(|why| match why {
        NotFound::Unknown => not_found(surface, uri.path()),
        NotFound::Mistaken(meant) => Failure::path_mistaken(meant),
        NotFound::Undecodable => Failure::bad_request("Path is not percent-encoded UTF-8"),
    })?;
    let Some(route) = resource.route(method) else {
        return match *method {
            Method::OPTIONS => Ok(Reply::options(resource.allow())),
            _ => Err(Failure::method_not_allowed(resource.allow())),
        };
    };
    if let Some(page) = page_of(route, uri).filter(|_| !resource.is_image()) {
        return Ok(Reply::empty(StatusCode::PERMANENT_REDIRECT).header(LOCATION, page));
    }
    let query = percent::decode_query(uri.query().unwrap_or_default());
    let who = caller::identify(route.scope, headers, query.as_deref().unwrap_or_default(), &*surface.app)?;
    surface.gate.admit_caller(admission, who.as_ref())?;
    let edition = Edition::requested(headers, &policy.vendors);
    if !route.editions.include(edition) {
        return Err(Failure::unsupported_edition());
    }
    let query = match query {
        Some(query) => query,
        // An image is shown even so.
        None if resource.is_image() => Vec::new(),
        None => return Err(Failure::bad_request("Query string is not percent-encoded UTF-8")),
    };
    let company = who.as_ref().and_then(Principal::company);
    let permit = is_queueing.during(surface.gate.permit(&route.method, company)).await?;
    let is_lenient = matches!(&who, Some(Principal::Company(caller)) if caller.lenient);
    let usual = if is_lenient { Leniency::Lenient } else { Leniency::Usual };
    let read_for = (company, handling(headers).unwrap_or(usual));
    let request = Request::new(Arc::clone(head), body, query, read_for, surface.gate.bodies.clone(), permit);
    let context = Context { app: Arc::clone(&surface.app), request, params, principal: who, edition };
    let reply = (route.handler)(context).await?;
    let differs = route.editions == Editions::All && route.scope != Scope::None;
    Ok(if differs { reply.varying_by_accept() } else { reply })
}

/// The address of a page that was opened with a slash at its end, relative to that: it has relative links.
fn page_of<H>(route: &Route<H>, uri: &Uri) -> Option<HeaderValue> {
    let path = without_last_slash(uri.path());
    if path == uri.path()
        || route.path.ends_with('/')
        || route.scope != Scope::None
        || route.method != Method::GET
    {
        return None;
    }
    let last = path.rsplit('/').next()?;
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    HeaderValue::try_from(format!("../{last}{query}")).ok()
}

/// A 404, which names the listener that serves the path, if there is one.
fn not_found<A>(surface: &Surface<A>, path: &str) -> Failure {
    match surface.wrong_listener_hint.find(surface.meter.listener, path) {
        Some((listener, template)) => Failure::path_elsewhere(listener, template),
        None => Failure::not_found_path(),
    }
}

fn panicked(route: &'static str) -> Failure {
    tracing::error!(route, "handler panicked");
    Failure::internal()
}
