//! The viewers of a rate table under construction: their snapshots and waiters.

use tokio::sync::oneshot;

use super::messages::{TableSnapshot, Until};

/// The viewers of one table.
#[derive(Debug, Default)]
pub struct Audience {
    /// Cached on its second use: most versions are shown once, and the text of an open table is large.
    shown: Option<TableSnapshot>,
    wanted_again: bool,
    /// Whether a viewer saw the table pending, and so will return.
    seen_pending: bool,
    seen_complete: bool,
    waiters: Vec<(Until, oneshot::Sender<TableSnapshot>)>,
}

impl Audience {
    /// Invalidates the snapshot after a change.
    pub fn changed(&mut self) {
        (self.shown, self.wanted_again) = (None, false);
    }

    /// The current snapshot, rendered at most twice per version; `None` when it cannot be rendered.
    pub fn show(&mut self, make: impl FnOnce() -> Option<TableSnapshot>) -> Option<TableSnapshot> {
        let snapshot = self.shown.take().or_else(make)?;
        self.looked(snapshot.pending);
        if std::mem::replace(&mut self.wanted_again, true) {
            self.shown = Some(snapshot.clone());
        }
        Some(snapshot)
    }

    /// Records that a viewer learnt whether the table is pending, without a new snapshot.
    pub fn looked(&mut self, pending: bool) {
        self.seen_pending |= pending;
        self.seen_complete |= !pending;
    }

    /// Whether anyone sees the table before it is complete.
    pub fn watches(&self) -> bool {
        self.seen_pending || self.waiters.iter().any(|(until, _)| *until != Until::Complete)
    }

    /// Adds a waiter.
    pub fn wait(&mut self, until: Until) -> oneshot::Receiver<TableSnapshot> {
        let (sender, receiver) = oneshot::channel();
        self.waiters.push((until, sender));
        receiver
    }

    /// Takes the waiters whose condition holds.
    pub fn served(&mut self, has_come: impl Fn(Until) -> bool) -> Vec<oneshot::Sender<TableSnapshot>> {
        self.waiters.extract_if(.., |(until, _)| has_come(*until)).map(|(_, waiter)| waiter).collect()
    }

    /// Whether no viewer will return: all of them saw the table complete.
    pub fn is_done(&self) -> bool {
        self.seen_complete && !self.seen_pending
    }
}
