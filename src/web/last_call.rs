//! What is still being sent to us once we drain has a part of the drain to come to its end, so that no client holds it.

use std::time::Duration;

use tokio::sync::watch;

/// Tells when a body that is still coming is not waited for any more. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct LastCall {
    draining: watch::Receiver<bool>,
    longest: Duration,
}

impl LastCall {
    /// Bodies are waited for so long from when `draining` turns true.
    pub(super) fn new(draining: watch::Receiver<bool>, longest: Duration) -> Self {
        Self { draining, longest }
    }

    /// Returns then.
    pub(super) async fn over(mut self) {
        // A sender that is gone means the same.
        let _ = self.draining.wait_for(|begun| *begun).await;
        tokio::time::sleep(self.longest).await;
    }
}
