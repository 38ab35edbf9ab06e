//! Reports: counts of leads, offers and earnings by day, company, product, partner, tag, rating, state and
//! experiment, or by any two of these, over any range of days; and by offer.
//!
//! A `fold` follows the feeds of each company and adds each record to [`cells`]: by company and day, one cell
//! for each value of each dimension and of each pair of dimensions. Cells are written in large batches, as
//! `blocks`, in one commit with the fold's cursors, so a crash neither loses nor repeats a record. A
//! `rebuild` recounts the records. The cost of a report does not depend on the number of leads.
//!
//! # Measures
//!
//! [`measure`] lists the measures. An event belongs to the partner whose institution it names, at the table
//! of its offer or else at the lead's tables. Rating, state and tags are those of the lead when the record is
//! counted; a lead with several values of a tag counts for each. Under `experiment` a lead counts as
//! `RULE/VARIANT`. Days are those of the zones in `reports.zones`; each zone has its own count.
//!
//! `(none)` stands for a missing value, `(unknown)` for a lead that was erased before it was counted, and
//! `(other)` for the values of a tag beyond `reports.tag_values`. A lead counts in the row of each partner
//! that was sent it, so rows may add up to more than the whole, which is counted separately.
//!
//! # Several processes
//!
//! On a shared store the leader counts, and writes every few seconds. The other processes report from the
//! stored counts. Cells name no lead, and outlive the records that they were counted from.

mod block;
mod blocks;
pub mod cells;
pub mod count;
mod cover;
pub mod dimension;
pub mod figures;
mod fold;
mod groups;
mod keep;
mod key;
pub mod measure;
pub mod names;
pub mod query;
mod rebuild;
pub mod report;
pub mod statement;
mod subject;
mod sums;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use chrono::Utc;
use chrono_tz::Tz;
use metrics::{counter, histogram};
use parking_lot::RwLock;
use tokio::sync::Semaphore;
use uuid::Uuid;

use self::count::ReportCount;
pub use self::dimension::Dimension;
use self::query::{QueryFaults, ReportQuery};
pub use self::rebuild::{Rebuild, RebuildProgress, Rebuilt};
use self::report::Report;
use self::sums::Sums;
use offerd_base::config::ReportSettings;
use offerd_base::telemetry::metrics::{REPORT_SECONDS, REPORTS_REFUSED};
use offerd_engine::records::Records;
use offerd_store::tokens::Tokens;
use offerd_store::{CommitError, Tree};

/// The number of stored dimensions: five of the lead and its offers, the tags, experiments, and offers.
const SLOTS_MAX: usize = 15;

/// The most valid values listed in an error about an unknown one.
const KNOWN_TOLD: usize = 20;

/// How often a report is retried because cells were written meanwhile.
const TRIES: usize = 4;

/// The counts of a store, one for each time zone. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reports {
    records: Records,
    /// The limits and names of reports.
    pub rules: Arc<ReportSettings>,
    counts: Arc<Vec<RwLock<ReportCount>>>,
    places: Arc<Semaphore>,
    /// Whether this process counts; otherwise it follows the stored counts.
    counting: Arc<AtomicBool>,
    /// Whether the fold has caught up since the counts were loaded.
    caught_up: Arc<AtomicBool>,
    turn: Arc<Semaphore>,
}

/// Why a report failed.
#[derive(Debug)]
pub enum ReportFault {
    /// The query is invalid, or asks for too many groups.
    Query(QueryFaults),
    /// Too many reports are being made.
    Busy,
    /// The store cannot be read.
    Unreadable(CommitError),
}

impl From<CommitError> for ReportFault {
    fn from(error: CommitError) -> Self {
        Self::Unreadable(error)
    }
}

impl Reports {
    /// Loads the counts of a store.
    ///
    /// # Errors
    /// The counts cannot be read.
    pub fn of(records: Records, rules: ReportSettings) -> Result<Self, CommitError> {
        let rules = Arc::new(rules);
        let load = |zone: &Tz| ReportCount::load(&records.store, *zone, Arc::clone(&rules)).map(RwLock::new);
        let counts = Arc::new(rules.zones.iter().map(load).collect::<Result<_, _>>()?);
        let (places, turn) = (Arc::new(Semaphore::new(rules.at_once)), Arc::new(Semaphore::new(1)));
        // On a database it counts once it is the leader.
        let counting = Arc::new(AtomicBool::new(!records.store.is_shared()));
        Ok(Self { records, counts, places, counting, rules, caught_up: Arc::default(), turn })
    }

    fn is_counting(&self) -> bool {
        self.counting.load(Ordering::Acquire)
    }

    /// The counted tags, in the order of their slots.
    pub fn tags(&self) -> Vec<String> {
        self.counts.first().map_or_else(Vec::new, |count| count.read().state.tags.clone())
    }

    /// Parses a query from parameters.
    ///
    /// # Errors
    /// Every fault of the query.
    pub fn query(&self, pairs: &[(String, String)]) -> Result<ReportQuery, QueryFaults> {
        let today = |zone: Tz| Utc::now().with_timezone(&zone).date_naive();
        ReportQuery::read(pairs, &self.rules, &self.tags(), today)
    }

