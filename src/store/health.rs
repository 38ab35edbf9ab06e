//! The health of the store: whether it can still keep its durability promise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use tokio::sync::Notify;

/// The state of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreHealth {
    /// Commits are taken.
    Sound,
    /// The disk is nearly full: commits are taken, but new leads should be refused.
    Short(String),
    /// The disk does not answer: accepted commits wait for it, and new leads should be refused.
    Stalled(String),
    /// Writing failed: commits are refused. Reads go on while the store may mend; after a failure for good
    /// they are refused too, until a restart.
    Failed(String),
}

/// The flag behind [`StoreHealth`]. A failed operation is never retried: after a failed sync the kernel may
/// have dropped the pages, and would report unwritten data as written (promise L4). A failed journal can
/// continue in a new file. After other failures, only a restart shows the true state.
#[derive(Debug, Default)]
pub(super) struct FailureLatch {
    failure: RwLock<Option<Arc<StoreFailure>>>,
    mended: Notify,
    /// Set after a failure for good; for callers that must not take a lock.
    lost: Arc<AtomicBool>,
    noted: Notify,
}

#[derive(Debug)]
pub(super) struct StoreFailure {
    pub(super) reason: String,
    /// Whether only a restart helps.
    pub(super) for_good: bool,
}

impl FailureLatch {
    pub(super) fn fail(&self, reason: &str) {
        self.set(reason, false);
    }

    pub(super) fn fail_for_good(&self, reason: &str) {
        self.set(reason, true);
    }

    /// Marks the store as sound again, unless it failed for good meanwhile. Returns whether it is sound.
    pub(super) fn mended(&self) -> bool {
        {
            let mut failure = self.failure.write();
            if failure.as_ref().is_some_and(|failure| failure.for_good) {
                return false;
            }
            *failure = None;
        }
        tracing::warn!("the store works again and accepts commits");
        self.mended.notify_one();
        true
    }

    /// Waits until the store is sound again after a failure. One caller waits at a time.
    pub(super) async fn until_mended(&self) {
        self.mended.notified().await;
    }

    /// Waits until the store has failed for good, and returns the reason. One caller waits at a time.
    pub(super) async fn until_lost(&self) -> String {
        loop {
            if let Some(failure) = self.failure().filter(|failure| failure.for_good) {
                return failure.reason.clone();
            }
            self.noted.notified().await;
        }
    }

    /// Whether the store has failed for good, so that its indexes must not be queried any more.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub(super) fn lost(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.lost)
    }

    fn set(&self, reason: &str, for_good: bool) {
        let mut failed = self.failure.write();
        if failed.as_ref().is_some_and(|failure| failure.for_good || !for_good) {
            return;
        }
        let reason = match failed.as_ref() {
            Some(before) => format!("{reason}; before that: {}", before.reason),
            None => reason.to_owned(),
        };
        match for_good {
            true => {
                tracing::error!(%reason, "the store failed for good: the daemon ends, and its next start \
                continues with what is on disk")
            }
            false => {
                tracing::error!(%reason, "a write to the store failed: new leads get 503 until writes succeed \
                again; mend what `reason` names, and on a disk error look at `dmesg`")
            }
        }
        *failed = Some(Arc::new(StoreFailure { reason, for_good }));
        if for_good {
            self.lost.store(true, Ordering::Release);
            self.noted.notify_one();
        }
    }

    pub(super) fn failure(&self) -> Option<Arc<StoreFailure>> {
        self.failure.read().clone()
    }

    pub(super) fn can_mend(&self) -> bool {
        self.failure().is_some_and(|failure| !failure.for_good)
    }

    pub(super) fn health(&self) -> StoreHealth {
        self.failure().map_or(StoreHealth::Sound, |failure| StoreHealth::Failed(failure.reason.clone()))
    }
}
