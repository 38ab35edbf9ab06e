//! HTTP/1.1 and HTTP/2 on a connection, as negotiated by TLS, or by the HTTP/2 preface (RFC 9113, 3.3).

use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::io;

use hyper::Version;
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH};
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;

use super::activity::Activity;
use super::body_progress::BodyProgress;
use super::hyper_errors::HyperErrorRewriter;
use super::listener::Limits;
use super::prelude::*;
use super::request_head::BodyDrainDeadline;
use super::service::HttpService;
use super::tls::HTTP_2;
use super::write_timeout::WriteTimeoutStream;

const STREAMS: u32 = 128;

/// Streams that a client may reset before they are accepted; beyond it the connection ends (rapid reset).
const RESETS_PENDING: usize = 20;

/// Streams that we may reset because of the client's errors; beyond it the connection ends.
const RESETS_BY_ERROR: usize = 128;

/// Flow-control windows, in bytes, of a stream and of a connection.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// While draining, the time for a new connection's first request, and for an idle one to close, at most.
const GRACE: Duration = Duration::from_secs(1);
const GRACE_SHARE: u32 = 4;

/// The part of the drain that a body may still take to arrive.
const BODY_SHARE: u32 = 2;

#[derive(Clone)]
pub(super) struct Protocols {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
    limits: Limits,
}

impl Protocols {
    pub(super) fn new(limits: Limits, tls: Option<TlsAcceptor>) -> Self {
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            // With a timeout set, hyper keeps reading after each answer, which polls `HyperErrorRewriter`.
            .header_read_timeout(limits.idle_timeout + limits.header_timeout)
            .max_header_size(limits.head_bytes);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX))
            .max_pending_accept_reset_streams(RESETS_PENDING)
            .max_local_error_reset_streams(RESETS_BY_ERROR)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_interval(limits.header_timeout)
            .keep_alive_timeout(limits.header_timeout);
        Self { http1, http2, tls, limits }
    }

    /// The protocol for refusals; `None` with TLS, where a refusal would cost a handshake.
    pub(super) fn in_the_clear(&self) -> Option<&http1::Builder> {
        self.tls.is_none().then_some(&self.http1)
    }

    /// Serves one connection to its end or, once `draining`, to the end of its requests.
    pub(super) async fn serve(
        self,
        stream: TcpStream,
        peer: Peer,
        service: HttpService,
        activity: Arc<Activity>,
        draining: watch::Receiver<bool>,
    ) {
        let unstalled =
            |stream| WriteTimeoutStream::new(stream, self.limits.write_timeout, Arc::clone(&activity));
        match &self.tls {
            None => {
                let preface = begins_with_preface(&stream);
                let Some(is_http2) = self.begun(&draining, preface, self.limits.idle_timeout).await else {
                    return;
                };
                self.speak(is_http2, unstalled(stream), peer, service, activity, draining).await;
            }
            Some(tls) => {
                let handshake = tls.accept(unstalled(stream));
                let longest = self.limits.header_timeout;
                let Some(stream) = self.begun(&draining, handshake, longest).await else { return };
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP_2);
                self.speak(is_http2, stream, peer, service, activity, draining).await;
            }
        }
    }

    /// Waits for the client's first bytes or handshake; `None` on timeout, or when the drain begins first.
    async fn begun<T>(
        &self,
        draining: &watch::Receiver<bool>,
        beginning: impl Future<Output = io::Result<T>>,
        longest: Duration,
    ) -> Option<T> {
        let nothing_begun = Notify::new();
        tokio::select! {
            begun = tokio::time::timeout(longest, beginning) => begun.ok()?.ok(),
            () = should_close(draining.clone(), &nothing_begun, self.grace()) => None,
        }
    }

    async fn speak(
        &self,
        is_http2: bool,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        peer: Peer,
        service: HttpService,
        activity: Arc<Activity>,
        draining: watch::Receiver<bool>,
    ) {
        let begun = Arc::new(Notify::new());
        let last_call = BodyDrainDeadline::new(draining.clone(), self.limits.drain / BODY_SHARE);
        let with_peer = answering(peer, service, Arc::clone(&activity), Arc::clone(&begun), last_call);
        let deserted = activity.desertion(self.grace(), self.limits.write_timeout);
        let drained = should_close(draining, &begun, self.grace());
        if !is_http2 {
            let stream = HyperErrorRewriter::new(stream, self.limits, Arc::clone(&activity));
            let connection = self.http1.serve_connection(TokioIo::new(stream), with_peer);
            return finish(connection, drained, deserted).await;
        }
        let connection = self.http2.serve_connection(TokioIo::new(stream), with_peer);
        let leave = async {
            tokio::select! {
                () = drained => {}
                () = activity.silence(self.limits.idle_timeout) => {}
                // hyper cannot end a single stream.
                () = activity.neglect(self.limits.write_timeout) => {}
            }
        };
        finish(connection, leave, deserted).await;
    }

    fn grace(&self) -> Duration {
        GRACE.min(self.limits.drain / GRACE_SHARE)
    }
}

