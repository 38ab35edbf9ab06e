//! A place among the open connections, given back when the connection ends, however it ends.

use crate::telemetry::metrics::HTTP_CONNECTIONS;
use tokio::sync::OwnedSemaphorePermit;

/// Holds one connection's slot, and counts it in `offerd_http_connections`.
#[derive(Debug)]
pub(super) struct OpenConnection {
    listener: &'static str,
    _slot: OwnedSemaphorePermit,
}

impl OpenConnection {
    pub(super) fn new(listener: &'static str, slot: OwnedSemaphorePermit) -> Self {
        metrics::gauge!(HTTP_CONNECTIONS, "listener" => listener).increment(1.0);
        Self { listener, _slot: slot }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        metrics::gauge!(HTTP_CONNECTIONS, "listener" => self.listener).decrement(1.0);
    }
}
