//! Ids for records that have a 64-bit `id` besides their UUID.

use std::sync::atomic::{AtomicI64, Ordering};

use chrono::Utc;

/// Generates ids: the current microsecond, or the last id plus one. They fit the numbers of JavaScript (2^53)
/// until 2255. A clock that was set back could repeat one, so records are written under a guard, and retried.
#[derive(Debug, Default)]
pub struct RecordIds(AtomicI64);

impl RecordIds {
    /// The next id.
    pub fn next(&self) -> i64 {
        let now = Utc::now().timestamp_micros();
        let following = |last: i64| now.max(last + 1);
        let last = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(following(last)));
        following(last.unwrap_or_else(|last| last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_instant_differ_and_grow() {
        let ids = RecordIds::default();
        let given: Vec<i64> = (0..10_000).map(|_| ids.next()).collect();
        assert!(given.is_sorted_by(|one, two| one < two));
    }
}