/// Peeks for the HTTP/2 preface. A client with a shorter first packet speaks HTTP/1.1.
async fn begins_with_preface(stream: &TcpStream) -> io::Result<bool> {
    const PREFACE: &[u8; 6] = b"PRI * ";
    let mut first = [0; PREFACE.len()];
    let peeked = stream.peek(&mut first).await?;
    Ok(&first[..peeked] == PREFACE)
}

/// The service of one connection: it tracks the requests under way, and notifies `begun` of each.
fn answering(
    peer: Peer,
    service: HttpService,
    activity: Arc<Activity>,
    begun: Arc<Notify>,
    last_call: BodyDrainDeadline,
) -> impl Service<
    hyper::Request<Incoming>,
    Response = hyper::Response<impl Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send>,
    Error = Infallible,
    Future: Send,
> {
    service_fn(move |mut request: hyper::Request<Incoming>| {
        begun.notify_one();
        request.extensions_mut().insert(peer);
        let is_http2 = request.version() >= Version::HTTP_2;
        if !is_http2 {
            note_body(&mut request, &activity);
        }
        if !request.body().is_end_stream() {
            request.extensions_mut().insert(last_call.clone());
        }
        let method = request.method().clone();
        let answering = activity.begin().map(|under_way| (under_way, service.call(request)));
        async move {
            match answering {
                Some((under_way, answer)) => {
                    let answer = parting(answer.await?, &method, under_way.is_receiving());
                    let is_bare = is_http2 && method == Method::HEAD;
                    let answer = if is_bare { bare(answer) } else { answer.map(Some) };
                    Ok(answer.map(|body| BodyProgress::new(body, under_way)))
                }
                // The connection is closing at this moment; the client repeats the request on another.
                None => pending().await,
            }
        }
    })
}

fn note_body(request: &mut hyper::Request<Incoming>, activity: &Arc<Activity>) {
    let receiving = !request.body().is_end_stream();
    activity.receives(receiving);
    if receiving {
        request.extensions_mut().insert(Arc::clone(activity));
    }
}

/// Adds `Connection: close` to an answer whose request body stays unread; not to a short 429.
fn parting<B>(mut answer: hyper::Response<B>, method: &Method, receiving: bool) -> hyper::Response<B> {
    let unread = answer.status().is_client_error() || matches!(*method, Method::GET | Method::HEAD);
    if receiving && unread && answer.status() != StatusCode::TOO_MANY_REQUESTS {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// The answer to `HEAD`: headers only, with the body's length (RFC 9110, 9.3.2), over HTTP/2 too.
fn bare<B: Body>(answer: hyper::Response<B>) -> hyper::Response<Option<B>> {
    let (mut head, body) = answer.into_parts();
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        head.headers.entry(CONTENT_LENGTH).or_insert(HeaderValue::from(length));
    }
    hyper::Response::from_parts(head, None)
}

/// Runs a connection to its end. After `leave` it takes no new requests; after `deserted` it is cut.
async fn finish(
    connection: impl GracefulConnection,
    leave: impl Future<Output = ()>,
    deserted: impl Future<Output = ()>,
) {
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = leave => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        biased; // announces the close before the cut
        _ = connection => {}
        () = deserted => {}
    }
}

/// Returns when the connection should close: once draining, after its first request or the grace period.
async fn should_close(mut draining: watch::Receiver<bool>, begun: &Notify, grace: Duration) {
    // A closed channel means that the drain has begun, too.
    let _ = draining.wait_for(|begun| *begun).await;
    let _ = tokio::time::timeout(grace, begun.notified()).await;
}
