//! A record of all answers, and of the leads that were acknowledged.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::clients::Deed;

/// The most unexpected answers that are listed.
const TOLD_MAX: usize = 20;

/// The longest latency in the histogram, in microseconds.
const LONGEST_US: u64 = 60_000_000;

/// An acknowledged lead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acknowledged {
    pub lead: String,
    pub table: String,
}

/// Shared by all clients.
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
    /// Records the answer to a request.
    pub fn answered(&self, deed: Deed, status: u16, took: Duration) {
        let mut pages = self.pages();
        *pages.answers.entry((deed, status)).or_default() += 1;
        let latencies = pages.latencies.entry(deed).or_insert_with(histogram);
        latencies.saturating_record(u64::try_from(took.as_micros()).unwrap_or(LONGEST_US));
    }

    /// Records an unexpected answer, or an unexpected content.
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

    /// One of the latest leads; `None` before the first.
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

    /// The number of answers, by deed and status.
    pub fn answers(&self) -> BTreeMap<(Deed, u16), u64> {
        self.pages().answers.clone()
    }

    /// A quantile of a deed's latencies, in milliseconds.
    pub fn within_ms(&self, deed: Deed, share: f64) -> f64 {
        let pages = self.pages();
        pages.latencies.get(&deed).map_or(f64::NAN, |times| times.value_at_quantile(share) as f64 / 1e3)
    }

    /// The number of unexpected answers, and some of them.
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
