//! The projection that keeps the counts current, and writes them in large batches.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use tracing::{debug, error, info, warn};

use super::Reports;
use super::blocks::{Result, unreadable};
use super::count::{CountCommit, ReportCount};
use super::fold::FeedFold;
use super::key::CountSpace;
use offerd_engine::records::projection::{LOOK_AGAIN, Projection, STEP, blocking};
use offerd_store::CommitError;

/// How often a follower reloads the leader's counts while no report is requested.
const TAKE_IN_EVERY: Duration = Duration::from_secs(30);

impl Projection for Reports {
    const TROUBLE: &'static str = "recounting what the saved report counts lack";

    async fn begin(&mut self) {
        self.until_it_counts().await;
    }

    async fn fold(&mut self) -> Result<bool> {
        self.round(STEP).await
    }
}

impl Reports {
    /// Waits until this process is the one that counts, then reloads its predecessor's counts.
    pub(super) async fn until_it_counts(&self) {
        if self.is_counting() {
            return;
        }
        let store = &self.records.store;
        while tokio::time::timeout(TAKE_IN_EVERY, store.until_leader()).await.is_err() {
            // Queries refer to tags and values, which must be known before a report is made.
            if let Err(failure) = self.of_each_zone(Self::take_in).await {
                warn!(%failure, "could not read the report counts; will retry");
            }
        }
        while let Err(failure) = self.of_each_zone(Self::load_again).await {
            error!(%failure, "could not read the report counts; will retry");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.counting.store(true, Ordering::Release);
    }

    async fn of_each_zone(&self, read: fn(&Self, &RwLock<ReportCount>) -> Result<()>) -> Result<()> {
        let reports = self.clone();
        blocking(move || reports.counts.iter().try_for_each(|count| read(&reports, count))).await?
    }

    /// Counts at most `most` records of each feed for each company and time zone, and writes what is due.
    /// Returns whether there may be more to count. A failed write is counted again.
    pub async fn round(&self, most: usize) -> Result<bool> {
        let _turn = self.turn.acquire().await;
        let mut more = false;
        for place in 0..self.counts.len() {
            let reports = self.clone();
            more |= blocking(move || reports.step(place, most)).await??;
            // Other processes report from the stored counts.
            if self.counts[place].read().is_due(!self.records.store.is_alone()) {
                self.write_count(&self.counts[place]).await?;
            }
        }
        if !more {
            self.caught_up.store(true, Ordering::Release);
        }
        Ok(more)
    }

    /// Writes all cells in memory, if this process counts. Fails if the store did not accept the write.
    pub async fn write(&self) -> Result<()> {
        if !self.is_counting() {
            return Ok(());
        }
        let _turn = self.turn.acquire().await;
        for counted in &*self.counts {
            self.write_count(counted).await?;
        }
        Ok(())
    }

    /// Counts and writes all recorded events before an erasure, for at most `within`: after it and a crash
    /// they could not be counted again. Another process that counts writes by itself. Complete the future.
    pub async fn settle(&self, within: Duration) -> Result<()> {
        let begun = Instant::now();
        while self.is_counting() && self.round(STEP).await? && begun.elapsed() < within {}
        self.write().await
    }

    fn step(&self, place: usize, most: usize) -> Result<bool> {
        let mut count = self.counts[place].write();
        // A rebuild may have replaced the count while no process was counting.
        if self.records.store.is_shared() && !count.is_in_force(&self.records.store)? {
            *count = ReportCount::load(&self.records.store, count.space.zone, Arc::clone(&self.rules))?;
        }
        let stepped = FeedFold::new(&self.records, &mut count, most).round();
        if stepped.is_err() {
            self.reload(&mut count)?;
        }
        stepped
    }

    /// Reloads a count from the store; discarded cells are counted again.
    fn reload(&self, count: &mut ReportCount) -> Result<()> {
        self.caught_up.store(false, Ordering::Release);
        *count =
            ReportCount::of(&self.records.store, count.space, Arc::clone(&self.rules)).map_err(unreadable)?;
        Ok(())
    }

    /// Writes the cells of a count, then merges the days and months that have many parts.
    pub(super) async fn write_count(&self, counted: &RwLock<ReportCount>) -> Result<()> {
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

    /// Commits a draft of a count and notes the outcome, unless the count was replaced meanwhile.
    async fn commit(
        &self,
        counted: &RwLock<ReportCount>,
        space: CountSpace,
        (commit, state): CountCommit,
    ) -> Result<()> {
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
