//! Limits of failed sign-in attempts, per name and in total.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Hash, NotSignedIn, hash};
use offerd_base::config::ConsoleSettings;

const SPAN: Duration = Duration::from_secs(60);

/// Failed and pending attempts. The limit bounds their number; beyond it no password is checked.
pub(in crate::console) struct Attempts {
    per_name: usize,
    in_all: usize,
    failed: Mutex<VecDeque<FailedSignIn>>,
}

#[derive(Debug)]
#[must_use = "it counts as failed until it has succeeded"]
pub(in crate::console) struct Attempt(FailedSignIn);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FailedSignIn {
    name: Hash,
    at: Instant,
}

impl Attempts {
    pub(super) fn new(settings: &ConsoleSettings) -> Self {
        let (per_name, in_all) = (settings.sign_ins_failed_per_name, settings.sign_ins_failed);
        Self { per_name, in_all, failed: Mutex::default() }
    }

    /// Permits checking a password. The attempt counts as failed until it has [succeeded](Self::succeeded),
    /// so that concurrent attempts cannot exceed the limit. Fails when too many attempts have failed.
    pub(in crate::console) fn begin(&self, name: &str) -> Result<Attempt, NotSignedIn> {
        let mut failed = self.failed.lock();
        failed.retain(|failed| failed.at.elapsed() < SPAN);
        let name = hash(&name.to_ascii_lowercase());
        let with_name = failed.iter().filter(|failed| failed.name == name).count();
        if failed.len() >= self.in_all || with_name >= self.per_name {
            return Err(NotSignedIn::TooMany);
        }
        let attempt = FailedSignIn { name, at: Instant::now() };
        failed.push_back(attempt);
        Ok(Attempt(attempt))
    }

    pub(in crate::console) fn succeeded(&self, Attempt(attempt): Attempt) {
        let mut failed = self.failed.lock();
        if let Some(nth) = failed.iter().position(|failed| *failed == attempt) {
            failed.remove(nth);
        }
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.failed.lock().len()
    }
}
