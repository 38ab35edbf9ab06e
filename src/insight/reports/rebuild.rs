//! Counting anew from the records that there are: aside, and put in the place of the last count when it has come as far.

use std::sync::Arc;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use super::Reports;
use super::blocks::unreadable;
use super::count::Count;
use super::fold::{self, Fold};
use super::key::{self, Space};
use offerd_engine::records::projection::Steps;
use offerd_store::{Commit, CommitError, Store, Tree, codec};

/// Records that a step of it counts of each feed.
const STEP: usize = 512;

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildProgress {
    /// The time zone that is counted.
    pub zone: String,
    /// The arrival of the next record, Unix milliseconds.
    pub at: i64,
    /// The arrival of the first, Unix milliseconds.
    pub since: i64,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rebuilt {
    /// The time zones.
    pub zones: Vec<String>,
    /// How many cells there are of days.
    pub cells: u64,
}

/// A count that is made anew, step by step.
pub struct Rebuild {
    reports: Reports,
    place: usize,
    count: Arc<RwLock<Count>>,
    since: i64,
    cells: u64,
    steps: Steps,
}

impl Rebuild {
    /// Begins with the first time zone. Beside leads it `rests` between two steps for as long as the last one took, so that it has
    /// half a core at most.
    ///
    /// # Errors
    /// That the store cannot be read.
    pub async fn begin(reports: Reports, rests: bool) -> Result<Self, CommitError> {
        let count = Arc::new(RwLock::new(aside(&reports, 0).await?));
        let since = millis(fold::behind(&reports.records.store, &count.read()));
        Ok(Self { reports, place: 0, count, since, cells: 0, steps: Steps::new(rests) })
    }

    /// Counts some more; `None` when every time zone is counted and in force.
    ///
    /// # Errors
    /// Why the store failed. What was in force stays.
    pub async fn step(&mut self) -> Result<Option<RebuildProgress>, CommitError> {
        let (records, count) = (self.reports.records.clone(), Arc::clone(&self.count));
        let more = self.steps.take(move || Fold::new(&records, &mut count.write(), STEP).round()).await??;
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

    /// What was counted, once all of it is.
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

    /// Puts the count in the place of the last one, of which nothing stays.
    async fn put_in_force(&mut self) -> Result<(), CommitError> {
        let store = &self.reports.records.store;
        let space = self.count.read().space;
        let in_force =
            Commit::new().put(Tree::Reports, key::in_force(space.zone), codec::encode(&space.generation));
        store.commit(in_force).await?;
        let counted = Count::of(store, space, Arc::clone(&self.reports.rules)).map_err(unreadable)?;
        let last = std::mem::replace(&mut *self.reports.counts[self.place].write(), counted);
        remove(store, last.space).await
    }
}

/// An empty count beside the one in force; what one that was broken off has left is removed first.
async fn aside(reports: &Reports, place: usize) -> Result<Count, CommitError> {
    let mut space = reports.counts[place].read().space;
    space.generation = space.generation.wrapping_add(1);
    remove(&reports.records.store, space).await?;
    Count::of(&reports.records.store, space, Arc::clone(&reports.rules)).map_err(unreadable)
}

/// Removes a count, its broken records too.
pub async fn remove(store: &Store, space: Space) -> Result<(), CommitError> {
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
