//! Who looks at a rate table while it is being built: what they were shown, and who waits for more.

use tokio::sync::oneshot;

use super::messages::{Snapshot, Until};

/// Those who look at one table.
#[derive(Debug, Default)]
pub struct Audience {
    /// What was shown last, as long as it holds. It is kept once it is wanted again: most versions are shown once, and the
    /// text of an open table is as large as all else that it takes.
    shown: Option<Snapshot>,
    /// Whether this version was shown already.
    wanted_again: bool,
    /// Whether anybody was shown the table while it was pending, and so will come back.
    told_pending: bool,
    /// Whether anybody was shown it complete.
    told_complete: bool,
    waiters: Vec<(Until, oneshot::Sender<Snapshot>)>,
}

impl Audience {
    /// The table has changed, so that what was shown holds no longer.
    pub fn changed(&mut self) {
        (self.shown, self.wanted_again) = (None, false);
    }

    /// What is shown now, made twice per version at most; `None` when it cannot be made.
    pub fn show(&mut self, make: impl FnOnce() -> Option<Snapshot>) -> Option<Snapshot> {
        let snapshot = self.shown.take().or_else(make)?;
        self.looked(snapshot.pending);
        if std::mem::replace(&mut self.wanted_again, true) {
            self.shown = Some(snapshot.clone());
        }
        Some(snapshot)
    }

    /// Somebody was told whether the table is pending, and nothing of it that was not told before.
    pub fn looked(&mut self, pending: bool) {
        self.told_pending |= pending;
        self.told_complete |= !pending;
    }

    /// Whether anybody looks before the table is complete.
    pub fn watches(&self) -> bool {
        self.told_pending || self.waiters.iter().any(|(until, _)| *until != Until::Settled)
    }

    /// Lets somebody wait.
    pub fn wait(&mut self, until: Until) -> oneshot::Receiver<Snapshot> {
        let (sender, receiver) = oneshot::channel();
        self.waiters.push((until, sender));
        receiver
    }

    /// Those whose wait is over.
    pub fn served(&mut self, has_come: impl Fn(Until) -> bool) -> Vec<oneshot::Sender<Snapshot>> {
        let come = self.waiters.extract_if(.., |(until, _)| has_come(*until));
        come.map(|(_, waiter)| waiter).collect()
    }

    /// Whether nobody will come any more: the first who was shown the table was shown it complete.
    pub fn is_done(&self) -> bool {
        self.told_complete && !self.told_pending
    }

    /// Lets nobody wait any longer.
    pub fn dismiss(&mut self) {
        self.waiters.clear();
    }
}
