//! Whether the store can still keep its promise.

use std::sync::OnceLock;

/// What the store says of itself. A failed store stays failed until the daemon starts again: after a failed sync the
/// kernel may have dropped the pages, so that trying again would report as written what is not (promise L4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Commits are taken.
    Sound,
    /// The disk is nearly full: commits are taken, but new leads should not be.
    Short(String),
    /// The disk failed; commits are refused, reads go on.
    Failed(String),
}

/// The sticky flag behind [`Health`].
#[derive(Debug, Default)]
pub(super) struct FailureLatch {
    reason: OnceLock<String>,
}

impl FailureLatch {
    /// Marks the store as failed, for good; the first reason is the one logged and kept.
    pub(super) fn fail(&self, reason: &str) {
        if self.reason.set(reason.to_owned()).is_ok() {
            tracing::error!(reason, "store failed, commits are refused from here on");
        }
    }

    /// Why the store failed, if it did.
    pub(super) fn failure(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// The flag as others see it.
    pub(super) fn health(&self) -> Health {
        self.failure().map_or(Health::Sound, |reason| Health::Failed(reason.to_owned()))
    }
}
