//! Whether the daemon takes leads, and if not, why; and what is damaged while it does.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::store::{self, ClockStanding, Store};

/// Readiness: started, not stopping, and a store that writes.
#[derive(Debug)]
pub struct Health {
    ready: AtomicBool,
    store: Store,
}

/// What of the store is not as it was written, while all the rest goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Degraded {
    /// Places of its files.
    pub places: usize,
    /// Records that could not be read.
    pub records: usize,
}

impl Health {
    /// Not ready yet.
    pub fn new(store: Store) -> Self {
        Self { ready: AtomicBool::new(false), store }
    }

    /// Turns readiness on after the start, off before the end.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// What to look at although leads are taken.
    pub fn remark(&self) -> Option<String> {
        clock_remark(self.store.clock_standing())
    }

    /// Whether leads are taken.
    ///
    /// # Errors
    /// The reason why not.
    pub fn ready(&self) -> Result<(), String> {
        if !self.ready.load(Ordering::Acquire) {
            return Err("starting or stopping".to_owned());
        }
        match self.store.health() {
            store::Health::Sound => Ok(()),
            store::Health::Short(reason) | store::Health::Stalled(reason) => {
                Err(format!("no new leads are taken in: {reason}"))
            }
            store::Health::Failed(reason) => Err(format!("the store does not write: {reason}")),
        }
    }

    /// What is damaged, if anything is known to be.
    pub fn degraded(&self) -> Option<Degraded> {
        let degraded = Degraded { places: self.store.damages().len(), records: self.store.broken_records() };
        (degraded.places + degraded.records > 0).then_some(degraded)
    }
}

impl fmt::Display for Degraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { places, records } = self;
        write!(
            f,
            "damaged places of the store: {places}, records that could not be read: {records}; \
             `offerd store check` names them"
        )
    }
}

/// How the machine's clock is off, in words.
pub(super) fn clock_remark(standing: ClockStanding) -> Option<String> {
    let written = |off: Duration| humantime::format_duration(Duration::from_secs(off.as_secs()));
    match standing {
        ClockStanding::Followed => None,
        ClockStanding::Ahead(off) => Some(format!(
            "the clock of this machine is not believed: {} ahead of what has passed",
            written(off)
        )),
        ClockStanding::Behind(off) => {
            Some(format!("the clock of this machine is {} behind the last arrivals", written(off)))
        }
    }
}
