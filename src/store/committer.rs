//! Commits groups through the writer of either engine: latches failures, retries a failed engine, and finishes interrupted erasures.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::commit::{Commit, Outcome};
use super::engine::{Fault, Writer, all_failed};
use super::error::StoreError;
use super::health::FailureLatch;
use super::stall::Stalls;
use offerd_base::telemetry::metrics::STORE_GROUP_COMMITS;

/// Commits groups, one after the other, on one thread.
pub(super) struct Committer<W: ?Sized> {
    pub(super) latch: Arc<FailureLatch>,
    pub(super) stalls: Arc<Stalls>,
    mend_interval: Duration,
    /// When a failed engine was tried last.
    pub(super) tried: Option<Instant>,
    pub(super) writer: W,
}

impl<W> Committer<W> {
    /// A committer in front of this writer.
    pub(super) fn new(
        writer: W,
        latch: Arc<FailureLatch>,
        stalls: Arc<Stalls>,
        mend_interval: Duration,
    ) -> Self {
        Self { latch, stalls, mend_interval, tried: None, writer }
    }
}

impl<W: Writer + ?Sized> Committer<W> {
    /// Writes the commits as one group. Once this returns, every commit with `Ok` survives whatever the engine survives, such as a kill
    /// and a power cut, and a commit found in the way by a guard does too.
    ///
    /// After a failure, or a panic below, nothing is written any more, unless the engine [works again](Self::mend).
    pub(super) fn execute(&mut self, commits: &[Commit]) -> Vec<Outcome> {
        self.mend();
        if let Some(failure) = self.latch.failure() {
            return all_failed(commits, &failure.reason);
        }
        metrics::histogram!(STORE_GROUP_COMMITS).record(commits.len() as f64);
        let written = catch_unwind(AssertUnwindSafe(|| self.writer.write(commits)));
        self.stalls.done();
        match written.unwrap_or_else(|_| Err(Fault::ForGood("the writer panicked".to_owned()))) {
            Ok(outcomes) => outcomes,
            // Whoever needs what cannot be read is refused, and nobody else.
            Err(Fault::Unread(_)) if commits.len() > 1 => {
                commits.chunks(1).flat_map(|commit| self.execute(commit)).collect()
            }
            Err(fault) => all_failed(commits, &self.failed(&fault)),
        }
    }

    /// Executes commits that must all be taken.
    pub(super) fn execute_all(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        let refused = self.execute(commits).into_iter().find_map(Result::err);
        refused.map_or(Ok(()), |error| Err(StoreError::Disk(error.to_string())))
    }

    /// Fails the store, unless something just could not be read. Gives the reason.
    fn failed(&mut self, fault: &Fault) -> String {
        self.tried = Some(Instant::now());
        match fault {
            Fault::Unread(_) => {}
            Fault::Mendable(reason) => self.latch.fail(reason),
            Fault::ForGood(reason) => self.latch.fail_for_good(reason),
        }
        fault.to_string()
    }

    /// How long to wait before the next [`mend`](Self::mend); none unless the failure can be mended.
    pub(super) fn try_again_in(&self) -> Option<Duration> {
        self.latch.can_mend().then_some(self.mend_interval)
    }

    /// Goes on after a failure, where the engine takes writes by now.
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

    /// Finishes an erasure that failed in its middle, before another one forgets the old wrapping keys of all slots.
    pub(super) fn finish_rewraps(&mut self) {
        let unfinished = Commit::finish_rewraps(self.writer.sealing().unfinished());
        if !unfinished.is_empty() {
            self.execute(&unfinished);
        }
    }

    /// Does a part of the upkeep between groups.
    pub(super) fn tidy(&mut self) {
        if self.latch.failure().is_some() {
            return;
        }
        let tidied = self.writer.tidy();
        self.stalls.done();
        if let Err(fault) = tidied {
            self.failed(&fault);
        }
    }

    /// Writes what is left, before the store is closed.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        self.writer.end();
        match self.latch.failure() {
            Some(failure) => Err(failure.reason.clone()),
            None => self.writer.settle(),
        }
    }
}
