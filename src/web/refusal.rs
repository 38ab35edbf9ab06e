//! What a connection beyond the cap gets: 503 with `Retry-After`, and the end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use warp::reply::Response;

use super::exchange::{REQUEST_ID, request_id};
use super::failure::Failure;
use crate::ids;
use crate::telemetry::metrics::HTTP_CONNECTIONS_REFUSED;

/// Refusals under way at once. Beyond them a connection is just closed: answering must not cost more than
/// serving.
const REFUSALS: usize = 64;

/// How long a refused client may take to send the head that is answered.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Answers connections that there is no slot for.
///
/// The answer waits for the request's head, because a pooling client takes bytes that come before its request
/// for a broken connection.
pub(super) struct Refusal {
    listener: &'static str,
    /// `None` for a listener that speaks TLS: there a connection is just closed, since a handshake costs more than an answer.
    protocol: Option<http1::Builder>,
    slots: Arc<Semaphore>,
}

impl Refusal {
    pub(super) fn new(listener: &'static str, protocol: Option<&http1::Builder>) -> Self {
        let mut protocol = protocol.cloned();
        if let Some(protocol) = &mut protocol {
            protocol.keep_alive(false);
        }
        Self { listener, protocol, slots: Arc::new(Semaphore::new(REFUSALS)) }
    }

    /// Answers the one request of `stream`, in a task that no drain waits for.
    pub(super) fn answer(&self, stream: TcpStream) {
        metrics::counter!(HTTP_CONNECTIONS_REFUSED, "listener" => self.listener).increment(1);
        let Some(protocol) = &self.protocol else { return };
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else { return };
        let refuse = service_fn(|_| async { Ok::<_, Infallible>(refused()) });
        let connection = protocol.serve_connection(TokioIo::new(stream), refuse);
        tokio::spawn(async move {
            let _slot = slot;
            let _ = tokio::time::timeout(REFUSAL_TIMEOUT, connection).await;
        });
    }
}

fn refused() -> Response {
    let mut response = Failure::overloaded(1).into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response.headers_mut().insert(REQUEST_ID, request_id(ids::random()));
    response
}
