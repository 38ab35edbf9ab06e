//! Decides whether a request is admitted, waits or is refused, by the [`Limit`] and the [`AdmissionQueue`].

use std::time::Duration;

use uuid::Uuid;

use super::ShedderRules;
use super::limit::Limit;
use super::queue::{AdmissionQueue, Waiter};

#[derive(Debug)]
pub(super) struct AdmissionState<T> {
    limit: Limit,
    pub(super) in_flight: usize,
    queue: AdmissionQueue<T>,
}

impl<T> AdmissionState<T> {
    pub(super) fn new(rules: ShedderRules) -> Self {
        let limit = Limit::new(rules.queueing_target, rules.most);
        Self { limit, in_flight: 0, queue: AdmissionQueue::new(rules.queue, rules.queue_wait) }
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

    /// Returns the window of the limit, for [`acknowledged`](Self::acknowledged).
    pub(super) fn enter(&mut self) -> Option<u64> {
        if self.in_flight >= self.limit.get() {
            return None;
        }
        let window = self.enter_anyway();
        if self.in_flight == self.limit.get() {
            self.limit.reached();
        }
        Some(window)
    }

    pub(super) fn enter_anyway(&mut self) -> u64 {
        self.in_flight += 1;
        self.limit.window()
    }

    /// Whether the queue is full. At least as many may wait as may be in flight.
    pub(super) fn is_full(&self) -> bool {
        self.in_flight >= self.limit.get() && self.queue.is_full(self.limit.get())
    }

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

    pub(super) fn leave_off(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    pub(super) fn acknowledged(&mut self, window: u64, queueing: Duration) {
        self.leave_off();
        self.limit.acknowledged(window, queueing);
    }

    pub(super) fn next(&mut self, now: Duration) -> Option<(T, u64)> {
        if self.queue.length == 0 {
            return None;
        }
        let window = self.enter()?;
        Some((self.queue.pop(now)?, window))
    }
}
