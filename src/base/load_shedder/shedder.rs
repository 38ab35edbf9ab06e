//! The decisions: whether a request is admitted, waits or is refused, by the [`Limit`] and the [`AdmissionQueue`]. Has
//! no clock: the caller passes the time.

use std::time::Duration;

use uuid::Uuid;

use super::ShedderRules;
use super::limit::Limit;
use super::queue::{AdmissionQueue, Waiter};

/// The work in flight, and the waiters with their tickets.
#[derive(Debug)]
pub(super) struct Shedder<T> {
    limit: Limit,
    pub(super) in_flight: usize,
    queue: AdmissionQueue<T>,
}

/// The window in which work was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AdmittedWindow {
    window: u64,
}

impl<T> Shedder<T> {
    pub(super) fn new(rules: ShedderRules) -> Self {
        Self {
            limit: Limit::new(rules.queueing_target, rules.most),
            in_flight: 0,
            queue: AdmissionQueue::new(rules.queue, rules.queue_wait),
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.get()
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.length
    }

    /// The last measured queueing time; zero without work in flight.
    pub(super) fn queueing(&self) -> Duration {
        if self.in_flight == 0 { Duration::ZERO } else { self.limit.queueing }
    }

    pub(super) fn enter(&mut self) -> Option<AdmittedWindow> {
        if self.in_flight >= self.limit.get() {
            return None;
        }
        let entry = self.enter_anyway();
        if self.in_flight == self.limit.get() {
            self.limit.reached();
        }
        Some(entry)
    }

    pub(super) fn enter_anyway(&mut self) -> AdmittedWindow {
        self.in_flight += 1;
        AdmittedWindow { window: self.limit.window() }
    }

    /// Whether the queue is full. At least as many may wait as may be in flight.
    pub(super) fn is_full(&self) -> bool {
        self.in_flight >= self.limit.get() && self.queue.is_full(self.limit.get())
    }

    /// Whether a new request of a company is refused.
    pub(super) fn refuses(&self, company: Uuid) -> bool {
        self.is_full() && self.queue.has_its_share(company)
    }

    /// Adds a waiter, which may displace another, whose ticket is dropped; `None` if it is refused.
    pub(super) fn wait(&mut self, company: Uuid, now: Duration, ticket: T) -> Option<Waiter> {
        if self.refuses(company) {
            return None;
        }
        if self.is_full() {
            self.queue.displace();
        }
        Some(self.queue.push(company, now, ticket))
    }

    /// Removes a waiter; `false` if it has been admitted or displaced.
    pub(super) fn leave(&mut self, waiter: Waiter) -> bool {
        self.queue.remove(waiter).is_some()
    }

    /// Ends work without learning from its time.
    pub(super) fn leave_off(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Ends acknowledged work, with its queueing time.
    pub(super) fn acknowledged(&mut self, entry: AdmittedWindow, queueing: Duration) {
        self.leave_off();
        self.limit.acknowledged(entry.window, queueing);
    }

    /// Admits the next waiter, if the limit allows.
    pub(super) fn next(&mut self, now: Duration) -> Option<(T, AdmittedWindow)> {
        if self.queue.length == 0 {
            return None;
        }
        let entry = self.enter()?;
        match self.queue.pop(now) {
            Some(ticket) => Some((ticket, entry)),
            None => {
                self.leave_off();
                None
            }
        }
    }
}
