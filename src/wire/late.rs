//! Answers that come too late: a sample of the calls that ran out of time is waited for beyond it, to tell what a longer deadline
//! would have won.
//!
//! Whoever called has given up and was told so; what comes is handed to its ear, and to nobody else. No more than a sixteenth of what an
//! endpoint may have under way is watched at a time, and only where the endpoint has a place for it, so that no far side is kept
//! busier than it may be. Which calls are watched does not depend on what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Histogram, histogram};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::call::Reply;
use super::error::CallError;
use offerd_base::telemetry::metrics::WIRE_LATE_SECONDS;

/// Out of how many calls that may be under way one may be watched.
const WATCHED_OF: usize = 16;

/// Calls that are watched at a time, at most.
const WATCHED_MAX: usize = 4;

/// Hears what became of a call after its deadline: its reply, why there is none, or nothing where it was waited for in vain.
pub type LateEar = Box<dyn FnOnce(Option<Result<Reply, CallError>>) + Send>;

/// Watches late answers of one endpoint.
pub(super) struct LateWatch {
    /// How long an answer is waited for after its deadline.
    patience: Duration,
    /// Those that are watched.
    places: Arc<Semaphore>,
    seconds: Histogram,
}

impl LateWatch {
    /// Waits `patience` for answers after their deadline, of an endpoint that may have `concurrency` calls under way; no time at all
    /// watches none.
    pub(super) fn new(pool: &str, endpoint: &str, patience: Duration, concurrency: usize) -> Self {
        let labels = [("pool", pool.to_owned()), ("endpoint", endpoint.to_owned())];
        let places = if patience.is_zero() { 0 } else { (concurrency / WATCHED_OF).clamp(1, WATCHED_MAX) };
        Self {
            patience,
            places: Arc::new(Semaphore::new(places)),
            seconds: histogram!(WIRE_LATE_SECONDS, &labels),
        }
    }

    /// Goes on waiting for an answer whose deadline has passed, where there is somebody to hear of it, unless as many others are
    /// waited for as may be or the endpoint has no place: `lane_places` are those for its calls.
    pub(super) fn watch(
        &self,
        begun: Instant,
        lane_places: &Arc<Semaphore>,
        ear: impl FnOnce() -> Option<LateEar>,
        reply: impl Future<Output = Result<Reply, CallError>> + Send + 'static,
    ) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return };
        let Ok(lane_place) = Arc::clone(lane_places).try_acquire_owned() else { return };
        let Some(ear) = ear() else { return };
        let (patience, seconds) = (self.patience, self.seconds.clone());
        tokio::spawn(async move {
            let _places = [place, lane_place];
            let came = timeout(patience, reply).await.ok();
            if matches!(came, Some(Ok(_))) {
                seconds.record(begun.elapsed().as_secs_f64());
            }
            ear(came);
        });
    }
}
