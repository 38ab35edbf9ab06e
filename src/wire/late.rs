//! Late answers: a sample of timed-out calls is awaited, to estimate what a longer deadline would gain. The
//! outcome goes only to its callback. At most a sixteenth of an endpoint's concurrency is watched, and only
//! in free places, so that no remote system gets more load. The choice does not depend on the outcome.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Histogram, histogram};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::call::CallResult;
use offerd_base::telemetry::metrics::WIRE_LATE_SECONDS;

/// Divisor of the concurrency limit: one watched call per this many.
const WATCHED_OF: usize = 16;

const WATCHED_MAX: usize = 4;

/// A callback for the outcome of a call after its deadline; `None` if neither reply nor error came in time.
pub type OnLateReply = Box<dyn FnOnce(Option<CallResult>) + Send>;

/// Gives the callback for a late answer, once there is room to wait for one.
pub trait LateListener: FnOnce() -> Option<OnLateReply> {}

impl<L: FnOnce() -> Option<OnLateReply>> LateListener for L {}

pub(super) struct LateWatch {
    patience: Duration,
    places: Arc<Semaphore>,
    seconds: Histogram,
}

impl LateWatch {
    /// Waits up to `patience` after the deadline, for an endpoint that allows `concurrency` calls.
    pub(super) fn new(pool: &str, endpoint: &str, patience: Duration, concurrency: usize) -> Self {
        let labels = [("pool", pool.to_owned()), ("endpoint", endpoint.to_owned())];
        let places = if patience.is_zero() { 0 } else { (concurrency / WATCHED_OF).clamp(1, WATCHED_MAX) };
        let places = Arc::new(Semaphore::new(places));
        Self { patience, places, seconds: histogram!(WIRE_LATE_SECONDS, &labels) }
    }

    /// Keeps waiting for an answer after its deadline, if a callback wants it and there is room.
    pub(super) fn watch(
        &self,
        begun: Instant,
        endpoint_places: &Arc<Semaphore>,
        listener: impl LateListener,
        reply: impl Future<Output = CallResult> + Send + 'static,
    ) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return };
        let Ok(endpoint_place) = Arc::clone(endpoint_places).try_acquire_owned() else { return };
        let Some(callback) = listener() else { return };
        let (patience, seconds) = (self.patience, self.seconds.clone());
        tokio::spawn(async move {
            let _places = [place, endpoint_place];
            let came = timeout(patience, reply).await.ok();
            if matches!(came, Some(Ok(_))) {
                seconds.record(begun.elapsed().as_secs_f64());
            }
            callback(came);
        });
    }
}
