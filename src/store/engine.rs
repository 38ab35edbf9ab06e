//! The interface of an engine: it keeps raw values under keys, finds them, and walks them in key order.
//!
//! Common code here opens sealed records and reports broken ones. A read may block on the engine.

use std::time::Duration;
use std::{io, iter};

use uuid::Uuid;

use super::broken::Reported;
use super::raw::RawValues;
use super::sealing::{LastKey, Sealing, data_key, owner};
use crate::{
    BASE, BrokenReason, BrokenRecord, Commit, CommitError, CommitResult, DiskError, DiskResult, ReadError,
    ReadResult, RecordChange, TREES, Tree, VolumeNumber, unframed,
};
use offerd_base::telemetry::metrics::STORE_CHANGES;

/// A key with the prefix of its tree, and the raw value under it.
pub(super) type RawEntry = (Vec<u8>, Vec<u8>);

pub(super) type EntryWalk = Box<dyn Iterator<Item = DiskResult<RawEntry>> + Send>;

pub(super) fn walk_or_error(
    walk: DiskResult<impl Iterator<Item = DiskResult<RawEntry>> + Send + 'static>,
) -> EntryWalk {
    match walk {
        Ok(walk) => Box::new(walk),
        Err(error) => Box::new(iter::once(Err(error))),
    }
}

/// A stream of leads, each with the stored form of its data key.
pub(super) type DataKeys = Box<dyn Iterator<Item = DiskResult<Option<(Uuid, Vec<u8>)>>> + Send>;

/// The owners and keys of records of a tree that is sealed by lead.
pub type OwnedKeys = Box<dyn Iterator<Item = ReadResult<(Uuid, Vec<u8>)>> + Send>;

pub(super) trait StoreBackend: RawValues + Send + Sync {
    fn sealing(&self) -> &Sealing;

    fn reported(&self) -> &Reported;

    /// The raw records of a tree with a prefix, from `start` on, in key order within each partition.
    fn walk(&self, tree: Tree, start: &[u8], prefix: &[u8]) -> EntryWalk;

    /// The volume for new leads; for an engine that only expires by time, the time.
    fn newest_volume(&self) -> VolumeNumber {
        BASE
    }

    fn note_unreadable(&self, _tree_key: &[u8]) {}

    /// The payload of a record; a broken one is reported and is an error.
    fn get(&self, tree: Tree, key: &[u8]) -> ReadResult<Option<Vec<u8>>> {
        let Some(raw) = self.raw(&tree.tree_key(key))? else { return Ok(None) };
        self.payload(tree, key, &raw, &mut LastKey::default())
    }

    fn payload(&self, tree: Tree, key: &[u8], raw: &[u8], last: &mut LastKey) -> ReadResult<Option<Vec<u8>>> {
        let opened = match unframed(raw) {
            Ok(payload) => self.sealing().opened(self, tree, key, payload, last)?,
            Err(reason) => Err(reason),
        };
        let record = opened.map_err(|reason| BrokenRecord::new(tree, key, reason));
        // If the lead was erased meanwhile, the record is gone too, not broken.
        let lacks_key = matches!(&record, Err(broken) if broken.reason == BrokenReason::DataKey);
        if lacks_key && self.raw(&tree.tree_key(key))?.as_deref() != Some(raw) {
            return self.get(tree, key);
        }
        record.inspect_err(|broken| self.report(broken)).map_err(ReadError::Broken)
    }

    /// The stored data keys of leads, from a place on and with a prefix; `None` for one that cannot be read.
    fn data_keys(&self, start: &[u8], prefix: &[u8]) -> DataKeys {
        Box::new(self.walk(Tree::LeadKeys, start, prefix).map(|entry| {
            let (key, raw) = entry?;
            Ok(data_key::lead_at(&key[1..]).zip(unframed(&raw).ok().map(<[u8]>::to_vec)))
        }))
    }

    /// The leads and keys of the records that a scan would yield, without opening any.
    fn owners(&self, tree: Tree, start: &[u8], prefix: &[u8]) -> OwnedKeys {
        Box::new(self.walk(tree, start, prefix).filter_map(|entry| {
            let owned = entry.map(|(mut tree_key, raw)| Some((owner_of(&raw)?, tree_key.split_off(1))));
            owned.map_err(ReadError::from).transpose()
        }))
    }

    /// Counts and logs a broken record, once, and notes the damage at its place.
    fn report(&self, broken: &BrokenRecord) {
        if self.reported().note(broken) {
            self.note_unreadable(&broken.tree_key());
        }
    }

    fn count(&self, tree: Tree, prefix: &[u8]) -> ReadResult<u64> {
        self.keys(tree, prefix).try_fold(0, |count, key| key.map(|_| count + 1))
    }

    fn keys(&self, tree: Tree, prefix: &[u8]) -> Box<dyn Iterator<Item = ReadResult<Vec<u8>>> + Send> {
        Box::new(self.walk(tree, prefix, prefix).map(|entry| Ok(entry?.0.split_off(1))))
    }
}

/// Writes groups of commits for an engine, on one thread, called by a [committer](super::committer).
pub(super) trait GroupWriter: Send {
    /// As [`Committer::execute`](super::committer::Committer::execute) promises.
    fn write(&mut self, commits: &[Commit]) -> Result<Vec<CommitResult>, WriteFault>;

    fn sealing(&self) -> &Sealing;

    /// How long the last group waited to become durable.
    fn waited(&self) -> Duration;

    /// Tries to make the engine writable again; `false` if it still is not.
    fn renew(&mut self) -> Result<bool, WriteFault>;

    /// Compacts some records between groups.
    fn compact_some(&mut self) -> Result<(), WriteFault> {
        Ok(())
    }

    /// Stops background work before the store is closed, failed or not.
    fn end(&mut self);

    /// Makes a store that has not failed quick to open.
    fn flush_for_close(&mut self) -> Result<(), String> {
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) enum WriteFault {
    /// A record could not be read: nothing was written, and other commits can be.
    Unreadable(String),
    /// Making a group durable failed, or a write before that: the group may be there after a restart, or not.
    Mendable(String),
    /// A failure that only a restart repairs, such as that of an index.
    ForGood(String),
}

/// An index has failed.
impl From<DiskError> for WriteFault {
    fn from(DiskError(reason): DiskError) -> Self {
        Self::ForGood(reason)
    }
}

/// The journal or a record file has failed.
impl From<io::Error> for WriteFault {
    fn from(error: io::Error) -> Self {
        Self::Mendable(error.to_string())
    }
}

pub(super) fn count(changes: &[RecordChange]) {
    let mut counts = [0; TREES.len()];
    for (tree, _) in changes.iter().filter_map(|change| Tree::split(&change.key)) {
        counts[tree as usize] += 1;
    }
    for (row, count) in TREES.iter().zip(counts).filter(|(_, count)| *count > 0) {
        metrics::counter!(STORE_CHANGES, "tree" => row.name).increment(count);
    }
}

pub(super) fn all_failed(commits: &[Commit], reason: &str) -> Vec<CommitResult> {
    commits.iter().map(|_| Err(CommitError::Failed(reason.to_owned()))).collect()
}

/// The lead of a record in a tree sealed by lead, read without opening it; `None` if the record is broken.
pub(super) fn owner_of(raw: &[u8]) -> Option<Uuid> {
    unframed(raw).ok().and_then(owner)
}
