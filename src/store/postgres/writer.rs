//! The writer: a group of commits is one transaction, tried again where others were at the same records.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::Failure;
use super::database::Database;
use super::transaction::Transaction;
use crate::store::arrival::{Arrivals, LAST_ARRIVAL};
use crate::store::commit::{Commit, Outcome};
use crate::store::engine::{self, Engine, all_failed, change_access, count};
use crate::store::group::{Group, wanted};
use crate::store::health::FailureLatch;
use crate::store::stall::{Stalls, Step};
use crate::store::trees::Tree;
use crate::store::volume_number::BASE;
use crate::telemetry::metrics::STORE_GROUP_COMMITS;

/// How often a group is tried that others got in the way of. Each time somebody else has gone on.
const TRIES: usize = 64;

/// Where a failed database is tried with a write: one that is read-only answers everything else.
const PROBE: &[u8] = b"probe";

/// Writes groups, one after the other.
pub(in crate::store) struct Writer {
    database: Arc<Database>,
    arrivals: Arrivals,
    latch: Arc<FailureLatch>,
    stalls: Arc<Stalls>,
    mend_interval: Duration,
    /// When a failed database was tried last.
    tried: Option<Instant>,
    waited: Duration,
}

impl Writer {
    /// A writer that goes on where the last one stopped.
    pub(super) fn new(
        database: Arc<Database>,
        arrivals: Arrivals,
        latch: Arc<FailureLatch>,
        stalls: Arc<Stalls>,
        mend_interval: Duration,
    ) -> Self {
        Self { database, arrivals, latch, stalls, mend_interval, tried: None, waited: Duration::ZERO }
    }

    /// Writes a group; again while others get in its way.
    fn write(&mut self, commits: &[Commit]) -> Result<Vec<Outcome>, Failure> {
        let mut written = Err(Failure::Conflict);
        for _ in 0..TRIES {
            written = self.try_to_write(commits);
            if !matches!(written, Err(Failure::Conflict)) {
                break;
            }
        }
        written
    }

    fn try_to_write(&mut self, commits: &[Commit]) -> Result<Vec<Outcome>, Failure> {
        let keys: BTreeSet<Vec<u8>> =
            commits.iter().flat_map(|commit| wanted(&*self.database, commit)).collect();
        let transaction = Transaction::begin(&self.database, keys)?;
        let last_arrival_us = self.arrivals.last_us();
        let mut group = Group::over(&transaction);
        let mut outcomes = Vec::with_capacity(commits.len());
        for commit in commits {
            let read = group.admit(commit, &mut self.arrivals);
            outcomes.push(read.map_err(|error| {
                transaction.failure().unwrap_or_else(|| Failure::Said(None, error.to_string()))
            })?);
        }
        if self.arrivals.last_us() > last_arrival_us {
            group.put_new(Tree::Meta, LAST_ARRIVAL, &self.arrivals.last_us().to_be_bytes());
        }
        let rewrapped = group.has_rewrapped();
        let changes = group.into_changes(|_, _| Ok(BASE));
        let changes = changes.map_err(|error| Failure::Said(None, error.to_string()))?;
        let changes_access = change_access(&changes);
        count(&changes);
        transaction.commit(changes)?;
        if changes_access {
            self.database.note_access();
        }
        if rewrapped {
            self.database.sealing().forget().map_err(|error| Failure::Said(None, error.to_string()))?;
        }
        Ok(outcomes)
    }

    fn can_mend(&self) -> bool {
        self.latch.failure().is_some_and(|failure| !failure.for_good)
    }

    /// Whether the database takes writes.
    fn takes_writes(&mut self) -> bool {
        let now = self.arrivals.now_ms().to_be_bytes();
        matches!(self.write(&[Commit::new().put(Tree::Meta, PROBE, now)]).as_deref(), Ok([Ok(())]))
    }
}

impl engine::Writer for Writer {
    fn execute(&mut self, commits: &[Commit]) -> Vec<Outcome> {
        self.mend();
        if let Some(failure) = self.latch.failure() {
            return all_failed(commits, &failure.reason);
        }
        metrics::histogram!(STORE_GROUP_COMMITS).record(commits.len() as f64);
        let begun = Instant::now();
        self.stalls.step(Step::Database);
        let written = catch_unwind(AssertUnwindSafe(|| self.write(commits)));
        self.stalls.done();
        self.waited = begun.elapsed();
        match written {
            Ok(Ok(outcomes)) => outcomes,
            // Others are quicker each time; who asked may try again.
            Ok(Err(Failure::Conflict)) => all_failed(commits, &Failure::Conflict.to_string()),
            Ok(Err(failure @ Failure::Lost)) => {
                self.latch.fail_for_good(&failure.to_string());
                all_failed(commits, &failure.to_string())
            }
            Ok(Err(failure)) => {
                self.tried = Some(Instant::now());
                self.latch.fail(&failure.to_string());
                all_failed(commits, &failure.to_string())
            }
            Err(_) => {
                self.latch.fail_for_good("the writer panicked");
                all_failed(commits, "the writer panicked")
            }
        }
    }

    fn latch(&self) -> &Arc<FailureLatch> {
        &self.latch
    }

    fn waited(&self) -> Duration {
        self.waited
    }

    fn try_again_in(&self) -> Option<Duration> {
        self.can_mend().then_some(self.mend_interval)
    }

    fn mend(&mut self) {
        let just_tried = self.tried.is_some_and(|tried| tried.elapsed() < self.mend_interval);
        if !self.can_mend() || just_tried {
            return;
        }
        self.tried = Some(Instant::now());
        self.stalls.step(Step::Database);
        if self.takes_writes() {
            self.latch.mended();
        }
        self.stalls.done();
    }

    fn finish(&mut self) -> Result<(), String> {
        let ended = self.database.lease.end(&self.database.client);
        ended.unwrap_or_else(
            |failure| tracing::warn!(%failure, "the lease of the database could not be given up"),
        );
        self.latch.failure().map_or(Ok(()), |failure| Err(failure.reason.clone()))
    }

    #[cfg(test)]
    fn forget_try(&mut self) {
        self.tried = None;
    }
}
