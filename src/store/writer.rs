//! The writer: the only one who writes. A group goes in, an outcome for each of its commits comes out, and by then the
//! group is durable, and applied, or the store is failed.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    arrival::Arrivals,
    checkpoint::Checkpoints,
    commit::{Commit, CommitError},
    group::{Group, Outcome},
    health::FailureLatch,
    journal::Journal,
    open::LAST_ARRIVAL,
    records::{Batch, Records},
    trees::Tree,
};
use crate::telemetry::metrics::STORE_GROUP_COMMITS;

/// How often a failed disk is tried again.
pub(super) const MEND_INTERVAL: Duration = Duration::from_secs(1);

/// Writes groups, one after the other.
pub(super) struct Writer {
    records: Arc<Records>,
    journal: Journal,
    checkpoints: Checkpoints,
    arrivals: Arrivals,
    latch: Arc<FailureLatch>,
    /// When a failed disk was tried last.
    tried: Option<Instant>,
}

impl Writer {
    /// A writer that goes on where the last one stopped.
    pub(super) fn new(
        records: Arc<Records>,
        journal: Journal,
        arrivals: Arrivals,
        latch: Arc<FailureLatch>,
    ) -> Self {
        let checkpoints = Checkpoints::inline(Arc::clone(&records), Arc::clone(&latch));
        Self { records, journal, checkpoints, arrivals, latch, tried: None }
    }

    /// Has checkpoints be made on a thread of their own.
    pub(super) fn with_checkpoints_aside(mut self) -> io::Result<Self> {
        self.checkpoints = self.checkpoints.threaded()?;
        Ok(self)
    }

    /// Writes the commits as one group. Once this returns, every commit with `Ok` survives a kill and a power cut, and a
    /// commit found in the way by a guard does too.
    ///
    /// After a failure, or a panic below, nothing is written any more, unless the disk [works again](Self::mend).
    pub(super) fn execute(&mut self, commits: &[Commit]) -> Vec<Outcome> {
        self.mend();
        if let Some(failure) = self.latch.failure() {
            return all_failed(commits, &failure.reason);
        }
        metrics::histogram!(STORE_GROUP_COMMITS).record(commits.len() as f64);
        let written = catch_unwind(AssertUnwindSafe(|| self.write(commits)));
        let failure = match written {
            Ok(Ok(outcomes)) => return outcomes,
            Ok(Err(Fault::Journal(reason))) => {
                self.latch.fail(&reason);
                reason
            }
            Ok(Err(Fault::Records(reason))) => {
                self.latch.fail_for_good(&reason);
                reason
            }
            Err(_) => {
                let reason = "the writer panicked";
                self.latch.fail_for_good(reason);
                reason.to_owned()
            }
        };
        self.tried = Some(Instant::now());
        all_failed(commits, &failure)
    }

    /// Whether a failed disk is to be tried again now and then.
    pub(super) fn can_mend(&self) -> bool {
        self.latch.failure().is_some_and(|failure| !failure.for_good)
    }

    /// Goes on in a new file of the journal when the disk takes one. sled is made durable first, so that the old ones are
    /// not needed, and the group that failed cannot come back. If that fails they are kept: a restart reads them.
    pub(super) fn mend(&mut self) {
        if !self.can_mend() || self.tried.is_some_and(|tried| tried.elapsed() < MEND_INTERVAL) {
            return;
        }
        self.tried = Some(Instant::now());
        if self.journal.probe().is_err() {
            return;
        }
        if let Err(error) = self.records.make_durable() {
            return self.latch.fail_for_good(&error.to_string());
        }
        match self.journal.renew() {
            Ok(()) => self.latch.mended(),
            Err(error) => tracing::warn!(%error, "the store's disk does not work yet"),
        }
    }

    /// As if a failed disk had never been tried.
    #[cfg(test)]
    pub(super) fn forget_try(&mut self) {
        self.tried = None;
    }

    /// Makes sled durable, so that a start has nothing to replay, before the store is closed.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        self.checkpoints.end();
        if let Some(failure) = self.latch.failure() {
            return Err(failure.reason.clone());
        }
        self.records
            .make_durable()
            .and_then(|()| Ok(self.journal.clear()?))
            .map_err(|error| error.to_string())
    }

    fn write(&mut self, commits: &[Commit]) -> Result<Vec<Outcome>, Fault> {
        let last_arrival_us = self.arrivals.last_us();
        let mut group = Group::over(&self.records);
        let mut outcomes = Vec::with_capacity(commits.len());
        for commit in commits {
            outcomes.push(group.admit(commit, &mut self.arrivals)?);
        }
        if self.arrivals.last_us() > last_arrival_us {
            let last_arrival = self.arrivals.last_us().to_be_bytes();
            group.put(Tree::Meta, LAST_ARRIVAL, &last_arrival)?;
        }
        let rewrapped = group.has_rewrapped();
        if let Some(batch) = group.into_batch() {
            self.record(batch)?;
        }
        if rewrapped {
            self.records.sealing().forget().map_err(|error| Fault::Records(error.to_string()))?;
        }
        Ok(outcomes)
    }

    /// First the journal, then sled: what can be read is durable.
    fn record(&mut self, batch: Batch) -> Result<(), Fault> {
        let journaled = |error: io::Error| Fault::Journal(error.to_string());
        if let Some(full) = self.journal.roll().map_err(journaled)? {
            self.checkpoints.take(full).map_err(Fault::Records)?;
        }
        self.journal.append(&batch.0).map_err(journaled)?;
        Ok(self.records.apply(batch)?)
    }
}

/// What failed.
enum Fault {
    /// The journal: the group may be there after a restart, or not.
    Journal(String),
    /// What is behind it.
    Records(String),
}

impl From<sled::Error> for Fault {
    fn from(error: sled::Error) -> Self {
        Self::Records(error.to_string())
    }
}

fn all_failed(commits: &[Commit], reason: &str) -> Vec<Outcome> {
    commits.iter().map(|_| Err(CommitError::Failed(reason.to_owned()))).collect()
}
