//! Reports: what became of leads, by day, company, product, partner, tag, rating, state and experiment, any two of these, over any days.
//!
//! Nothing is counted when it happens. A `fold` follows the feeds, company by company, in the order of arrival, and adds what it
//! finds to [`cells`]: one for each value of each dimension and of each pair of them, by company and day. They are written (`blocks`)
//! seldom and many at once, in blocks (`block`) of some two bytes a cell, in one commit with how far the fold has come. So each
//! record is counted once, whatever crashes, and a count can always be made anew (`rebuild`) from the records. A report sums up the
//! blocks of its months and days, and what is not written yet; how many leads there were does not matter to it.
//!
//! # What is counted
//!
//! [`measure`] says what is counted, and where it is recorded.
//!
//! The partner of an event is the one at the table of its offer, or else at the lead's tables, whose institution it names. Rating,
//! state and tags are what the lead says when the record is counted; a lead with several values of a tag counts under each. Under
//! `experiment` it counts as `RULE/VARIANT` for each variant that it drew, and a lead that is in no experiment not at all: it costs nothing. Days
//! are those of the zones that `reports.zones` lists; each has a count of its own.
//!
//! `(none)` stands for what a lead or event has not, `(unknown)` for what cannot be known any more because the lead was erased before
//! it was counted, and `(other)` for values of a tag beyond `reports.tag_values`. What a partner has never reported is missing from
//! its rows, rather than 0. Since a lead counts in the row of each partner that it was sent, rows may add up to more than the
//! whole, which is counted by itself.
//!
//! # Who counts
//!
//! Where several processes share a store, the one that leads: it begins with what is written, and writes every few seconds, unless it
//! is alone. The others make reports of what is written; what was counted last is missing from theirs for as long.
//!
//! Cells stay when the records that they were counted from are dropped for their age, or erased: they name no lead.

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
mod names;
pub mod query;
mod rebuild;
pub mod report;
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

use self::count::Count;
pub use self::dimension::Dimension;
use self::query::{Query, QueryFaults};
pub use self::rebuild::{Rebuild, RebuildProgress, Rebuilt};
use self::report::Report;
use self::sums::{SumFault, Sums};
use offerd_base::config::ReportSettings;
use offerd_base::telemetry::metrics::{REPORT_SECONDS, REPORTS_REFUSED};
use offerd_engine::records::Records;
use offerd_store::tokens::Tokens;
use offerd_store::{CommitError, Tree};

/// Dimensions that cells can be of: five of the lead and its offers, the tags, and experiments.
const SLOTS_MAX: usize = 14;

/// Values that are told to who asks for another.
const KNOWN_TOLD: usize = 20;

/// How often a report is read again because cells were written meanwhile.
const TRIES: usize = 4;

/// The counts of a store, one for each time zone. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reports {
    records: Records,
    /// The limits and names that reports go by.
    pub rules: Arc<ReportSettings>,
    counts: Arc<Vec<RwLock<Count>>>,
    places: Arc<Semaphore>,
    /// Whether this process counts: others go by what it has written.
    counting: Arc<AtomicBool>,
    /// Whether all was counted once since what was written was read.
    caught_up: Arc<AtomicBool>,
    /// Held by who counts and writes, which one at a time does.
    turn: Arc<Semaphore>,
}

/// Why there is no report.
#[derive(Debug)]
pub enum ReportFault {
    /// What is wrong with what was asked.
    Query(QueryFaults),
    /// As many reports are made as may be at once.
    Busy,
    /// The store cannot be read.
    Unreadable(CommitError),
}

impl Reports {
    /// The counts of a store, as far as they have come.
    ///
    /// # Errors
    /// That they cannot be read.
    pub fn of(records: Records, rules: ReportSettings) -> Result<Self, CommitError> {
        let rules = Arc::new(rules);
        let load = |zone: &Tz| Count::load(&records.store, *zone, Arc::clone(&rules)).map(RwLock::new);
        let counts = Arc::new(rules.zones.iter().map(load).collect::<Result<_, _>>()?);
        let (places, turn) = (Arc::new(Semaphore::new(rules.at_once)), Arc::new(Semaphore::new(1)));
        // In a database it does once it leads.
        let counting = Arc::new(AtomicBool::new(!records.store.is_shared()));
        Ok(Self { records, counts, places, counting, rules, caught_up: Arc::default(), turn })
    }

    fn is_counting(&self) -> bool {
        self.counting.load(Ordering::Acquire)
    }

    /// By whose days is counted where nothing else is said.
    pub fn zone(&self) -> Tz {
        self.rules.usual_zone()
    }

    /// The tags that are counted, in the order of their numbers.
    pub fn tags(&self) -> Vec<String> {
        self.counts.first().map_or_else(Vec::new, |count| count.read().state.tags.clone())
    }

