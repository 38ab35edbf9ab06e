//! The writer: the only one who writes. A group goes in, an outcome for each of its commits comes out, and by then the
//! group is durable, and applied, or the store is failed.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arrival::Arrivals;
use super::changes::Change;
use super::checkpoint::Checkpoints;
use super::commit::{Commit, Outcome};
use super::disk::DiskError;
use super::engine::{self, Engine, all_failed, count};
use super::error::StoreError;
use super::group::{Group, admitted, begin_slots};
use super::health::FailureLatch;
use super::journal::Journal;
use super::options::StoreOptions;
use super::record_file::{Entry, HEADING, Met};
use super::records::Records;
use super::stall::{Stalls, Step};
use super::volume_number::{BASE, Begins};
use super::volumes::ApplyError;
use crate::telemetry::metrics::STORE_GROUP_COMMITS;

/// Writes groups, one after the other.
pub(super) struct Writer {
    records: Arc<Records>,
    journal: Journal,
    /// What makes record files durable and retires the journal's.
    pub(super) checkpoints: Checkpoints,
    arrivals: Arrivals,
    latch: Arc<FailureLatch>,
    stalls: Arc<Stalls>,
    /// When a failed disk was tried last.
    tried: Option<Instant>,
    /// How long the journal and the key file took for the last group.
    disk_took: Duration,
    /// Whether the length of the last volume is to be looked at.
    grown: bool,
    /// Which file of the base is being emptied, and how far it is.
    emptied: (u32, u64),
}

/// How much of a file is emptied between two groups, in bytes.
const EMPTIED_AT_ONCE: u64 = 256 * 1024;

impl Writer {
    /// A writer that goes on where the last one stopped.
    pub(super) fn new(
        records: Arc<Records>,
        journal: Journal,
        arrivals: Arrivals,
        latch: Arc<FailureLatch>,
    ) -> Self {
        let checkpoints = Checkpoints::inline(Arc::clone(&records), Arc::clone(&latch));
        let stalls = Arc::clone(records.stalls());
        Self {
            records,
            journal,
            checkpoints,
            arrivals,
            latch,
            stalls,
            tried: None,
            disk_took: Duration::ZERO,
            grown: true,
            emptied: (0, HEADING),
        }
    }

    /// Fails the store, unless something just could not be read. Gives the reason.
    fn failed(&mut self, fault: Fault) -> String {
        self.tried = Some(Instant::now());
        match fault {
            Fault::Unread(reason) => reason,
            Fault::Journal(reason) => {
                self.latch.fail(&reason);
                reason
            }
            Fault::Records(reason) => {
                self.latch.fail_for_good(&reason);
                reason
            }
        }
    }

    fn renew(&mut self) {
        if self.journal.probe().is_err() {
            return;
        }
        if let Err(error) = self.records.volumes().make_durable() {
            return self.latch.fail_for_good(&error.to_string());
        }
        // A checkpoint may have failed meanwhile.
        if !self.latch.can_mend() {
            return;
        }
        if let Err(error) = self.journal.renew(&self.records.volumes().positions()) {
            return tracing::warn!(%error, "the store's disk does not work yet");
        }
        self.latch.mended();
    }

    /// Executes commits that must all be taken.
    pub(super) fn execute_all(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        let refused = engine::Writer::execute(self, commits).into_iter().find_map(Result::err);
        refused.map_or(Ok(()), |error| Err(StoreError::Disk(error.to_string())))
    }

    /// Writes records as they are to lie there, past what commits keep to.
    pub(super) fn write_as_is(&mut self, changes: Vec<Change>) -> Result<(), String> {
        if changes.is_empty() { Ok(()) } else { self.record(changes).map_err(|fault| fault.to_string()) }
    }

