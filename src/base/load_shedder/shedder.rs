//! The decisions: who is let in, who waits and who is refused, by the [`Limit`] and the [`Queue`]. No clock: whoever asks says
//! what time it is.

use std::time::Duration;

use uuid::Uuid;

use super::ShedderRules;
use super::limit::Limit;
use super::queue::{Queue, Waiter};

/// What is in flight, and who waits, each with a ticket.
#[derive(Debug)]
pub(super) struct Shedder<T> {
    limit: Limit,
    pub(super) in_flight: usize,
    queue: Queue<T>,
}

/// When something was let in, as far as the limit is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    window: u64,
}

impl<T> Shedder<T> {
    pub(super) fn new(rules: ShedderRules) -> Self {
        Self {
            limit: Limit::new(rules.queueing_target, rules.most),
            in_flight: 0,
            queue: Queue::new(rules.queue, rules.queue_wait),
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.get()
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.length
    }

    /// How long new work queued last; nothing while there is none.
    pub(super) fn queueing(&self) -> Duration {
        if self.in_flight == 0 { Duration::ZERO } else { self.limit.queueing }
    }

    /// Lets in who comes, unless as much is in flight as may be.
    pub(super) fn enter(&mut self) -> Option<Entry> {
        if self.in_flight >= self.limit.get() {
            return None;
        }
        let entry = self.enter_anyway();
        if self.in_flight == self.limit.get() {
            self.limit.reached();
        }
        Some(entry)
    }

    /// Lets in who comes, whatever is in flight.
    pub(super) fn enter_anyway(&mut self) -> Entry {
        self.in_flight += 1;
        Entry { window: self.limit.window() }
    }

    /// Whether the queue is full. As many as may be in flight may always wait.
    pub(super) fn is_full(&self) -> bool {
        self.in_flight >= self.limit.get() && self.queue.is_full(self.limit.get())
    }

    /// Whether who comes is refused.
    pub(super) fn refuses(&self, company: Uuid) -> bool {
        self.is_full() && self.queue.has_its_share(company)
    }

    /// Has who comes wait, perhaps in the place of another, whose ticket is dropped; `None` when it is refused.
    pub(super) fn wait(&mut self, company: Uuid, now: Duration, ticket: T) -> Option<Waiter> {
        if self.refuses(company) {
            return None;
        }
        if self.is_full() {
            self.queue.displace();
        }
        Some(self.queue.push(company, now, ticket))
    }

    /// Who waits leaves; `false` when it was let in or displaced before.
    pub(super) fn leave(&mut self, waiter: Waiter) -> bool {
        self.queue.remove(waiter).is_some()
    }

    /// Something is not in flight any more, of which nothing is to be learned.
    pub(super) fn leave_off(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Something is acknowledged, and had queued so long.
    pub(super) fn acknowledged(&mut self, entry: Entry, queueing: Duration) {
        self.leave_off();
        self.limit.acknowledged(entry.window, queueing);
    }

    /// Lets in who waits next, if it may be.
    pub(super) fn next(&mut self, now: Duration) -> Option<(T, Entry)> {
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