    /// Reads what is asked for in parameters.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn query(&self, pairs: &[(String, String)]) -> Result<Query, QueryFaults> {
        let today = |zone: Tz| Utc::now().with_timezone(&zone).date_naive();
        Query::read(pairs, &self.rules, &self.tags(), today)
    }

    /// Makes a report. Blocks for as long as reading takes.
    ///
    /// # Errors
    /// [`ReportFault`]
    pub fn report(&self, query: &Query) -> Result<Report, ReportFault> {
        let report = self.report_or_empty(query)?;
        known(query, &self.count(query.zone).read(), &self.companies())?;
        Ok(report)
    }

    /// The same, with nothing in it where nothing was ever counted of what it is confined to.
    ///
    /// # Errors
    /// [`ReportFault`]
    pub fn report_or_empty(&self, query: &Query) -> Result<Report, ReportFault> {
        let refused = |reason: &'static str| counter!(REPORTS_REFUSED, "reason" => reason).increment(1);
        let Ok(_place) = self.places.try_acquire() else {
            refused("busy");
            return Err(ReportFault::Busy);
        };
        let begun = Instant::now();
        let made = self.made(query);
        histogram!(REPORT_SECONDS).record(begun.elapsed().as_secs_f64());
        made.map_err(|fault| match fault {
            SumFault::Unreadable(error) => ReportFault::Unreadable(error),
            SumFault::Large => {
                refused("large");
                let most = self.rules.groups;
                let wanted = format!(
                    "must make {most} groups at most (`reports.groups`); fewer days, a filter by `where`, or another dimension would"
                );
                ReportFault::Query(vec![("by".to_owned(), wanted)])
            }
        })
    }

    /// The totals of a report, for what the console itself looks at once a minute: they take no place of those who ask. Nothing while
    /// what was counted before a crash is counted again.
    pub fn totals(&self, query: &Query) -> Option<figures::Figures> {
        let is_told = !self.is_counting() || self.caught_up.load(Ordering::Acquire);
        self.made(query).ok().filter(|_| is_told).map(|report| report.total)
    }

    fn made(&self, query: &Query) -> Result<Report, SumFault> {
        let named = self.companies();
        for attempt in 1.. {
            if !self.is_counting() {
                self.take_in(self.count(query.zone)).map_err(SumFault::Unreadable)?;
            }
            let count = self.count(query.zone).read();
            let companies = report::companies(query, report::all_companies(&count, named.clone()));
            let before = self.writes(&count).map_err(SumFault::Unreadable)?;
            let sums = Sums {
                store: &self.records.store,
                count: &count,
                query,
                companies: &companies,
                labels: Default::default(),
                most: self.rules.groups,
                // What is being written may be in the store already.
                with_pending: before == count.state.writes,
            };
            let made = report::report(sums);
            // What was written meanwhile may count twice, or not at all.
            if attempt >= TRIES || self.writes(&count).map_err(SumFault::Unreadable)? == before {
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

    /// Takes in what another process has counted since, where this one does not count.
    fn take_in(&self, counted: &RwLock<Count>) -> Result<(), CommitError> {
        let store = &self.records.store;
        let is_current = {
            let count = counted.read();
            count.is_in_force(store)? && self.writes(&count)? == count.state.writes
        };
        if is_current { Ok(()) } else { self.load_again(counted) }
    }

    /// The count in force of the same zone, as the store has it.
    fn load_again(&self, counted: &RwLock<Count>) -> Result<(), CommitError> {
        let zone = counted.read().space.zone;
        let count = Count::load(&self.records.store, zone, Arc::clone(&self.rules))?;
        *counted.write() = count;
        Ok(())
    }

    /// How often was written.
    fn writes(&self, count: &Count) -> Result<u32, CommitError> {
        let state = self.records.store.read::<count::State>(Tree::Reports, count.space.state());
        Ok(state.map_err(blocks::unreadable)?.map_or(0, |state| state.writes))
    }

    /// A way for benches to count what no feed tells, in the first time zone.
    #[doc(hidden)]
    pub fn counted(&self, add: impl FnOnce(&mut Count)) {
        if let Some(count) = self.counts.first() {
            add(&mut count.write());
        }
    }

    fn count(&self, zone: Tz) -> &RwLock<Count> {
        let place = self.rules.zones.iter().position(|known| *known == zone).unwrap_or(0);
        &self.counts[place]
    }
}

/// That something was counted under each value that a report is confined to; nothing is known where nothing was counted.
fn known(query: &Query, count: &Count, named: &[(Uuid, String)]) -> Result<(), ReportFault> {
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
            // Behind those that a client or a file gave.
            let (reserved, all): (Vec<&str>, Vec<&str>) =
                all.into_iter().partition(|value| value.starts_with('('));
            let more = all.len().saturating_sub(KNOWN_TOLD);
            let told = all.into_iter().chain(reserved).take(KNOWN_TOLD).collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let wanted = format!("has no such value of {dimension}: `{value}`; known: {told}{more}");
            return Err(ReportFault::Query(vec![("where".to_owned(), wanted)]));
        }
    }
    Ok(())
}
