//! What a connection gets that there is no room for: 503 with `Retry-After`, or 429 where its address has too many, and the end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use warp::reply::Response;

use super::connections::Within;
use super::exchange;
use super::failure::Failure;
use offerd_base::telemetry::metrics::HTTP_CONNECTIONS_REFUSED;

/// How long a refused client may take to send the head that is answered.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Seconds after which a refused client may try again.
const RETRY_AFTER_S: u32 = 1;

/// Answers connections that there is no room for.
///
/// The answer waits for the request's head, because a pooling client takes bytes that come before its request
/// for a broken connection.
pub(super) struct Refusal {
    listener: &'static str,
    /// `None` for a listener that speaks TLS: there a connection is just closed, since a handshake costs more than an answer.
    protocol: Option<http1::Builder>,
    /// Refusals under way. Beyond them a connection is just closed: answering must not cost more than serving.
    slots: Arc<Semaphore>,
}

impl Refusal {
    pub(super) fn new(listener: &'static str, protocol: Option<&http1::Builder>, at_once: usize) -> Self {
        let mut protocol = protocol.cloned();
        if let Some(protocol) = &mut protocol {
            protocol.keep_alive(false);
        }
        Self { listener, protocol, slots: Arc::new(Semaphore::new(at_once)) }
    }

    /// Answers the one request of `stream`, in a task that no drain waits for.
    pub(super) fn answer(&self, stream: TcpStream, full: Within) {
        let labels = [("listener", self.listener), ("reason", full.reason())];
        metrics::counter!(HTTP_CONNECTIONS_REFUSED, &labels).increment(1);
        let Some(protocol) = &self.protocol else { return };
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else { return };
        let refuse = service_fn(move |_| async move { Ok::<_, Infallible>(refused(full)) });
        let connection = protocol.serve_connection(TokioIo::new(stream), refuse);
        tokio::spawn(async move {
            let _slot = slot;
            let _ = tokio::time::timeout(REFUSAL_TIMEOUT, connection).await;
        });
    }
}

fn refused(full: Within) -> Response {
    let failure = match full {
        Within::Address(_) => Failure::too_many_connections(RETRY_AFTER_S),
        Within::Listener(_) | Within::Descriptors => Failure::overloaded(RETRY_AFTER_S),
    };
    exchange::last_answer(failure).map(Into::into)
}
