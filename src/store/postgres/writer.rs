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
use crate::store::engine::{self, Engine, all_failed, count};
use crate::store::group::{admitted, begin_keys, begin_slots, wanted};
use crate::store::health::FailureLatch;
use crate::store::sealing::SealingError;
use crate::store::stall::{Stalls, Step};
use crate::store::topics::topics_of;
use crate::store::trees::Tree;
use crate::store::volume_number::BASE;
use crate::telemetry::metrics::STORE_GROUP_COMMITS;

/// How often a group is tried that others got in the way of. Each time somebody else has gone on.
const TRIES: usize = 64;

/// Where a failed database is tried with a write, each process at a key of its own: one that is read-only answers everything else.
pub(in crate::store) const PROBE: &[u8] = b"probe";

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
            match written {
                Err(Failure::Conflict) => {}
                Err(Failure::OtherKeys) => {
                    self.database.sealing().refresh().map_err(sealing)?;
                }
                _ => break,
            }
        }
        written
    }

    fn try_to_write(&mut self, commits: &[Commit]) -> Result<Vec<Outcome>, Failure> {
        // They cannot be changed while the transaction holds them.
        begin_slots(self.database.sealing(), commits).map_err(sealing)?;
        for commit in commits {
            begin_keys(self.database.sealing(), commit).map_err(sealing)?;
        }
        let keys: BTreeSet<Vec<u8>> =
            commits.iter().flat_map(|commit| wanted(&*self.database, commit)).collect();
        let arrives = keys.contains(&Tree::Meta.sled_key(LAST_ARRIVAL));
        let transaction = Transaction::begin(&self.database, keys)?;
        if arrives {
            // Whoever gave the last one out: nobody gives out another until this group is written.
            let last_us = super::last_arrival_us(&transaction).map_err(|error| transaction.why(error))?;
            self.arrivals.go_on_after(last_us);
        }
        self.database.note_time(self.arrivals.now_s());
        let admitted = admitted(&transaction, commits, &mut self.arrivals, |_, _| Ok(BASE));
        let (outcomes, changes, rewrapped) = admitted.map_err(|error| transaction.why(error))?;
        let topics = topics_of(&changes);
        count(&changes);
        transaction.commit(changes)?;
        topics.into_iter().for_each(|topic| self.database.node.topics.note(topic));
        if !rewrapped.is_empty() {
            self.database.sealing().forget(&rewrapped).map_err(sealing)?;
        }
        Ok(outcomes)
    }

    /// Finishes what an erasure that failed in its middle has left.
    pub(super) fn finish_rewraps(&mut self) {
        let unfinished = Commit::finish_rewraps(self.database.sealing().unfinished());
        if !unfinished.is_empty() {
            engine::Writer::execute(self, &unfinished);
        }
    }

    /// Whether the database takes writes.
    fn takes_writes(&mut self) -> bool {
        let now = self.arrivals.now_ms().to_be_bytes();
        let probe = [PROBE, self.database.place().as_bytes()].concat();
        matches!(self.write(&[Commit::new().put(Tree::Meta, probe, now)]).as_deref(), Ok([Ok(())]))
    }
}

fn sealing(error: SealingError) -> Failure {
    Failure::Said(None, error.to_string())
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
            Ok(Err(failure @ (Failure::Conflict | Failure::OtherKeys))) => {
                all_failed(commits, &failure.to_string())
            }
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
        self.latch.can_mend().then_some(self.mend_interval)
    }

    fn mend(&mut self) {
        let just_tried = self.tried.is_some_and(|tried| tried.elapsed() < self.mend_interval);
        if !self.latch.can_mend() || just_tried {
            return;
        }
        self.tried = Some(Instant::now());
        self.stalls.step(Step::Database);
        if self.takes_writes() {
            self.latch.mended();
            self.finish_rewraps();
        }
        self.stalls.done();
    }

    fn finish(&mut self) -> Result<(), String> {
        let ended = self.database.node.leave(&self.database.client);
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
