//! Readiness: whether the daemon accepts leads, why not, and known damage.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use offerd_store::{ClockStanding, Store, StoreHealth};

/// Readiness: started, not stopping, and the store can write.
#[derive(Debug)]
pub struct ReadinessState {
    ready: AtomicBool,
    store: Store,
}

impl ReadinessState {
    /// Creates it, not ready.
    pub fn new(store: Store) -> Self {
        Self { ready: AtomicBool::new(false), store }
    }

    /// Set after the start, cleared before the stop.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// A known problem while leads are accepted.
    pub fn remark(&self) -> Option<String> {
        clock_remark(self.store.clock_standing())
    }

    /// Whether leads are accepted.
    ///
    /// # Errors
    /// Returns the reason why not.
    pub fn ready(&self) -> Result<(), String> {
        if !self.ready.load(Ordering::Acquire) {
            return Err("starting or stopping".to_owned());
        }
        match self.store.health() {
            StoreHealth::Sound => self.store.lost_base().map_or(Ok(()), |damage| {
                Err(format!(
                    "degraded: acknowledged data cannot be read: {damage}; stop the daemon, then run \
                        `offerd store salvage` to rebuild the store from what is left and the last backup"
                ))
            }),
            StoreHealth::Short(reason) | StoreHealth::Stalled(reason) => {
                Err(format!("not accepting new leads: {reason}"))
            }
            StoreHealth::Failed(reason) => Err(format!("the store accepts no writes: {reason}")),
        }
    }

    /// Known damage of the store while everything else works; `None` if there is none.
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

pub(super) fn clock_remark(standing: ClockStanding) -> Option<String> {
    let written = |off: Duration| humantime::format_duration(Duration::from_secs(off.as_secs()));
    match standing {
        ClockStanding::Followed => None,
        ClockStanding::Ahead(off) => {
            Some(format!("System clock is off by {} (ahead); using offerd's own clock", written(off)))
        }
        ClockStanding::Behind(off) => Some(format!("System clock jumped back {}", written(off))),
    }
}