    fn empty_a_part(&mut self) -> Result<(), Fault> {
        let Some(file) = self.records.volumes().base_file_to_empty() else { return Ok(()) };
        let (number, from) = match self.emptied {
            (number, u64::MAX) if number == file.number() => return Ok(()),
            (number, at) if number == file.number() => (number, at),
            _ => (file.number(), HEADING),
        };
        self.stalls.step(Step::Read);
        let mut walk = file.walk(from);
        let mut live = Vec::new();
        while walk.at() - from < EMPTIED_AT_ONCE
            && let Some(met) = walk.next()
        {
            match met {
                Ok(Met::Entry(Entry { locator, key, value: Some(value) })) => {
                    if self.records.volumes().base.index.get(&key)? == Some(locator) {
                        live.push(Change { volume: BASE, key, value: Some(value) });
                    }
                }
                Ok(Met::Entry(_)) => {}
                // What is damaged may have been live: the file stays, so that it is reported, and salvaged if it can be.
                Ok(Met::Damage { .. }) | Err(_) => {
                    self.emptied = (number, u64::MAX);
                    return Ok(());
                }
            }
        }
        self.emptied = (number, walk.at());
        let is_empty = walk.at() >= file.len();
        if !live.is_empty() {
            self.record(live)?;
        }
        if is_empty {
            self.stalls.step(Step::Begin);
            self.records.volumes().emptied(number).map_err(|error| Fault::Journal(error.to_string()))?;
        }
        Ok(())
    }

    /// Begins the next volume, behind all that is in the others.
    pub(super) fn begin_volume(&mut self) -> Result<(), Fault> {
        let volumes = self.records.volumes();
        let number = volumes.last().map_or(BASE, |(last, _)| last) + 1;
        let latest_ms = volumes.latest_ms().max(self.arrivals.last_us() / 1000);
        let span_ms = if latest_ms == 0 { 0 } else { latest_ms + 1 };
        let begins = Begins { span_ms, use_ms: self.arrivals.now_ms() };
        self.stalls.step(Step::Begin);
        volumes.add(number, begins).map_err(|DiskError(reason)| Fault::Journal(reason))?;
        self.grown = false;
        Ok(())
    }

    /// Whether the last volume is large or old enough. Its length is looked at when a segment of the journal was filled.
    fn is_volume_full(&mut self) -> bool {
        let volumes = self.records.volumes();
        let Some((_, begins)) = volumes.last() else { return false };
        let age_ms = self.arrivals.now_ms().saturating_sub(begins.use_ms);
        let StoreOptions { volume_bytes, volume_age, .. } = volumes.options;
        let is_large = std::mem::take(&mut self.grown) && volumes.last_bytes() >= volume_bytes;
        is_large || u128::from(age_ms) >= volume_age.as_millis()
    }

    fn write(&mut self, commits: &[Commit]) -> Result<Vec<Outcome>, Fault> {
        if self.is_volume_full() {
            self.begin_volume()?;
            self.stalls.step(Step::Read);
        }
        begin_slots(self.records.sealing(), commits).map_err(|error| Fault::Unread(error.to_string()))?;
        let place = |group: &Group<'_>, key: &[u8]| self.records.volume_of(group, key);
        let admitted = admitted(&*self.records, commits, &mut self.arrivals, place);
        let (outcomes, changes, rewrapped) = admitted.map_err(|error| self.unread(error))?;
        if !changes.is_empty() {
            count(&changes);
            self.record(changes)?;
        }
        if !rewrapped.is_empty() {
            let begun = Instant::now();
            self.stalls.step(Step::Keys);
            self.records.sealing().forget(&rewrapped).map_err(|error| Fault::Records(error.to_string()))?;
            self.disk_took += begun.elapsed();
        }
        Ok(outcomes)
    }

    /// What it is that something could not be read before anything was written. An index that fails says so itself.
    fn unread(&self, DiskError(reason): DiskError) -> Fault {
        if self.latch.is_lost() { Fault::Records(reason) } else { Fault::Unread(reason) }
    }

    /// First the journal, then the record files: what can be read is durable.
    fn record(&mut self, changes: Vec<Change>) -> Result<(), Fault> {
        let journaled = |error: io::Error| Fault::Journal(error.to_string());
        let volumes = self.records.volumes();
        let begun = Instant::now();
        if self.journal.is_full() {
            self.stalls.step(Step::Roll);
            let full = self.journal.roll(&volumes.positions()).map_err(journaled)?;
            self.grown = true;
            self.checkpoints.take(full).map_err(Fault::Records)?;
        }
        if volumes.is_base_file_full() {
            self.stalls.step(Step::Begin);
            volumes.begin_base_file().map_err(journaled)?;
        }
        self.stalls.step(Step::Journal);
        self.journal.append(&changes).map_err(journaled)?;
        self.disk_took += begun.elapsed();
        self.records.apply(changes).map_err(|error| match error {
            ApplyError::Append(error) => journaled(error),
            ApplyError::Index(DiskError(reason)) => Fault::Records(reason),
        })
    }
}

