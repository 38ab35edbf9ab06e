//! Room on the disk. New leads are refused before it is gone, so that there is room left for what was taken in already: an index
//! does not come back from a disk that is full, and then nothing more is written until a restart.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::telemetry::metrics::STORE_FREE_BYTES;

/// How old a look at the disk may be.
const FRESH: Duration = Duration::from_millis(500);

/// Lets a test fill the disk of a store, and empty it again.
#[doc(hidden)]
#[derive(Debug, Clone, Default)]
pub struct SpaceFault(Arc<AtomicBool>);

impl SpaceFault {
    /// Has the disk be full from now on, or not.
    pub fn set(&self, full: bool) {
        self.0.store(full, Ordering::SeqCst);
    }
}

/// How much room there is where the store is.
#[derive(Debug)]
pub(super) struct Space {
    path: PathBuf,
    reserve_bytes: u64,
    fault: SpaceFault,
    seen: Mutex<Option<Seen>>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Instant,
    short: bool,
}

impl Space {
    pub(super) fn new(path: PathBuf, reserve_bytes: u64, fault: SpaceFault) -> Self {
        Self { path, reserve_bytes, fault, seen: Mutex::new(None) }
    }

    /// Whether less than the reserve is free. A disk that cannot be asked counts as one with room: writing to it will
    /// show.
    pub(super) fn is_short(&self) -> bool {
        if self.fault.0.load(Ordering::SeqCst) {
            return true;
        }
        let mut seen = self.seen.lock();
        if let Some(seen) = seen.filter(|seen| seen.at.elapsed() < FRESH) {
            return seen.short;
        }
        let free =
            rustix::fs::statvfs(&self.path).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        let short = free.is_some_and(|free| free < self.reserve_bytes);
        if let Some(free) = free {
            metrics::gauge!(STORE_FREE_BYTES).set(free as f64);
        }
        match (seen.is_some_and(|seen| seen.short), short) {
            (false, true) => tracing::error!(
                free_bytes = free,
                reserve_bytes = self.reserve_bytes,
                "the disk of the store is nearly full: no new leads are taken in until there is room"
            ),
            (true, false) => tracing::info!(free_bytes = free, "the disk of the store has room again"),
            _ => {}
        }
        *seen = Some(Seen { at: Instant::now(), short });
        short
    }

    /// What is wrong, in words.
    pub(super) fn told(&self) -> String {
        format!(
            "less than `store.reserve_bytes` ({}) is free on the disk of `store.path`",
            self.reserve_bytes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_short_when_less_than_the_reserve_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let space = |reserve| Space::new(directory.path().to_owned(), reserve, SpaceFault::default());
        assert!(!space(1).is_short());
        assert!(space(u64::MAX).is_short());
        assert!(!Space::new("/not/there".into(), u64::MAX, SpaceFault::default()).is_short());
    }
}
