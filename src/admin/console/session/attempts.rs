//! How many attempts to sign in have failed lately: with one name, and in all.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Hash, NotSignedIn, hash};
use offerd_base::config::ConsoleSettings;

/// How far back failed attempts count.
const SPAN: Duration = Duration::from_secs(60);

/// The attempts that have failed, or may yet. No more are kept than may fail; of more no password is looked at.
pub(in crate::console) struct Attempts {
    /// How many may fail within [`SPAN`] with one name.
    per_name: usize,
    /// How many may fail within [`SPAN`] in all.
    in_all: usize,
    failed: Mutex<VecDeque<Failed>>,
}

/// Leave to try once.
#[derive(Debug)]
#[must_use = "it counts as failed until it has succeeded"]
pub(in crate::console) struct Attempt(Failed);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Failed {
    name: Hash,
    at: Instant,
}

impl Attempts {
    pub(super) fn new(settings: &ConsoleSettings) -> Self {
        let (per_name, in_all) = (settings.sign_ins_failed_per_name, settings.sign_ins_failed);
        Self { per_name, in_all, failed: Mutex::default() }
    }

    /// Leave to look at a password of somebody. It counts as failed until it has [succeeded](Self::succeeded), so that no number
    /// of attempts at once gets round the limit.
    ///
    /// # Errors
    /// That too many have failed.
    pub(in crate::console) fn begin(&self, name: &str) -> Result<Attempt, NotSignedIn> {
        let mut failed = self.failed.lock();
        failed.retain(|failed| failed.at.elapsed() < SPAN);
        let name = hash(&name.to_ascii_lowercase());
        let with_name = failed.iter().filter(|failed| failed.name == name).count();
        if failed.len() >= self.in_all || with_name >= self.per_name {
            return Err(NotSignedIn::TooMany);
        }
        let attempt = Failed { name, at: Instant::now() };
        failed.push_back(attempt);
        Ok(Attempt(attempt))
    }

    /// The attempt has not failed.
    pub(in crate::console) fn succeeded(&self, Attempt(attempt): Attempt) {
        let mut failed = self.failed.lock();
        if let Some(nth) = failed.iter().position(|failed| *failed == attempt) {
            failed.remove(nth);
        }
    }

    /// How many are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.failed.lock().len()
    }
}
