//! Answers that come too late: when they would have come, told of a sample of the calls that ran out of time. It is what a longer
//! deadline would have won.
//!
//! Whoever called has given up and was told so; of a late answer nothing is read but that its head came. At most one call
//! of a endpoint is watched at a time, and only where the endpoint has a place for it, so that no far side is kept busier than it
//! may be.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::{Histogram, histogram};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::telemetry::metrics::WIRE_LATE_SECONDS;

/// Calls that are told of, the last ones.
const KEPT: usize = 200;

/// Watches late answers of one endpoint. Cheap to clone.
#[derive(Clone)]
pub(super) struct LateWatch {
    /// How long an answer is waited for after its deadline.
    patience: Duration,
    /// The one that is watched.
    place: Arc<Semaphore>,
    seen: Arc<Mutex<VecDeque<Option<Duration>>>>,
    seconds: Histogram,
}

impl LateWatch {
    /// Waits `patience` for answers after their deadline; no time at all watches none.
    pub(super) fn new(pool: &str, endpoint: &str, patience: Duration) -> Self {
        let labels = [("pool", pool.to_owned()), ("endpoint", endpoint.to_owned())];
        Self {
            patience,
            place: Arc::new(Semaphore::new(usize::from(!patience.is_zero()))),
            seen: Arc::default(),
            seconds: histogram!(WIRE_LATE_SECONDS, &labels),
        }
    }

    /// Goes on waiting for the head of an answer whose deadline has passed, unless another is waited for or the endpoint has no place:
    /// `lane_places` are those for its calls.
    pub(super) fn watch<H>(&self, begun: Instant, lane_places: &Arc<Semaphore>, head: H)
    where
        H: Future<Output = bool> + Send + 'static,
    {
        let Ok(place) = Arc::clone(&self.place).try_acquire_owned() else { return };
        let Ok(lane_place) = Arc::clone(lane_places).try_acquire_owned() else { return };
        tokio::spawn(self.clone().finish(begun, head, [place, lane_place]));
    }

    /// How long the last calls that were watched took in all; nothing of one that was waited for in vain.
    pub(super) fn seen(&self) -> Vec<Option<Duration>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    async fn finish(
        self,
        begun: Instant,
        head: impl Future<Output = bool>,
        _places: [OwnedSemaphorePermit; 2],
    ) {
        let came = timeout(self.patience, head).await.unwrap_or(false);
        let elapsed = came.then(|| begun.elapsed());
        if let Some(elapsed) = elapsed {
            self.seconds.record(elapsed.as_secs_f64());
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() == KEPT {
            seen.pop_front();
        }
        seen.push_back(elapsed);
    }
}
