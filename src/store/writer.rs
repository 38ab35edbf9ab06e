//! The writer of a store in files, the only code that writes records while it is open. Once it returns, the
//! group is durable, or refused because a record cannot be read, or the store has failed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::checkpoint::Checkpoints;
use super::engine::{self, StoreBackend, WriteFault, count};
use super::group::{WriteGroup, begin_slots, stage_all};
use super::journal::Journal;
use super::record_file::{FileEntry, HEADING, WalkItem};
use super::records::StoredRecords;
use super::sealing::Sealing;
use super::stall::{Stalls, WriterStep};
use crate::{Arrivals, BASE, Commit, CommitResult, DiskError, RecordChange, StoreOptions, VolumeStart};

pub(super) struct FilesWriter {
    records: Arc<StoredRecords>,
    journal: Journal,
    /// Makes record files durable and retires segments of the journal.
    pub(super) checkpoints: Checkpoints,
    arrivals: Arrivals,
    stalls: Arc<Stalls>,
    /// Time that the journal and the key file took for the last group.
    disk_took: Duration,
    /// Whether the length of the last volume needs a check.
    length_unchecked: bool,
    /// The file of the base that is being compacted, and the position in it; `None` if damage prevents it.
    compaction: (u32, Option<u64>),
}

/// Bytes of a file that are compacted between two groups.
const COMPACTED_AT_ONCE: u64 = 256 * 1024;

impl FilesWriter {
    pub(super) fn new(records: Arc<StoredRecords>, journal: Journal, arrivals: Arrivals) -> Self {
        let checkpoints = Checkpoints { records: Arc::clone(&records), thread: None };
        let stalls = Arc::clone(records.stalls());
        let (disk_took, length_unchecked, compaction) = (Duration::ZERO, true, (0, Some(HEADING)));
        Self { records, journal, checkpoints, arrivals, stalls, disk_took, length_unchecked, compaction }
    }

    /// Writes raw records, bypassing the rules of commits.
    pub(super) fn write_as_is(&mut self, changes: Vec<RecordChange>) -> Result<(), String> {
        if changes.is_empty() { Ok(()) } else { self.record(changes).map_err(|fault| fault.to_string()) }
    }

    /// Begins the next volume, after the times in all others.
    pub(super) fn begin_volume(&mut self) -> Result<(), WriteFault> {
        let volumes = self.records.volumes();
        let number = volumes.last().map_or(BASE, |(last, _)| last) + 1;
        let latest_ms = volumes.latest_ms().max(self.arrivals.last_us / 1000);
        let span_ms = if latest_ms == 0 { 0 } else { latest_ms + 1 };
        let begins = VolumeStart { span_ms, use_ms: self.arrivals.expiry_ms() };
        self.stalls.step(WriterStep::Begin);
        volumes.add(number, begins).map_err(|DiskError(reason)| WriteFault::Mendable(reason))?;
        self.length_unchecked = false;
        Ok(())
    }

    /// The length of the last volume is checked when a segment of the journal has filled.
    fn is_volume_full(&mut self) -> bool {
        let volumes = self.records.volumes();
        let Some((_, begins)) = volumes.last() else { return false };
        let age_ms = self.arrivals.expiry_ms().saturating_sub(begins.use_ms);
        let StoreOptions { volume_bytes, volume_age, .. } = volumes.options;
        let is_large = std::mem::take(&mut self.length_unchecked) && volumes.last_bytes() >= volume_bytes;
        is_large || u128::from(age_ms) >= volume_age.as_millis()
    }

    /// The fault for a failed read before anything was written. A failed index has set the latch itself.
    fn unread(&self, DiskError(why): DiskError) -> WriteFault {
        if self.records.latch().is_lost() { WriteFault::ForGood(why) } else { WriteFault::Unreadable(why) }
    }

    /// Writes the journal first, then the record files: visible records are durable.
    fn record(&mut self, changes: Vec<RecordChange>) -> Result<(), WriteFault> {
        let volumes = self.records.volumes();
        let begun = Instant::now();
        if self.journal.is_full() {
            self.stalls.step(WriterStep::Roll);
            let full = self.journal.roll(&volumes.positions())?;
            self.length_unchecked = true;
            self.checkpoints.take(full).map_err(WriteFault::ForGood)?;
        }
        if volumes.is_base_file_full() {
            self.stalls.step(WriterStep::Begin);
            volumes.begin_base_file()?;
        }
        self.stalls.step(WriterStep::Journal);
        self.journal.append(&changes)?;
        self.disk_took += begun.elapsed();
        self.records.apply(changes)
    }
}

