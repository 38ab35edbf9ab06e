//! The load shedder decides how much new work is in flight, which requests wait and which are refused. `web` asks it before it reads
//! a request; `matching` returns the permit when the lead's commit is acknowledged.
//!
//! New work is in flight from when it is let in until what it wrote is acknowledged; waiting for partners, or for a body that is
//! still on its way, is not. How much of it may be in flight is found by LEDBAT++ from how long it queues (`limit`). In front
//! of that is a queue, bounded in length and in time, in which companies take turns (`queue`). Who finds no room in it is
//! refused at once. What only reads does not come here.
//!
//! `shedder` decides, without a clock or a thread; this file holds its permits, wakes who waits, and shows its figures.

mod limit;
mod queue;
mod shedder;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use metrics::{Gauge, Histogram, gauge, histogram};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use self::queue::Waiter;
use self::shedder::{Entry, Shedder};
use crate::telemetry::metrics::{
    NEW_WORK_IN_FLIGHT, NEW_WORK_LIMIT, NEW_WORK_QUEUEING, NEW_WORK_WAIT_SECONDS, NEW_WORK_WAITING,
};

/// The limits of a load shedder; `limits.*` in the settings.
#[derive(Debug, Clone, Copy)]
pub struct ShedderRules {
    /// How long new work in flight may queue for threads.
    pub queueing_target: Duration,
    /// Most of it that may be in flight, however short it queues.
    pub most: usize,
    /// Requests that may wait to be let in.
    pub queue: usize,
    /// How long one may wait.
    pub queue_wait: Duration,
}

/// Why new work is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shed {
    /// As many wait as may.
    Full,
    /// It has waited as long as it may.
    Waited,
    /// It waited, and had to make room for a company of which fewer do.
    Displaced,
}

/// Tells how long a commit may have waited for the disk just now; `None` while the disk does not answer.
type DiskWait = dyn Fn() -> Option<Duration> + Send + Sync;

/// Lets new work in. Cheap to clone.
#[derive(Clone)]
pub struct LoadShedder(Arc<Inner>);

struct Inner {
    rules: ShedderRules,
    begun: Instant,
    shedder: Mutex<Shedder<oneshot::Sender<Permit>>>,
    disk_wait: Box<DiskWait>,
    figures: Figures,
}

struct Figures {
    limit: Gauge,
    in_flight: Gauge,
    waiting: Gauge,
    queueing: Gauge,
    waited: Histogram,
}

/// Leave to do new work; given back on drop. The default is one that counts nowhere.
#[derive(Default)]
pub struct Permit(Option<Held>);

struct Held {
    by: Arc<Inner>,
    entry: Entry,
    /// From when its time counts.
    begun: Instant,
    paused: bool,
}

/// Somebody in the queue, who leaves it on drop.
struct Place<'a> {
    inner: &'a Inner,
    waiter: Waiter,
}

impl LoadShedder {
    /// A load shedder. Waiting for the disk is not queueing: `disk_wait` tells how long a commit may have waited for it just
    /// now, or `None` while it does not answer. Then nobody waits in queue for it, but is let in to be told by who knows why.
    pub fn new(
        rules: ShedderRules,
        disk_wait: impl Fn() -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        let figures = Figures {
            limit: gauge!(NEW_WORK_LIMIT),
            in_flight: gauge!(NEW_WORK_IN_FLIGHT),
            waiting: gauge!(NEW_WORK_WAITING),
            queueing: gauge!(NEW_WORK_QUEUEING),
            waited: histogram!(NEW_WORK_WAIT_SECONDS),
        };
        Self(Arc::new(Inner {
            rules,
            begun: Instant::now(),
            shedder: Mutex::new(Shedder::new(rules)),
            disk_wait: Box::new(disk_wait),
            figures,
        }))
    }

    /// Whether new work of a company (nil: of whoever is none) is refused just now.
    pub fn refuses(&self, company: Uuid) -> bool {
        self.is_full() && self.0.shedder.lock().refuses(company) && (self.0.disk_wait)().is_some()
    }

