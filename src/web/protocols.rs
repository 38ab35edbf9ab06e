//! What is spoken on a connection: HTTP/1.1 or HTTP/2. Within TLS it is negotiated; in the clear a client that knows beforehand
//! begins with the preface of HTTP/2 (RFC 9113, 3.3), which is told from a request by its first bytes.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper::{Method, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;

use super::activity::Activity;
use super::arrival::LastCall;
use super::client_address::Peer;
use super::explained::Explained;
use super::listener::{HttpService, Limits};
use super::taken::Taken;
use super::tls::HTTP_2;
use super::unstalled::Unstalled;

/// Requests of one HTTP/2 connection at once.
const STREAMS: u32 = 128;

/// Streams that a client may reset before we have looked at them; more, and the connection ends (rapid reset).
const RESETS_PENDING: usize = 20;

/// Streams that a client may make us reset by its errors; more, and the connection ends.
const RESETS_BY_ERROR: usize = 128;

/// Bytes that a client may send ahead on one stream, and on all of a connection.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// How long a connection without any request yet may take for its first once we drain: it was accepted, so it is answered. And how long
/// one may take its leave that has none under way: who has begun a head may end it. Both are at most this part of the drain.
const GRACE: Duration = Duration::from_secs(1);
const GRACE_SHARE: u32 = 4;

/// The part of a drain that a body which is still coming may take.
const BODY_SHARE: u32 = 2;

/// How connections of one listener are served. Cheap to clone.
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
            // `Explained` distinguishes silence from a slow head. With a limit hyper reads on after each answer, which polls it.
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

    /// How a refusal is said; `None` where saying it would cost a handshake.
    pub(super) fn in_the_clear(&self) -> Option<&http1::Builder> {
        self.tls.is_none().then_some(&self.http1)
    }

    /// Serves one connection to its end, or to that of its requests once `draining`. How it ends is the client's affair: a
    /// reset or a broken request is no fault of ours.
    pub(super) async fn serve<S: HttpService>(
        self,
        stream: TcpStream,
        peer: Peer,
        service: S,
        activity: Arc<Activity>,
        draining: watch::Receiver<bool>,
    ) {
        let unstalled = |stream| Unstalled::new(stream, self.limits.write_timeout, Arc::clone(&activity));
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

    /// What a client begins with, in this time; `None` where it does not, or we drain before: nothing was sent, so
    /// nothing is answered.
    async fn begun<T>(
        &self,
        draining: &watch::Receiver<bool>,
        beginning: impl Future<Output = io::Result<T>>,
        longest: Duration,
    ) -> Option<T> {
        let nothing_begun = Notify::new();
        tokio::select! {
            begun = tokio::time::timeout(longest, beginning) => begun.ok()?.ok(),
            () = told(draining.clone(), &nothing_begun, self.grace()) => None,
        }
    }

    async fn speak<S: HttpService>(
        &self,
        is_http2: bool,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        peer: Peer,
        service: S,
        activity: Arc<Activity>,
        draining: watch::Receiver<bool>,
    ) {
        let begun = Arc::new(Notify::new());
        let last_call = LastCall::new(draining.clone(), self.limits.drain / BODY_SHARE);
        let with_peer = answering(peer, service, Arc::clone(&activity), Arc::clone(&begun), last_call);
        // A client that does not take its leave either is cut.
        let deserted = activity.desertion(self.grace(), self.limits.write_timeout);
        let drained = told(draining, &begun, self.grace());
        if !is_http2 {
            let stream = Explained::new(stream, self.limits, Arc::clone(&activity));
            let connection = self.http1.serve_connection(TokioIo::new(stream), with_peer);
            return finish(connection, drained, deserted).await;
        }
        let connection = self.http2.serve_connection(TokioIo::new(stream), with_peer);
        let leave = async {
            tokio::select! {
                () = drained => {}
                () = activity.silence(self.limits.idle_timeout) => {}
                // A stream cannot be ended alone, for hyper waits where we cannot reach it: who leaves one answer lying
                // gets the others to their end, and a new connection for the next.
                () = activity.neglect(self.limits.write_timeout) => {}
            }
        };
        finish(connection, leave, deserted).await;
    }

    /// How long is waited for who has no request under way.
    fn grace(&self) -> Duration {
        GRACE.min(self.limits.drain / GRACE_SHARE)
    }
}

/// Whether what a client sends first is the preface of HTTP/2. It stays there to be read. No request begins so, and who sends less
/// than this at once is taken to speak HTTP/1.1.
async fn begins_with_preface(stream: &TcpStream) -> io::Result<bool> {
    const PREFACE: &[u8; 6] = b"PRI * ";
    let mut first = [0; PREFACE.len()];
    let peeked = stream.peek(&mut first).await?;
    Ok(&first[..peeked] == PREFACE)
}

/// What answers the requests of one connection, and notes that they are under way. `begun` is told of each.
fn answering<S, B>(
    peer: Peer,
    service: S,
    activity: Arc<Activity>,
    begun: Arc<Notify>,
    last_call: LastCall,
) -> impl Service<hyper::Request<Incoming>, Response = hyper::Response<Taken<B>>, Error = Infallible, Future: Send>
where
    S: Service<hyper::Request<Incoming>, Response = hyper::Response<B>, Error = Infallible, Future: Send>,
    B: Body<Data = Bytes> + Unpin,
{
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
                    Ok(answer.map(|body| Taken::new(body, under_way)))
                }
                // The connection is closed at this moment: the client sends it again on another one.
                None => pending().await,
            }
        }
    })
}

/// Has it known whether a body is coming, to who reads it as well.
fn note_body(request: &mut hyper::Request<Incoming>, activity: &Arc<Activity>) {
    let receiving = !request.body().is_end_stream();
    activity.receives(receiving);
    if receiving {
        request.extensions_mut().insert(Arc::clone(activity));
    }
}

/// An answer to a request whose body is still coming, and is read by nobody, says that the connection ends with it: the client is to
/// send no more of it. Who is to come again soon (429) may keep the connection, if what is left of the body is little.
fn parting<B>(mut answer: hyper::Response<B>, method: &Method, receiving: bool) -> hyper::Response<B> {
    let unread = answer.status().is_client_error() || matches!(*method, Method::GET | Method::HEAD);
    if receiving && unread && answer.status() != StatusCode::TOO_MANY_REQUESTS {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// The answer to `HEAD`: its head, which tells how long the body would be (RFC 9110, 9.3.2). Over HTTP/1.1 hyper sees to that, over
/// HTTP/2 it sends the body too.
fn bare<B: Body>(answer: hyper::Response<B>) -> hyper::Response<Option<B>> {
    let (mut head, body) = answer.into_parts();
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        head.headers.entry(CONTENT_LENGTH).or_insert(HeaderValue::from(length));
    }
    hyper::Response::from_parts(head, None)
}

/// Runs a connection to its end. Once `leave` is over it takes no new requests, and once it is `deserted` then, it is cut.
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
        biased; // it says that it leaves, before it is cut
        _ = connection => {}
        () = deserted => {}
    }
}

/// Returns when a connection is to leave. `begun` tells of its first request: hyper closes a connection that it has read
/// nothing of, though the client may be sending at this moment.
async fn told(mut draining: watch::Receiver<bool>, begun: &Notify, grace: Duration) {
    // A sender that is gone means the same.
    let _ = draining.wait_for(|begun| *begun).await;
    // Whoever is silent for so long is cut.
    let _ = tokio::time::timeout(grace, begun.notified()).await;
}
