//! Commits groups through a writer: latches failures, retries a failed engine, finishes erasures.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::{GroupWriter, WriteFault, all_failed};
use super::stall::Stalls;
use crate::{Commit, CommitResult, FailureLatch, StoreError};
use offerd_base::telemetry::metrics::STORE_GROUP_COMMITS;

pub(super) struct Committer<W: ?Sized> {
    pub(super) latch: Arc<FailureLatch>,
    pub(super) stalls: Arc<Stalls>,
    pub(super) mend_interval: Duration,
    /// Time of the last attempt to renew a failed engine.
    pub(super) tried: Option<Instant>,
    pub(super) writer: W,
}

impl<W: GroupWriter + ?Sized> Committer<W> {
    /// Writes the commits as one group. Once this returns, every commit with `Ok` is as durable as the engine
    /// makes it, and so is any record that failed a guard. After a failure or a panic of the writer nothing
    /// is written, until the engine [works again](Self::mend).
    pub(super) fn execute(&mut self, commits: &[Commit]) -> Vec<CommitResult> {
        self.mend();
        if let Some(failure) = self.latch.failure() {
            return all_failed(commits, &failure.reason);
        }
        metrics::histogram!(STORE_GROUP_COMMITS).record(commits.len() as f64);
        let written = catch_unwind(AssertUnwindSafe(|| self.writer.write(commits)));
        self.stalls.done();
        match written.unwrap_or_else(|_| Err(WriteFault::ForGood("the writer panicked".to_owned()))) {
            Ok(outcomes) => outcomes,
            // Refuses only the commits that depend on the unreadable record.
            Err(WriteFault::Unreadable(_)) if commits.len() > 1 => {
                commits.chunks(1).flat_map(|commit| self.execute(commit)).collect()
            }
            Err(fault) => all_failed(commits, &self.failed(&fault)),
        }
    }

    pub(super) fn execute_all(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        let refused = self.execute(commits).into_iter().find_map(Result::err);
        refused.map_or(Ok(()), |error| Err(StoreError::Disk(error.to_string())))
    }

    /// Fails the store, unless the fault is just an unreadable record. Returns the reason.
    fn failed(&mut self, fault: &WriteFault) -> String {
        self.tried = Some(Instant::now());
        match fault {
            WriteFault::Unreadable(_) => {}
            WriteFault::Mendable(reason) => self.latch.fail(reason),
            WriteFault::ForGood(reason) => self.latch.fail_for_good(reason),
        }
        fault.to_string()
    }

    pub(super) fn mend(&mut self) {
        let just_tried = self.tried.is_some_and(|tried| tried.elapsed() < self.mend_interval);
        if !self.latch.can_mend() || just_tried {
            return;
        }
        self.tried = Some(Instant::now());
        let works = self.writer.renew();
        self.stalls.done();
        match works {
            Ok(true) if self.latch.mended() => self.finish_rewraps(),
            Ok(_) => {}
            Err(fault) => drop(self.failed(&fault)),
        }
    }

    /// Finishes an erasure that failed midway: the next one discards the old wrapping keys of all slots.
    pub(super) fn finish_rewraps(&mut self) {
        let unfinished = Commit::finish_rewraps(self.writer.sealing().unfinished());
        if !unfinished.is_empty() {
            self.execute(&unfinished);
        }
    }

    pub(super) fn compact_some(&mut self) {
        if self.latch.failure().is_some() {
            return;
        }
        let compacted = self.writer.compact_some();
        self.stalls.done();
        if let Err(fault) = compacted {
            self.failed(&fault);
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), String> {
        self.writer.end();
        match self.latch.failure() {
            Some(failure) => Err(failure.reason.clone()),
            None => self.writer.flush_for_close(),
        }
    }
}