impl engine::GroupWriter for FilesWriter {
    fn write(&mut self, commits: &[Commit]) -> Result<Vec<CommitResult>, WriteFault> {
        self.disk_took = Duration::ZERO;
        if self.is_volume_full() {
            self.begin_volume()?;
        }
        self.stalls.step(WriterStep::Read);
        begin_slots(self.records.sealing(), commits)
            .map_err(|error| WriteFault::Unreadable(error.to_string()))?;
        let place = |group: &WriteGroup<'_>, key: &[u8]| self.records.volume_of(group, key);
        let staged = stage_all(&*self.records, commits, &mut self.arrivals, place);
        let (outcomes, changes, rewrapped) = staged.map_err(|error| self.unread(error))?;
        if !changes.is_empty() {
            count(&changes);
            self.record(changes)?;
        }
        if !rewrapped.is_empty() {
            let begun = Instant::now();
            self.stalls.step(WriterStep::Keys);
            let forgotten = self.records.sealing().forget(&rewrapped);
            forgotten.map_err(|error| WriteFault::ForGood(error.to_string()))?;
            self.disk_took += begun.elapsed();
        }
        Ok(outcomes)
    }

    fn sealing(&self) -> &Sealing {
        self.records.sealing()
    }

    /// Disk time of the last group: that of the journal and the key file.
    fn waited(&self) -> Duration {
        self.disk_took
    }

    /// Continues in a new file of the journal. The record files are synced first, so that the failed group
    /// cannot come back; else the old segments stay. Does nothing while record files are missing.
    fn renew(&mut self) -> Result<bool, WriteFault> {
        self.stalls.step(WriterStep::Roll);
        let volumes = self.records.volumes();
        let gone = volumes.numbers().into_iter().filter(|number| volumes.is_needed(*number));
        if gone.filter_map(|number| volumes.note_gone(number)).count() > 0 || self.journal.probe().is_err() {
            return Ok(false);
        }
        volumes.make_durable().map_err(|error| WriteFault::ForGood(error.to_string()))?;
        // A checkpoint may have failed meanwhile.
        if self.records.latch().is_lost() {
            return Ok(false);
        }
        let renewed = self.journal.renew(&volumes.positions());
        let renewed = renewed.inspect_err(|error| tracing::warn!(%error, "the store's disk still fails"));
        Ok(renewed.is_ok())
    }

    /// Compacts the oldest file of the base, a part at a time, if most of it is dead records.
    fn compact_some(&mut self) -> Result<(), WriteFault> {
        let Some(file) = self.records.volumes().base_file_to_compact() else { return Ok(()) };
        let number = file.number;
        let from = match self.compaction {
            (compacted, at) if compacted == number => at,
            _ => Some(HEADING),
        };
        let Some(from) = from else { return Ok(()) };
        self.stalls.step(WriterStep::Read);
        let mut walk = file.walk(from);
        let mut live = Vec::new();
        while walk.at - from < COMPACTED_AT_ONCE
            && let Some(met) = walk.next()
        {
            match met {
                Ok(WalkItem::Entry(FileEntry { locator, key, value: Some(value) })) => {
                    if self.records.volumes().base.index.get(&key)? == Some(locator) {
                        live.push(RecordChange { volume: BASE, key, value: Some(value) });
                    }
                }
                Ok(WalkItem::Entry(_)) => {}
                // Damaged bytes may have been live: the file stays, for reports and salvage.
                Ok(WalkItem::Damage { .. }) | Err(_) => {
                    self.compaction = (number, None);
                    return Ok(());
                }
            }
        }
        self.compaction = (number, Some(walk.at));
        let is_done = walk.at >= file.len();
        if !live.is_empty() {
            self.record(live)?;
        }
        if is_done {
            self.stalls.step(WriterStep::Begin);
            self.records.volumes().remove_base_file(number)?;
        }
        Ok(())
    }

    fn end(&mut self) {
        self.checkpoints.end();
    }

    /// Makes everything durable, so that a start replays nothing and rebuilds no index.
    fn flush_for_close(&mut self) -> Result<(), String> {
        let flushed = self.records.volumes().flush_for_close().and_then(|()| self.journal.clear());
        flushed.map_err(|error| error.to_string())
    }
}
