//! Readiness: whether the daemon accepts leads and asks partners, why not, and known damage.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use metrics::gauge;
use parking_lot::RwLock;
use tokio::sync::watch;

use super::master_key;
use super::prelude::*;
use offerd_base::config::Settings;
use offerd_base::telemetry::metrics::{MASTER_KEY_DIFFERS, NOT_READY, READY};
use offerd_store::{ClockStatus, StoreHealth};

/// The causes for which the daemon is not ready, as metrics and alerts name them.
const CAUSES: [&str; 6] =
    ["disk_full", "store_stalled", "store_failed", "store_damaged", "database_silent", "opt_outs_locked"];

/// Readiness: started, not stopping, and the store can write.
#[derive(Debug)]
pub struct ReadinessState {
    ready: AtomicBool,
    store: Store,
    settings: watch::Receiver<Arc<Settings>>,
    /// The settings file, which the next start will read.
    file: Option<PathBuf>,
    key_fault: RwLock<Option<String>>,
}

impl ReadinessState {
    /// Creates it, not ready.
    pub fn new(store: Store, settings: watch::Receiver<Arc<Settings>>, file: Option<PathBuf>) -> Self {
        Self { ready: AtomicBool::new(false), store, settings, file, key_fault: RwLock::default() }
    }

    /// Set after the start, cleared before the stop.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// What is wrong with the system clock, while leads are accepted.
    pub fn clock_remark(&self) -> Option<String> {
        clock_remark(self.store.clock_status())
    }

    /// Why the next start fails, if the settings give another master key than the one of the store.
    pub fn key_fault(&self) -> Option<String> {
        self.key_fault.read().clone()
    }

    /// Compares the master key that the next start would use with the one of the store. Reads files.
    pub fn look_at_key(&self) {
        let needed = self.store.master_key_id();
        let of = |settings: &Settings| master_key::fault(&settings.store, &needed);
        let in_force = Arc::clone(&self.settings.borrow());
        // The file may have been corrected since: the setting waits for the restart.
        let fault = of(&in_force).and_then(|fault| {
            Settings::inspect(self.file.as_deref(), None).0.map_or(Some(fault), |later| of(&later))
        });
        gauge!(MASTER_KEY_DIFFERS).set(f64::from(u8::from(fault.is_some())));
        *self.key_fault.write() = fault;
    }

    /// Whether leads are accepted.
    ///
    /// # Errors
    /// Returns the reason why not.
    pub fn ready(&self, engine: &MatchingEngine) -> Result<(), String> {
        match self.ready.load(Ordering::Acquire) {
            true => self.hindrance(engine).map_or(Ok(()), |(_, reason)| Err(reason)),
            false => Err("starting or stopping".to_owned()),
        }
    }

    /// Sets the metrics of readiness. A start or a stop is no cause to raise an alert.
    pub fn measure(&self, engine: &MatchingEngine) {
        let is_up = self.ready.load(Ordering::Acquire);
        let hindrance = self.hindrance(engine).filter(|_| is_up);
        gauge!(READY).set(f64::from(u8::from(is_up && hindrance.is_none())));
        for cause in CAUSES {
            let is_it = hindrance.as_ref().is_some_and(|(of, _)| *of == cause);
            gauge!(NOT_READY, "cause" => cause).set(f64::from(u8::from(is_it)));
        }
    }

    /// Why no leads are accepted: one of [`CAUSES`], and a sentence.
    fn hindrance(&self, engine: &MatchingEngine) -> Option<(&'static str, String)> {
        match self.store.health() {
            StoreHealth::Sound => {}
            StoreHealth::Short(reason) => {
                return Some(("disk_full", format!("not accepting new leads: {reason}")));
            }
            StoreHealth::Stalled(reason) => {
                let cause = if self.store.is_shared() { "database_silent" } else { "store_stalled" };
                return Some((cause, format!("not accepting new leads: {reason}")));
            }
            StoreHealth::Failed(_) if let Some(silence) = self.store.database_silence() => {
                return Some(("database_silent", format!("not accepting new leads: {silence}")));
            }
            StoreHealth::Failed(reason) => {
                return Some(("store_failed", format!("the store accepts no writes: {reason}")));
            }
        }
        if let Some(damage) = self.store.lost_base() {
            let reason = format!(
                "not accepting new leads: acknowledged data cannot be read: {damage}; stop the daemon, then run \
                    `offerd store salvage` to rebuild the store from what is left and the last backup"
            );
            return Some(("store_damaged", reason));
        }
        engine.suppressions.locked().map(|reason| ("opt_outs_locked", reason))
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

pub(super) fn clock_remark(status: ClockStatus) -> Option<String> {
    let written = |off: Duration| humantime::format_duration(Duration::from_secs(off.as_secs()));
    match status {
        ClockStatus::Followed => None,
        ClockStatus::Ahead(off) => {
            Some(format!("System clock is off by {} (ahead); using offerd's own clock", written(off)))
        }
        ClockStatus::Behind(off) => Some(format!("System clock jumped back {}", written(off))),
        ClockStatus::Unset => Some("System clock is not set; leads arrive with a wrong time".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_store::{MasterKey, StoreOptions};

    #[test]
    fn a_key_that_the_next_start_would_not_find_is_told_until_the_settings_name_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["old.key", "new.key"] {
            MasterKey::create(&path(name)).unwrap();
        }
        let write = |key: &str| {
            let (store, key) = (path("store"), path(key));
            let text = format!("[store]\npath = {store:?}\nmaster_key_file = {key:?}\n");
            std::fs::write(path("offerd.toml"), text).unwrap();
        };
        write("old.key");
        let settings = Settings::inspect(Some(&path("offerd.toml")), None).0.unwrap();
        let store = Store::open(StoreOptions::from(&settings.store)).unwrap();
        let in_force = watch::channel(Arc::new(settings)).1;
        let readiness = ReadinessState::new(store.clone(), in_force, Some(path("offerd.toml")));
        let fault = || {
            readiness.look_at_key();
            readiness.key_fault()
        };
        assert_eq!(fault(), None);
        store.exchange_master_key(MasterKey::read(&path("new.key")).unwrap()).unwrap();
        let found = fault().unwrap();
        assert!(found.contains("old.key") && found.contains(&store.master_key_id()), "{found}");
        write("new.key");
        assert_eq!(fault(), None, "the setting in force is still the old one");
        store.close().unwrap();
    }
}
