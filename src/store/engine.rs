//! What an engine does for the store: it keeps raw values under keys, finds them, and goes through them in the order of their keys.
//!
//! All that makes records of raw values is here, once for every engine: what is sealed is opened, and what is
//! broken is reported. A read may wait for the engine, so it is made where waiting harms nobody.

use std::iter;
use std::time::Duration;

use uuid::Uuid;

use super::broken::{BrokenRecord, ReadError, Reported};
use super::changes::Change;
use super::commit::{Commit, CommitError, Outcome};
use super::disk::DiskResult;
use super::frame::{Reason, unframed};
use super::raw::{RawValues, Record, read_clear};
use super::sealing::{LastKey, Sealing, data_key};
use super::trees::{TREES, Tree};
use super::volume_number::{BASE, Number};
use offerd_base::telemetry::metrics::STORE_CHANGES;

/// A key with the prefix of its tree, and the raw value under it.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// Entries on their way.
pub(super) type Walk = Box<dyn Iterator<Item = DiskResult<Entry>> + Send>;

/// A walk, or the error that it begins with.
pub(super) fn walk_or_error(
    walk: DiskResult<impl Iterator<Item = DiskResult<Entry>> + Send + 'static>,
) -> Walk {
    match walk {
        Ok(walk) => Box::new(walk),
        Err(error) => Box::new(iter::once(Err(error))),
    }
}

/// Leads on their way, each with what is kept of its data key.
pub(super) type DataKeys = Box<dyn Iterator<Item = DiskResult<Option<(Uuid, Vec<u8>)>>> + Send>;

/// Where records are kept.
pub(super) trait Engine: RawValues + Send + Sync {
    /// The keys of what is sealed.
    fn sealing(&self) -> &Sealing;

    /// The broken records that were met.
    fn reported(&self) -> &Reported;

    /// The raw records of a tree whose key begins with `prefix`, from the key `start` on, in the order of their keys; where an engine
    /// keeps records by time, in that of each such part.
    fn walk(&self, tree: Tree, start: &[u8], prefix: &[u8]) -> Walk;

    /// The part of the store that records of new leads are written to, where an engine keeps them by time; where one only removes them
    /// by it, the time.
    fn newest_volume(&self) -> Number {
        BASE
    }

    /// Notes that nothing can be read under a key.
    fn note_unreadable(&self, _sled_key: &[u8]) {}

    /// The payload of a record; a broken one is reported and is an error.
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(raw) = self.raw(&tree.sled_key(key))? else { return Ok(None) };
        self.payload(tree, key, &raw, &mut LastKey::default())
    }

    /// The payload of a record whose raw value was read.
    fn payload(
        &self,
        tree: Tree,
        key: &[u8],
        raw: &[u8],
        last: &mut LastKey,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let opened = match unframed(raw) {
            Ok(payload) => self.sealing().opened(self, tree, key, payload, last)?,
            Err(reason) => Err(reason),
        };
        let record = opened.map_err(|reason| BrokenRecord::new(tree, key, reason));
        // Of a lead that has been erased since, by another process too, the record is gone as well, and not broken.
        let lacks_key = matches!(&record, Err(broken) if broken.reason == Reason::DataKey);
        if lacks_key && self.raw(&tree.sled_key(key))?.as_deref() != Some(raw) {
            return self.get(tree, key);
        }
        record.inspect_err(|broken| self.report(broken)).map_err(ReadError::Broken)
    }

    /// What is kept of the data keys of leads from a place on, with a prefix; nothing of one that cannot be read.
    fn data_keys(&self, start: &[u8], prefix: &[u8]) -> DataKeys {
        Box::new(self.walk(Tree::LeadKeys, start, prefix).map(|entry| {
            let (key, raw) = entry?;
            Ok(data_key::lead_at(&key[1..]).zip(unframed(&raw).ok().map(<[u8]>::to_vec)))
        }))
    }

    /// Counts and logs a broken record, once, and notes what is damaged there.
    fn report(&self, broken: &BrokenRecord) {
        if self.reported().note(broken) {
            self.note_unreadable(&broken.sled_key());
        }
    }

    /// How many records of a tree have a key with a prefix.
    fn count(&self, tree: Tree, prefix: &[u8]) -> Result<u64, ReadError> {
        self.keys(tree, prefix).try_fold(0, |count, key| key.map(|_| count + 1))
    }

    /// The keys of a tree with a prefix, those included of which nothing can be read.
    fn keys(&self, tree: Tree, prefix: &[u8]) -> Box<dyn Iterator<Item = Result<Vec<u8>, ReadError>> + Send> {
        Box::new(self.walk(tree, prefix, prefix).map(|entry| Ok(entry?.0.split_off(1))))
    }
}

/// Writes for an engine: groups of commits, one after the other, on one thread, behind a [committer](super::committer).
pub(super) trait Writer: Send {
    /// Writes the commits as one group. Once this returns, every commit with `Ok` survives whatever the engine survives, and a commit
    /// found in the way by a guard does too.
    fn write(&mut self, commits: &[Commit]) -> Result<Vec<Outcome>, Fault>;

    /// The keys of what is sealed.
    fn sealing(&self) -> &Sealing;

    /// How long the last group waited for what makes it durable.
    fn waited(&self) -> Duration;

    /// Tries to get the engine to take writes again; `false` if it still does not.
    fn renew(&mut self) -> Result<bool, Fault>;

    /// Does a part of what is to be done between groups.
    fn tidy(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Ends what goes on beside the groups, before the store is closed, failed or not.
    fn end(&mut self);

    /// Makes the store, which has not failed, quick to open.
    fn settle(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A failure of a writer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) enum Fault {
    /// A read of a record: nothing was written, and others can be.
    Unread(String),
    /// What makes a group durable, or is written before it can be: the group may be there after a restart, or not.
    Mendable(String),
    /// Something that only a restart mends, such as an index.
    ForGood(String),
}

/// Counts the changes of a group by the trees that they are of.
pub(super) fn count(changes: &[Change]) {
    let mut counts = [0; TREES.len()];
    for (tree, _) in changes.iter().filter_map(|change| Tree::split(&change.key)) {
        counts[tree as usize] += 1;
    }
    for (row, count) in TREES.iter().zip(counts).filter(|(_, count)| *count > 0) {
        metrics::counter!(STORE_CHANGES, "tree" => row.name).increment(count);
    }
}

/// Commits that all failed for one reason.
pub(super) fn all_failed(commits: &[Commit], reason: &str) -> Vec<Outcome> {
    commits.iter().map(|_| Err(CommitError::Failed(reason.to_owned()))).collect()
}

/// Reads one record, and opens it when it is sealed. The outer error is the engine's.
pub(super) fn read_record(
    from: &(impl RawValues + ?Sized),
    sealing: &Sealing,
    tree: Tree,
    key: &[u8],
) -> DiskResult<Record> {
    match read_clear(from, tree, key)? {
        Ok(Some(payload)) => {
            let opened = sealing.opened(from, tree, key, &payload, &mut LastKey::default())?;
            Ok(opened.map_err(|reason| BrokenRecord::new(tree, key, reason)))
        }
        other => Ok(other),
    }
}