    /// Makes a report; fails for filter values that were never counted. Blocks while it reads the store.
    ///
    /// # Errors
    /// [`ReportFault`]
    pub fn report(&self, query: &ReportQuery) -> Result<Report, ReportFault> {
        let report = self.report_or_empty(query)?;
        known(query, &self.count(query.zone).read(), &self.companies())?;
        Ok(report)
    }

    /// Makes a report; it is empty if no record matches the filters.
    ///
    /// # Errors
    /// [`ReportFault`]
    pub fn report_or_empty(&self, query: &ReportQuery) -> Result<Report, ReportFault> {
        let refused = |reason: &'static str| counter!(REPORTS_REFUSED, "reason" => reason).increment(1);
        let Ok(_place) = self.places.try_acquire() else {
            refused("busy");
            return Err(ReportFault::Busy);
        };
        let begun = Instant::now();
        let made = self.made(query);
        histogram!(REPORT_SECONDS).record(begun.elapsed().as_secs_f64());
        if matches!(made, Err(ReportFault::Query(_))) {
            refused("large");
        }
        made
    }

    /// A report's totals, without a slot of `reports.at_once`; `None` while a crash's records are recounted.
    pub fn totals(&self, query: &ReportQuery) -> Option<figures::Figures> {
        let is_told = !self.is_counting() || self.caught_up.load(Ordering::Acquire);
        self.made(query).ok().filter(|_| is_told).map(|report| report.total)
    }

    fn made(&self, query: &ReportQuery) -> Result<Report, ReportFault> {
        let named = self.companies();
        for attempt in 1.. {
            if !self.is_counting() {
                self.take_in(self.count(query.zone))?;
            }
            let count = self.count(query.zone).read();
            let companies = report::companies(query, report::all_companies(&count, named.clone()));
            let before = self.writes(&count)?;
            let sums = Sums {
                store: &self.records.store,
                count: &count,
                query,
                companies: &companies,
                labels: Default::default(),
                most: self.rules.groups,
                // A write in progress may be in the store already.
                with_pending: before == count.state.writes,
            };
            let made = report::report(sums);
            // A concurrent write may have counted cells twice or not at all.
            if attempt >= TRIES || self.writes(&count)? == before {
                return made;
            }
        }
        unreachable!("the last try is answered")
    }

    /// The companies that have a name.
    pub fn companies(&self) -> Vec<(Uuid, String)> {
        let companies = Tokens::of(self.records.store.clone()).companies().into_iter();
        companies.map(|company| (company.uuid, company.name)).collect()
    }

    fn take_in(&self, counted: &RwLock<ReportCount>) -> Result<(), CommitError> {
        let store = &self.records.store;
        let is_current = {
            let count = counted.read();
            count.is_in_force(store)? && self.writes(&count)? == count.state.writes
        };
        if is_current { Ok(()) } else { self.load_again(counted) }
    }

    fn load_again(&self, counted: &RwLock<ReportCount>) -> Result<(), CommitError> {
        let zone = counted.read().space.zone;
        let count = ReportCount::load(&self.records.store, zone, Arc::clone(&self.rules))?;
        *counted.write() = count;
        Ok(())
    }

    fn writes(&self, count: &ReportCount) -> Result<u32, CommitError> {
        let state = self.records.store.read::<count::CountState>(Tree::Reports, count.space.state());
        Ok(state.map_err(blocks::unreadable)?.map_or(0, |state| state.writes))
    }

    /// For benches: adds to the first zone's count directly.
    #[doc(hidden)]
    pub fn counted(&self, add: impl FnOnce(&mut ReportCount)) {
        if let Some(count) = self.counts.first() {
            add(&mut count.write());
        }
    }

    fn count(&self, zone: Tz) -> &RwLock<ReportCount> {
        let place = self.rules.zones.iter().position(|known| *known == zone).unwrap_or(0);
        &self.counts[place]
    }
}

/// Checks that each filter value was ever counted; passes while nothing was counted at all.
fn known(query: &ReportQuery, count: &ReportCount, named: &[(Uuid, String)]) -> Result<(), ReportFault> {
    let companies = report::all_companies(count, named.to_vec());
    for (dimension, value) in &query.filters {
        let (is_known, all): (bool, BTreeSet<&str>) = match dimension.slot() {
            Some(slot) => {
                let all = count.known(slot);
                (all.contains(&value[..]), all)
            }
            None => {
                let is_known = !report::companies(query, companies.clone()).is_empty();
                (is_known, companies.iter().map(|(_, name)| &name[..]).collect())
            }
        };
        if !is_known && !all.is_empty() {
            // Reserved values go last.
            let (reserved, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|value| value.starts_with('('));
            let more = all.len().saturating_sub(KNOWN_TOLD);
            let told = all.into_iter().chain(reserved).take(KNOWN_TOLD).collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let wanted = format!("has no such value of {dimension}: `{value}`; known: {told}{more}");
            return Err(ReportFault::Query(vec![("where".to_owned(), wanted)]));
        }
    }
    Ok(())
}
