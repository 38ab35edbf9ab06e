//! Whether the daemon takes leads, and if not, why; and what is damaged while it does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use offerd_store::{ClockStanding, Store};

/// Readiness: started, not stopping, and a store that writes.
#[derive(Debug)]
pub struct Health {
    ready: AtomicBool,
    store: Store,
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
            offerd_store::Health::Sound => self.store.lost_base().map_or(Ok(()), |damage| {
                Err(format!(
                    "degraded: what was acknowledged cannot be read: {damage}; stop the daemon, then `offerd store salvage` makes a good \
                     store of what is left, and of the last backup"
                ))
            }),
            offerd_store::Health::Short(reason) | offerd_store::Health::Stalled(reason) => {
                Err(format!("no new leads are taken in: {reason}"))
            }
            offerd_store::Health::Failed(reason) => Err(format!("the store does not write: {reason}")),
        }
    }

    /// What of the store is not as it was written, while all the rest goes on; nothing where nothing is known to be damaged.
    pub fn degraded(&self) -> Option<String> {
        let places = self.store.damages().iter().filter(|damage| damage.costs_records()).count();
        let records = self.store.broken_records();
        (places + records > 0).then(|| {
            format!(
                "damaged places of the store: {places}, records that could not be read: {records}; \
                 `offerd store check` names them"
            )
        })
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
