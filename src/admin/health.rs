//! Whether the daemon takes leads, and if not, why.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::{self, Store};

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
            store::Health::Short(reason) => Err(format!("no new leads are taken in: {reason}")),
            store::Health::Failed(reason) => Err(format!("the store does not write: {reason}")),
        }
    }
}