impl engine::Writer for Writer {
    /// Writes the commits as one group. Once this returns, every commit with `Ok` survives a kill and a power cut, and a
    /// commit found in the way by a guard does too.
    ///
    /// After a failure, or a panic below, nothing is written any more, unless the disk [works again](engine::Writer::mend).
    fn execute(&mut self, commits: &[Commit]) -> Vec<Outcome> {
        self.mend();
        if let Some(failure) = self.latch.failure() {
            return all_failed(commits, &failure.reason);
        }
        self.disk_took = Duration::ZERO;
        metrics::histogram!(STORE_GROUP_COMMITS).record(commits.len() as f64);
        self.stalls.step(Step::Read);
        let written = catch_unwind(AssertUnwindSafe(|| self.write(commits)));
        self.stalls.done();
        let failure = match written {
            Ok(Ok(outcomes)) => return outcomes,
            // Whoever needs what cannot be read is refused, and nobody else.
            Ok(Err(Fault::Unread(reason))) if commits.len() == 1 => return all_failed(commits, &reason),
            Ok(Err(Fault::Unread(_))) => {
                return commits.chunks(1).flat_map(|commit| self.execute(commit)).collect();
            }
            Ok(Err(fault)) => self.failed(fault),
            Err(_) => self.failed(Fault::Records("the writer panicked".to_owned())),
        };
        all_failed(commits, &failure)
    }

    /// What it fails with when it cannot go on.
    fn latch(&self) -> &Arc<FailureLatch> {
        &self.latch
    }

    /// How long the journal and the key file, and so the disk, took for the last group.
    fn waited(&self) -> Duration {
        self.disk_took
    }

    /// When a failed disk is to be tried again, if it may be.
    fn try_again_in(&self) -> Option<Duration> {
        self.latch.can_mend().then_some(self.records.volumes().options.mend_interval)
    }

    /// Goes on in another file of the journal when the disk takes one. The record files are synced first, so that the old ones are
    /// not needed, and the group that failed cannot come back. If that fails they are kept: a restart reads them.
    fn mend(&mut self) {
        let mend_interval = self.records.volumes().options.mend_interval;
        let just_tried = self.tried.is_some_and(|tried| tried.elapsed() < mend_interval);
        if !self.latch.can_mend() || just_tried {
            return;
        }
        self.tried = Some(Instant::now());
        self.stalls.step(Step::Roll);
        self.renew();
        self.stalls.done();
        // Of an erasure that failed in its middle, before another one forgets the old wrapping keys of all slots.
        let unfinished: Vec<Commit> = match self.latch.failure() {
            Some(_) => Vec::new(),
            None => Commit::finish_rewraps(self.records.sealing().unfinished()),
        };
        if !unfinished.is_empty() {
            self.execute(&unfinished);
        }
    }

    /// Writes a part of what is live in the oldest file of the base again, if that is of little else than what there is no more, and
    /// lets the file go when nothing of it is live.
    fn tidy(&mut self) {
        if self.latch.failure().is_some() {
            return;
        }
        let emptied = self.empty_a_part();
        self.stalls.done();
        if let Err(fault) = emptied {
            self.failed(fault);
        }
    }

    /// Makes all of it durable, so that a start has nothing to replay and no index to make, before the store is closed.
    fn finish(&mut self) -> Result<(), String> {
        self.checkpoints.end();
        if let Some(failure) = self.latch.failure() {
            return Err(failure.reason.clone());
        }
        let settled = self.records.volumes().settle().and_then(|()| self.journal.clear());
        settled.map_err(|error| error.to_string())
    }

    /// As if a failed disk had never been tried.
    #[cfg(test)]
    fn forget_try(&mut self) {
        self.tried = None;
    }
}

/// What failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) enum Fault {
    /// A read of a record: nothing was written, and others can be.
    Unread(String),
    /// The journal, or what is written before a group can be: the group may be there after a restart, or not.
    Journal(String),
    /// An index: a restart makes it anew.
    Records(String),
}

impl From<DiskError> for Fault {
    fn from(error: DiskError) -> Self {
        Self::Records(error.to_string())
    }
}
