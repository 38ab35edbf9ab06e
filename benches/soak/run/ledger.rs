//! What clients were answered, and what was acknowledged to them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::clients::Deed;

/// Most answers that nobody expected that are told.
const TOLD_MAX: usize = 20;

/// Longest latency that is told apart, microseconds.
const LONGEST_US: u64 = 60_000_000;

/// A lead that was taken in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acknowledged {
    pub lead: String,
    pub table: String,
}

/// Kept by all clients.
#[derive(Default)]
pub struct Ledger(Mutex<Pages>);

#[derive(Default)]
struct Pages {
    acknowledged: Vec<Acknowledged>,
    clicks: u64,
    answers: BTreeMap<(Deed, u16), u64>,
    latencies: BTreeMap<Deed, Histogram<u64>>,
    unexpected: Vec<String>,
    unexpected_count: u64,
}

impl Ledger {
    /// Notes how a request was answered.
    pub fn answered(&self, deed: Deed, status: u16, took: Duration) {
        let mut pages = self.pages();
        *pages.answers.entry((deed, status)).or_default() += 1;
        let latencies = pages.latencies.entry(deed).or_insert_with(histogram);
        latencies.saturating_record(u64::try_from(took.as_micros()).unwrap_or(LONGEST_US));
    }

    /// Notes an answer, or what it says, that should have been another.
    pub fn unexpected(&self, what: String) {
        let mut pages = self.pages();
        pages.unexpected_count += 1;
        if pages.unexpected.len() < TOLD_MAX {
            pages.unexpected.push(what);
        }
    }

    pub fn acknowledge(&self, lead: Acknowledged) {
        self.pages().acknowledged.push(lead);
    }

    pub fn clicked(&self) {
        self.pages().clicks += 1;
    }

    /// One of the last leads; none as long as there is none.
    pub fn a_recent(&self, draw: usize) -> Option<Acknowledged> {
        const RECENT: usize = 2000;
        let pages = self.pages();
        let recent = &pages.acknowledged[pages.acknowledged.len().saturating_sub(RECENT)..];
        recent.get(draw.checked_rem(recent.len())?).cloned()
    }

    pub fn acknowledged(&self) -> Vec<Acknowledged> {
        self.pages().acknowledged.clone()
    }

    pub fn count(&self) -> u64 {
        self.pages().acknowledged.len() as u64
    }

    pub fn clicks(&self) -> u64 {
        self.pages().clicks
    }

    /// Answers by deed and status.
    pub fn answers(&self) -> BTreeMap<(Deed, u16), u64> {
        self.pages().answers.clone()
    }

    /// Milliseconds within which a share of a deed's answers came.
    pub fn within_ms(&self, deed: Deed, share: f64) -> f64 {
        let pages = self.pages();
        pages.latencies.get(&deed).map_or(f64::NAN, |times| times.value_at_quantile(share) as f64 / 1e3)
    }

    /// How many answers were not expected, and some of them.
    pub fn all_unexpected(&self) -> (u64, Vec<String>) {
        let pages = self.pages();
        (pages.unexpected_count, pages.unexpected.clone())
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_US, 3).expect("the bounds of the histogram are fixed")
}
