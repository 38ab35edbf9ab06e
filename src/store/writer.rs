//! The writer: the only one who writes. A group goes in, an outcome for each of its commits comes out, and by then the
//! group is durable or the store is failed.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    arrival::Arrivals,
    commit::{Commit, CommitError},
    disk::Disk,
    group::{Group, Outcome},
    health::FailureLatch,
    open::LAST_ARRIVAL,
    records::Records,
    trees::Tree,
};
use crate::planted::{Planted, planted};
use crate::telemetry::metrics::STORE_GROUP_COMMITS;

/// Writes groups, one after the other.
pub(super) struct Writer {
    records: Arc<Records>,
    disk: Disk,
    arrivals: Arrivals,
    latch: Arc<FailureLatch>,
}

impl Writer {
    /// A writer that goes on where the last one stopped.
    pub(super) fn new(
        records: Arc<Records>,
        disk: Disk,
        arrivals: Arrivals,
        latch: Arc<FailureLatch>,
    ) -> Self {
        Self { records, disk, arrivals, latch }
    }

    /// Writes the commits as one group. Once this returns, every commit with `Ok` survives a kill and a power cut, and a
    /// commit found in the way by a guard does too.
    ///
    /// After a failure, or a panic below, nothing is written any more.
    pub(super) fn execute(&mut self, commits: &[Commit]) -> Vec<Outcome> {
        if let Some(reason) = self.latch.failure() {
            return all_failed(commits, reason);
        }
        metrics::histogram!(STORE_GROUP_COMMITS).record(commits.len() as f64);
        let written = catch_unwind(AssertUnwindSafe(|| self.write(commits)));
        match written.unwrap_or_else(|_| Err("the writer panicked".to_owned())) {
            Ok(outcomes) => outcomes,
            Err(reason) => {
                self.latch.fail(&reason);
                all_failed(commits, &reason)
            }
        }
    }

    /// Flushes and syncs once more, before the store is closed.
    pub(super) fn finish(&self) -> Result<(), String> {
        match self.latch.failure() {
            Some(reason) => Err(reason.to_owned()),
            None => self.make_durable(),
        }
    }

    fn write(&mut self, commits: &[Commit]) -> Result<Vec<Outcome>, String> {
        let last_arrival_us = self.arrivals.last_us();
        let mut group = Group::over(&self.records);
        let mut outcomes = Vec::with_capacity(commits.len());
        for commit in commits {
            outcomes.push(group.admit(commit, &mut self.arrivals).map_err(|error| error.to_string())?);
        }
        if self.arrivals.last_us() > last_arrival_us {
            let last_arrival = self.arrivals.last_us().to_be_bytes();
            group.put(Tree::Meta, LAST_ARRIVAL, &last_arrival).map_err(|error| error.to_string())?;
        }
        let rewrapped = group.has_rewrapped();
        if let Some(batch) = group.into_batch() {
            self.records.apply(batch).map_err(|error| error.to_string())?;
            self.make_durable()?;
        }
        if rewrapped {
            self.records.sealing().forget().map_err(|error| error.to_string())?;
        }
        Ok(outcomes)
    }

    fn make_durable(&self) -> Result<(), String> {
        self.records.flush().map_err(|error| error.to_string())?;
        if planted(Planted::AckWithoutSync) {
            return Ok(());
        }
        self.disk.sync().map_err(|error| error.to_string())
    }
}

fn all_failed(commits: &[Commit], reason: &str) -> Vec<Outcome> {
    commits.iter().map(|_| Err(CommitError::Failed(reason.to_owned()))).collect()
}
