//! Rebuilds a count from the records: aside, and put in force once it has caught up.

use std::sync::Arc;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use super::Reports;
use super::blocks::unreadable;
use super::count::ReportCount;
use super::fold::{self, FeedFold};
use super::key::{self, CountSpace};
use offerd_engine::records::projection::Steps;
use offerd_store::{Commit, CommitError, Store, Tree, codec};

const STEP: usize = 512;

/// The progress of a rebuild.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildProgress {
    /// The time zone being counted.
    pub zone: String,
    /// The arrival of the next record, Unix milliseconds.
    pub at: i64,
    /// The arrival of the first, Unix milliseconds.
    pub since: i64,
}

/// The result of a rebuild.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rebuilt {
    /// The time zones.
    pub zones: Vec<String>,
    /// The number of day cells.
    pub cells: u64,
}

/// A rebuild in progress, advanced step by step.
pub struct Rebuild {
    reports: Reports,
    place: usize,
    count: Arc<RwLock<ReportCount>>,
    since: i64,
    cells: u64,
    steps: Steps,
}

impl Rebuild {
    /// Starts with the first time zone. With `rests`, it uses at most half a core.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn begin(reports: Reports, rests: bool) -> Result<Self, CommitError> {
        let count = Arc::new(RwLock::new(aside(&reports, 0).await?));
        let since = millis(fold::behind(&reports.records.store, &count.read()));
        Ok(Self { reports, place: 0, count, since, cells: 0, steps: Steps::new(rests) })
    }

    /// Counts some records; `None` once every time zone is counted and in force.
    ///
    /// # Errors
    /// The failure of the store. The count in force stays.
    pub async fn step(&mut self) -> Result<Option<RebuildProgress>, CommitError> {
        let (records, count) = (self.reports.records.clone(), Arc::clone(&self.count));
        let more =
            self.steps.take(move || FeedFold::new(&records, &mut count.write(), STEP).round()).await??;
        self.write_when_due(more).await?;
        if more {
            return Ok(Some(self.progress()));
        }
        self.put_in_force().await?;
        self.place += 1;
        if self.place == self.reports.counts.len() {
            return Ok(None);
        }
        self.count = Arc::new(RwLock::new(aside(&self.reports, self.place).await?));
        Ok(Some(self.progress()))
    }

    /// The result, once every zone is done.
    pub fn rebuilt(&self) -> Rebuilt {
        let zones = self.reports.rules.zones.iter().map(|zone| zone.name().to_owned()).collect();
        Rebuilt { zones, cells: self.cells }
    }

    async fn write_when_due(&mut self, more: bool) -> Result<(), CommitError> {
        let (cells, is_due) = {
            let count = self.count.read();
            (count.pending.count as u64, count.is_due(false))
        };
        if is_due || !more {
            self.reports.write_count(&self.count).await?;
            self.cells += cells;
        }
        Ok(())
    }

    fn progress(&self) -> RebuildProgress {
        let count = self.count.read();
        let at = millis(fold::behind(&self.reports.records.store, &count));
        RebuildProgress { zone: count.space.zone.name().to_owned(), at, since: self.since }
    }

    async fn put_in_force(&mut self) -> Result<(), CommitError> {
        let store = &self.reports.records.store;
        let space = self.count.read().space;
        let (key, generation) = (key::in_force(space.zone), codec::encode(&space.generation));
        store.commit(Commit::new().put(Tree::Reports, key, generation)).await?;
        let counted = ReportCount::of(store, space, Arc::clone(&self.reports.rules)).map_err(unreadable)?;
        let last = std::mem::replace(&mut *self.reports.counts[self.place].write(), counted);
        remove(store, last.space).await
    }
}

/// An empty count of the next generation; removes the remains of an aborted rebuild first.
async fn aside(reports: &Reports, place: usize) -> Result<ReportCount, CommitError> {
    let mut space = reports.counts[place].read().space;
    space.generation = space.generation.wrapping_add(1);
    remove(&reports.records.store, space).await?;
    ReportCount::of(&reports.records.store, space, Arc::clone(&reports.rules)).map_err(unreadable)
}

/// Removes a count, including damaged records.
pub async fn remove(store: &Store, space: CountSpace) -> Result<(), CommitError> {
    for prefix in space.prefixes() {
        let keys = store.keys(Tree::Reports, &prefix).map_err(unreadable)?;
        store.remove_all(Tree::Reports, &keys).await?;
    }
    Ok(())
}

fn millis(arrival_us: Option<u64>) -> i64 {
    let now = || chrono::Utc::now().timestamp_millis();
    arrival_us.map_or_else(now, |us| i64::try_from(us / 1000).unwrap_or(i64::MAX))
}
