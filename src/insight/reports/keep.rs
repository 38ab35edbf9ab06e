//! The count goes on beside the leads, and is written seldom.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use tracing::{debug, error, info, warn};

use super::Reports;
use super::blocks::unreadable;
use super::count::{Count, Draft};
use super::fold::Fold;
use super::key::Space;
use offerd_engine::records::projection::{LOOK_AGAIN, Projection, STEP, blocking};
use offerd_store::CommitError;

/// Between two looks at what the process that leads has counted, where no report is made.
const TAKE_IN_EVERY: Duration = Duration::from_secs(30);

impl Projection for Reports {
    const TROUBLE: &'static str = "what was counted for reports since it was written is counted again";

    async fn begin(&mut self) {
        self.until_it_counts().await;
    }

    async fn fold(&mut self) -> Result<bool, CommitError> {
        self.round(STEP).await
    }
}

impl Reports {
    /// Waits until this process counts, and begins where the one before has stopped: what that has written is all that it will ever have.
    pub(super) async fn until_it_counts(&self) {
        if self.is_counting() {
            return;
        }
        let store = &self.records.store;
        while tokio::time::timeout(TAKE_IN_EVERY, store.until_it_leads()).await.is_err() {
            // The tags and columns of the next report are asked for before it is made.
            if let Err(failure) = self.of_each_zone(Self::take_in).await {
                warn!(%failure, "what is counted for reports could not be read; it is tried again");
            }
        }
        while let Err(failure) = self.of_each_zone(Self::load_again).await {
            error!(%failure, "what was counted for reports could not be read; it is tried again");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.counting.store(true, Ordering::Release);
    }

    async fn of_each_zone(
        &self,
        read: fn(&Self, &RwLock<Count>) -> Result<(), CommitError>,
    ) -> Result<(), CommitError> {
        let reports = self.clone();
        blocking(move || reports.counts.iter().try_for_each(|count| read(&reports, count))).await?
    }

    /// Takes a step for each company and time zone, of so many records of a feed at most, and writes what is due. Whether there may be
    /// more to count.
    ///
    /// # Errors
    /// Why the store failed. What was counted since the last write is counted again then.
    pub async fn round(&self, most: usize) -> Result<bool, CommitError> {
        let _turn = self.turn.acquire().await;
        let mut more = false;
        for place in 0..self.counts.len() {
            let reports = self.clone();
            more |= blocking(move || reports.step(place, most)).await??;
            // Other processes make reports of what this one has written.
            if self.counts[place].read().is_due(!self.records.store.is_alone()) {
                self.write_count(&self.counts[place]).await?;
            }
        }
        if !more {
            self.caught_up.store(true, Ordering::Release);
        }
        Ok(more)
    }

    /// Writes all that is counted, where this process counts.
    ///
    /// # Errors
    /// Why the store did not take it.
    pub async fn write(&self) -> Result<(), CommitError> {
        if !self.is_counting() {
            return Ok(());
        }
        let _turn = self.turn.acquire().await;
        for counted in &*self.counts {
            self.write_count(counted).await?;
        }
        Ok(())
    }

    /// Counts and writes what is recorded by now, since what is about to be erased cannot be counted again after a crash. Where there is
    /// more to count than can be in that time, the rest is left to its [projection](Projection). Does nothing where another process counts, which writes every few
    /// seconds. It must not be dropped before it ends.
    ///
    /// # Errors
    /// Why the store did not take it.
    pub async fn settle(&self, within: Duration) -> Result<(), CommitError> {
        let begun = Instant::now();
        while self.is_counting() && self.round(STEP).await? && begun.elapsed() < within {}
        self.write().await
    }

    fn step(&self, place: usize, most: usize) -> Result<bool, CommitError> {
        let mut count = self.counts[place].write();
        // A command may have put another in its place while nobody counted.
        if self.records.store.is_shared() && !count.is_in_force(&self.records.store)? {
            *count = Count::load(&self.records.store, count.space.zone, Arc::clone(&self.rules))?;
        }
        let stepped = Fold::new(&self.records, &mut count, most).round();
        if stepped.is_err() {
            self.reload(&mut count)?;
        }
        stepped
    }

    /// A count as the store has it: what was counted in part is counted again.
    fn reload(&self, count: &mut Count) -> Result<(), CommitError> {
        self.caught_up.store(false, Ordering::Release);
        *count = Count::of(&self.records.store, count.space, Arc::clone(&self.rules)).map_err(unreadable)?;
        Ok(())
    }

    /// Writes what a count has, then merges the days and months that have many parts.
    ///
    /// # Errors
    /// Why the store did not take it.
    pub(super) async fn write_count(&self, counted: &RwLock<Count>) -> Result<(), CommitError> {
        let begun = Instant::now();
        let (space, draft) = {
            let mut count = counted.write();
            (count.space, count.draft())
        };
        let Some((draft, places)) = draft else { return Ok(()) };
        self.commit(counted, space, draft).await?;
        let (zone, parts) = (space.zone.name(), places.len());
        if self.records.store.is_alone() {
            info!(zone, parts, "the count for reports is written");
        } else {
            debug!(zone, parts, "the count for reports is written");
        }
        for place in places {
            let merge = counted.read().merge(&self.records.store, place)?;
            if let Some(draft) = merge {
                self.commit(counted, space, draft).await?;
            }
        }
        counted.write().wrote_for = begun.elapsed();
        Ok(())
    }

    /// Commits a draft of a count, and notes what became of it. A count that was put in the place of another meanwhile has no part in it.
    async fn commit(
        &self,
        counted: &RwLock<Count>,
        space: Space,
        (commit, state): Draft,
    ) -> Result<(), CommitError> {
        let outcome = self.records.store.commit(commit).await;
        let mut count = counted.write();
        match &outcome {
            _ if count.space != space => {}
            Ok(()) => count.note_written(state),
            Err(CommitError::Closed) => {}
            Err(_) => self.reload(&mut count)?,
        }
        outcome
    }
}
