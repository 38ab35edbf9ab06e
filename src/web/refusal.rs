//! Answers to connections over a limit: 503 with `Retry-After`, or 429; then the connection closes.

use std::convert::Infallible;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use warp::reply::Response;

use super::connections::ConnectionScope;
use super::exchange;
use super::prelude::*;
use offerd_base::telemetry::metrics::HTTP_CONNECTIONS_REFUSED;

/// How long a refused client may take to send its request head.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

const RETRY_AFTER_S: u32 = 1;

/// Answers connections over a limit, after a head: a pooling client takes earlier bytes for a fault.
pub(super) struct ConnectionRefusal {
    listener: &'static str,
    /// `None` for a TLS listener, which just closes the connection.
    protocol: Option<http1::Builder>,
    /// Bounds the refusals under way. Beyond it a connection is just closed.
    slots: Arc<Semaphore>,
}

impl ConnectionRefusal {
    pub(super) fn new(listener: &'static str, protocol: Option<&http1::Builder>, at_once: usize) -> Self {
        let mut protocol = protocol.cloned();
        if let Some(protocol) = &mut protocol {
            protocol.keep_alive(false);
        }
        Self { listener, protocol, slots: Arc::new(Semaphore::new(at_once)) }
    }

    pub(super) fn answer(&self, stream: TcpStream, full: ConnectionScope) {
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

fn refused(full: ConnectionScope) -> Response {
    let failure = match full {
        ConnectionScope::Address(_) => Failure::too_many_connections(RETRY_AFTER_S),
        ConnectionScope::Listener(_) | ConnectionScope::Descriptors => Failure::overloaded(RETRY_AFTER_S),
    };
    exchange::last_answer(failure).map(Into::into)
}
