//! The signals that a daemon listens to.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Fatal;

pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

#[derive(PartialEq, Eq)]
pub(super) enum SignalRequest {
    Stop,
    Reload,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, Fatal> {
        let listen = |kind| signal(kind).map_err(|error| format!("cannot receive signals: {error}"));
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.terminate.recv() => SignalRequest::Stop,
            _ = self.interrupt.recv() => SignalRequest::Stop,
            _ = self.hang_up.recv() => SignalRequest::Reload,
        }
    }

    pub(super) async fn stop_again(&mut self) {
        while self.next().await != SignalRequest::Stop {}
    }
}