    /// Whether the queue is full, so that whoever comes is refused, or displaces somebody.
    pub fn is_full(&self) -> bool {
        self.0.shedder.lock().is_full()
    }

    /// How long what is in flight queues; nothing while nothing is.
    pub fn queueing(&self) -> Duration {
        self.0.shedder.lock().queueing()
    }

    /// Waits to be let in. Who drops the future has left the queue.
    ///
    /// # Errors
    /// [`Shed`].
    pub async fn permit(&self, company: Uuid) -> Result<Permit, Shed> {
        let inner = &self.0;
        let (granted, awaited) = oneshot::channel();
        let waiter = {
            let mut shedder = inner.shedder.lock();
            let entry = shedder.enter();
            if let Some(entry) = entry {
                inner.show(&shedder);
                return Ok(Permit::new(inner, entry));
            }
            if (inner.disk_wait)().is_none() {
                return Ok(Permit::new(inner, shedder.enter_anyway()));
            }
            let waiter = shedder.wait(company, inner.now(), granted).ok_or(Shed::Full)?;
            inner.show(&shedder);
            waiter
        };
        let place = Place { inner, waiter };
        let begun = Instant::now();
        let outcome = timeout(inner.rules.queue_wait, awaited).await;
        inner.figures.waited.record(begun.elapsed());
        drop(place);
        outcome.map_err(|_| Shed::Waited)?.map_err(|_| Shed::Displaced)
    }
}

impl Inner {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn show(&self, shedder: &Shedder<oneshot::Sender<Permit>>) {
        self.figures.limit.set(shedder.limit() as f64);
        self.figures.in_flight.set(shedder.in_flight as f64);
        self.figures.waiting.set(shedder.waiting() as f64);
        self.figures.queueing.set(shedder.queueing().as_secs_f64());
    }

    /// Changes what is in flight, and lets in who may be now.
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut Shedder<oneshot::Sender<Permit>>)) {
        let mut let_in = Vec::new();
        {
            let mut shedder = self.shedder.lock();
            change(&mut shedder);
            while let Some(next) = shedder.next(self.now()) {
                let_in.push(next);
            }
            self.show(&shedder);
        }
        for (granted, entry) in let_in {
            // Who has left meanwhile gives it back here.
            let _ = granted.send(Permit::new(self, entry));
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut shedder = self.inner.shedder.lock();
        if shedder.leave(self.waiter) {
            self.inner.show(&shedder);
        }
    }
}

impl Permit {
    fn new(by: &Arc<Inner>, entry: Entry) -> Self {
        Self(Some(Held { by: Arc::clone(by), entry, begun: Instant::now(), paused: false }))
    }

    /// What was written under it is acknowledged: the time that it took counts, and the next one is let in.
    pub fn acknowledged(mut self) {
        let Some(Held { by, entry, begun, paused: false }) = self.0.take() else { return };
        let took = begun.elapsed();
        let disk = (by.disk_wait)();
        by.change(|shedder| match disk {
            Some(disk) => shedder.acknowledged(entry, took.saturating_sub(disk)),
            None => shedder.leave_off(),
        });
    }

    /// Whoever holds it waits for somebody else, and is not in flight meanwhile.
    pub fn pause(&mut self) {
        if let Some(held) = self.0.as_mut().filter(|held| !held.paused) {
            held.paused = true;
            held.by.change(Shedder::leave_off);
        }
    }

    /// It goes on at once, whoever else is in flight, and its time counts from now on.
    pub fn resume(&mut self) {
        if let Some(held) = self.0.as_mut().filter(|held| held.paused) {
            held.paused = false;
            held.begun = Instant::now();
            held.entry = held.by.shedder.lock().enter_anyway();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(Held { by, paused: false, .. }) = self.0.take() {
            by.change(Shedder::leave_off);
        }
    }
}
