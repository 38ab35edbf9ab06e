//! The last check of the store since the start, for the console.

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::prelude::*;
use super::store::StoreReport;

/// The last check of the store.
#[derive(Debug, Default)]
pub struct LastStoreCheck(Mutex<Option<StoreCheck>>);

/// A check of the store.
#[derive(Debug, Clone, Serialize)]
pub struct StoreCheck {
    /// When it began, Unix milliseconds.
    pub at: i64,
    /// Its result: `None` while it runs, the cause if it failed.
    pub found: Option<Result<Value, String>>,
}

impl LastStoreCheck {
    /// The last check, if any.
    pub fn check(&self) -> Option<StoreCheck> {
        self.0.lock().clone()
    }

    /// Starts a check. Returns false if one is running.
    pub fn check_begins(&self) -> bool {
        let mut last = self.0.lock();
        if last.as_ref().is_some_and(|check| check.found.is_none()) {
            return false;
        }
        *last = Some(StoreCheck { at: Utc::now().timestamp_millis(), found: None });
        true
    }

    /// Records the end of the running check.
    pub fn check_ended(&self, report: Result<&StoreReport, String>) {
        let found = report.map(|report| {
            json!({
                "sound": report.sound,
                "records": report.trees.iter().map(|tree| (&tree.tree, tree.records)).collect::<Vec<_>>(),
                "broken": report.broken.len(),
                "leads_broken": report.leads_broken,
                "damaged": report.damaged.len(),
            })
        });
        let mut last = self.0.lock();
        let at = last.as_ref().map_or_else(|| Utc::now().timestamp_millis(), |check| check.at);
        *last = Some(StoreCheck { at, found: Some(found) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_check_goes_on_at_a_time() {
        let last_store_check = LastStoreCheck::default();
        assert!(last_store_check.check_begins() && !last_store_check.check_begins());
        last_store_check.check_ended(Err("the disk".to_owned()));
        let check = last_store_check.check().unwrap();
        assert!(matches!(check.found, Some(Err(cause)) if cause == "the disk"));
        assert!(last_store_check.check_begins());
    }
}
