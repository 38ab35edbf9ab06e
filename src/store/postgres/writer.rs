//! The writer: a group of commits is one transaction, retried after conflicts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::{DatabaseFailure, DatabaseResult};
use super::database::Database;
use super::transaction::Transaction;
use crate::engine::{self, StoreBackend, WriteFault, all_failed, count};
use crate::group::{begin_keys, begin_slots, stage_all, wanted};
use crate::sealing::Sealing;
use crate::stall::{Stalls, WriterStep};
use crate::topics::topics_of;
use crate::{Arrivals, BASE, Commit, CommitResult, LAST_ARRIVAL, Tree};

/// Attempts per group in conflict with others. At each conflict another process has made progress.
const TRIES: usize = 64;

/// The key that a failed database is probed with, one per process. Written: read-only databases answer reads.
pub(crate) const PROBE: &[u8] = b"probe";

pub(crate) struct DatabaseWriter {
    database: Arc<Database>,
    arrivals: Arrivals,
    stalls: Arc<Stalls>,
    waited: Duration,
}

impl DatabaseWriter {
    pub(super) fn new(database: Arc<Database>, arrivals: Arrivals, stalls: Arc<Stalls>) -> Self {
        Self { database, arrivals, stalls, waited: Duration::ZERO }
    }

    fn try_for_long(&mut self, commits: &[Commit]) -> DatabaseResult<Vec<CommitResult>> {
        let mut written = Err(DatabaseFailure::Conflict);
        for _ in 0..TRIES {
            written = self.try_to_write(commits);
            match written {
                Err(DatabaseFailure::Conflict) => {}
                Err(DatabaseFailure::OtherKeys) => {
                    self.database.sealing().refresh().map_err(DatabaseFailure::of)?;
                }
                _ => break,
            }
        }
        written
    }

    fn try_to_write(&mut self, commits: &[Commit]) -> DatabaseResult<Vec<CommitResult>> {
        // Created before the transaction, which then locks the keys against changes.
        begin_slots(self.database.sealing(), commits).map_err(DatabaseFailure::of)?;
        for commit in commits {
            begin_keys(self.database.sealing(), commit).map_err(DatabaseFailure::of)?;
        }
        let keys: BTreeSet<_> = commits.iter().flat_map(|commit| wanted(&*self.database, commit)).collect();
        let arrives = keys.contains(&Tree::Meta.tree_key(LAST_ARRIVAL));
        let transaction = Transaction::begin(&self.database, keys)?;
        if arrives {
            // The lock keeps other processes from giving out arrivals until this group is written.
            let last_us = super::last_arrival_us(&transaction).map_err(|error| transaction.why(error))?;
            self.arrivals.last_us = self.arrivals.last_us.max(last_us);
        }
        self.database.note_time(self.arrivals.arrival_s());
        let staged = stage_all(&transaction, commits, &mut self.arrivals, |_, _| Ok(BASE));
        let (outcomes, changes, rewrapped) = staged.map_err(|error| transaction.why(error))?;
        let topics = topics_of(&changes);
        count(&changes);
        transaction.commit(changes)?;
        topics.into_iter().for_each(|topic| self.database.node.topics.note(topic));
        if !rewrapped.is_empty() {
            self.database.sealing().forget(&rewrapped).map_err(DatabaseFailure::of)?;
        }
        Ok(outcomes)
    }
}

impl engine::GroupWriter for DatabaseWriter {
    fn write(&mut self, commits: &[Commit]) -> Result<Vec<CommitResult>, WriteFault> {
        let begun = Instant::now();
        self.stalls.step(WriterStep::Database);
        let written = self.try_for_long(commits);
        self.waited = begun.elapsed();
        written.or_else(|failure| match failure {
            // Other processes win every time; the caller may retry.
            DatabaseFailure::Conflict | DatabaseFailure::OtherKeys => {
                Ok(all_failed(commits, &failure.to_string()))
            }
            DatabaseFailure::Lost => Err(WriteFault::ForGood(failure.to_string())),
            DatabaseFailure::Said(..) => Err(WriteFault::Mendable(failure.to_string())),
        })
    }

    fn sealing(&self) -> &Sealing {
        self.database.sealing()
    }

    fn waited(&self) -> Duration {
        self.waited
    }

    fn renew(&mut self) -> Result<bool, WriteFault> {
        self.stalls.step(WriterStep::Database);
        let now = self.arrivals.expiry_ms().to_be_bytes();
        let probe =
            Commit::new().put(Tree::Meta, [PROBE, self.database.directory_id().as_bytes()].concat(), now);
        Ok(matches!(self.try_for_long(&[probe]).as_deref(), Ok([Ok(())])))
    }

    fn end(&mut self) {
        if let Err(failure) = self.database.node.leave(&self.database.client) {
            tracing::warn!(%failure, "could not release the lease of the database");
        }
    }
}
