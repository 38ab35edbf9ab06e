//! The load shedder decides how much new work is in flight, which requests wait and which are refused. `web`
//! asks it before it reads the body; `matching` returns the permit when the lead's commit is acknowledged.
//!
//! New work is in flight from its admission until its writes are acknowledged, but not while it waits for
//! partners or the rest of a request body. LEDBAT++ derives the limit from the queueing time (`limit`). In
//! front of it is a queue, bounded in length and time, that serves companies in turn (`queue`). When the
//! queue is full, a request is refused at once. Requests that only read bypass the shedder.

mod admission_state;
mod limit;
mod queue;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use metrics::{Gauge, Histogram, gauge, histogram};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use self::admission_state::AdmissionState;
use self::queue::Waiter;
use crate::telemetry::metrics::{
    NEW_WORK_IN_FLIGHT, NEW_WORK_LIMIT, NEW_WORK_QUEUEING, NEW_WORK_WAIT_SECONDS, NEW_WORK_WAITING,
};

/// The limits of a load shedder; `limits.*` in the settings.
#[derive(Debug, Clone, Copy)]
pub struct ShedderRules {
    /// Target queueing time for threads of work in flight.
    pub queueing_target: Duration,
    /// Upper bound of work in flight.
    pub most: usize,
    /// Requests that may wait for admission.
    pub queue: usize,
    /// Longest wait for admission.
    pub queue_wait: Duration,
}

/// Why new work is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shed {
    /// The queue is full.
    Full,
    /// It has waited for the longest allowed time.
    Waited,
    /// It was displaced from the queue by a request of a company with fewer waiters.
    Displaced,
}

/// Admits new work. Cheap to clone.
#[derive(Clone)]
pub struct LoadShedder(Arc<Shedder>);

struct Shedder {
    rules: ShedderRules,
    begun: Instant,
    shedder: Mutex<AdmissionState<oneshot::Sender<Permit>>>,
    disk_wait: Box<dyn Fn() -> Option<Duration> + Send + Sync>,
    figures: ShedderMetrics,
}

struct ShedderMetrics {
    limit: Gauge,
    in_flight: Gauge,
    waiting: Gauge,
    queueing: Gauge,
    waited: Histogram,
}

/// Permission to do new work; returned on drop. The default permit is not counted.
#[derive(Default)]
pub struct Permit(Option<HeldPermit>);

struct HeldPermit {
    by: Arc<Shedder>,
    window: u64,
    begun: Instant,
    paused: bool,
}

struct QueuePlace<'a> {
    inner: &'a Shedder,
    waiter: Waiter,
}

impl LoadShedder {
    /// A load shedder. Time spent on the disk is not queueing: `disk_wait` returns how long a commit may just
    /// have waited for it, or `None` while the disk does not answer. In that case requests are admitted
    /// without waiting, and refused further on by the code that knows the reason.
    pub fn new(
        rules: ShedderRules,
        disk_wait: impl Fn() -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shedder {
            rules,
            begun: Instant::now(),
            shedder: Mutex::new(AdmissionState::new(rules)),
            disk_wait: Box::new(disk_wait),
            figures: ShedderMetrics {
                limit: gauge!(NEW_WORK_LIMIT),
                in_flight: gauge!(NEW_WORK_IN_FLIGHT),
                waiting: gauge!(NEW_WORK_WAITING),
                queueing: gauge!(NEW_WORK_QUEUEING),
                waited: histogram!(NEW_WORK_WAIT_SECONDS),
            },
        }))
    }

    /// Whether new work of a company is refused at the moment. The nil uuid means no company.
    pub fn refuses(&self, company: Uuid) -> bool {
        self.is_full() && self.0.shedder.lock().refuses(company) && (self.0.disk_wait)().is_some()
    }

    /// Whether the queue is full, so the next request is refused or displaces another.
    pub fn is_full(&self) -> bool {
        self.0.shedder.lock().is_full()
    }

    /// The queueing time of work in flight; zero without any.
    pub fn queueing(&self) -> Duration {
        self.0.shedder.lock().queueing()
    }

    /// Waits for admission. Dropping the future leaves the queue.
    pub async fn permit(&self, company: Uuid) -> Result<Permit, Shed> {
        let inner = &self.0;
        let (granted, awaited) = oneshot::channel();
        let waiter = {
            let mut shedder = inner.shedder.lock();
            if let Some(window) = shedder.enter() {
                inner.show(&shedder);
                return Ok(Permit::new(inner, window));
            }
            if (inner.disk_wait)().is_none() {
                return Ok(Permit::new(inner, shedder.enter_anyway()));
            }
            let waiter = shedder.wait(company, inner.begun.elapsed(), granted).ok_or(Shed::Full)?;
            inner.show(&shedder);
            waiter
        };
        let place = QueuePlace { inner, waiter };
        let begun = Instant::now();
        let outcome = timeout(inner.rules.queue_wait, awaited).await;
        inner.figures.waited.record(begun.elapsed());
        drop(place);
        outcome.map_err(|_| Shed::Waited)?.map_err(|_| Shed::Displaced)
    }
}

impl Shedder {
    fn show(&self, shedder: &AdmissionState<oneshot::Sender<Permit>>) {
        self.figures.limit.set(shedder.limit() as f64);
        self.figures.in_flight.set(shedder.in_flight as f64);
        self.figures.waiting.set(shedder.waiting() as f64);
        self.figures.queueing.set(shedder.queueing().as_secs_f64());
    }

    fn change(self: &Arc<Self>, change: impl FnOnce(&mut AdmissionState<oneshot::Sender<Permit>>)) {
        let mut shedder = self.shedder.lock();
        change(&mut shedder);
        let let_in: Vec<_> = std::iter::from_fn(|| shedder.next(self.begun.elapsed())).collect();
        self.show(&shedder);
        drop(shedder);
        for (granted, window) in let_in {
            // A waiter that has left returns the permit here.
            let _ = granted.send(Permit::new(self, window));
        }
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        let mut shedder = self.inner.shedder.lock();
        if shedder.leave(self.waiter) {
            self.inner.show(&shedder);
        }
    }
}

impl Permit {
    fn new(by: &Arc<Shedder>, window: u64) -> Self {
        Self(Some(HeldPermit { by: Arc::clone(by), window, begun: Instant::now(), paused: false }))
    }

    /// Ends the work after its writes are acknowledged: its time counts, and the next waiter is admitted.
    pub fn acknowledged(mut self) {
        let Some(HeldPermit { by, window, begun, paused: false }) = self.0.take() else { return };
        let took = begun.elapsed();
        let disk = (by.disk_wait)();
        by.change(|shedder| match disk {
            Some(disk) => shedder.acknowledged(window, took.saturating_sub(disk)),
            None => shedder.leave_off(),
        });
    }

    /// Leaves the work in flight while its holder waits for something else.
    pub fn pause(&mut self) {
        if let Some(held) = self.0.as_mut().filter(|held| !held.paused) {
            held.paused = true;
            held.by.change(AdmissionState::leave_off);
        }
    }

    /// Re-enters the work in flight at once, regardless of the limit; its time counts from now on.
    pub fn resume(&mut self) {
        if let Some(held) = self.0.as_mut().filter(|held| held.paused) {
            held.paused = false;
            held.begun = Instant::now();
            held.window = held.by.shedder.lock().enter_anyway();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(HeldPermit { by, paused: false, .. }) = self.0.take() {
            by.change(AdmissionState::leave_off);
        }
    }
}
