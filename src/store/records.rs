//! Reading: from a tree and a key to a payload, broken records included.
//!
//! A read looks up the place in the [volume's](super::volumes) index and reads the record file, on the
//! caller's thread. It sees a group as soon as it is applied, which is when it is durable.

use std::iter;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard};
use uuid::Uuid;

use super::broken::Reported;
use super::engine::{EntryWalk, RawEntry, StoreBackend, WriteFault, walk_or_error};
use super::index::IndexCursor;
use super::raw::{RawValues, read_clear};
use super::scan::Scan;
use super::sealing::{Sealing, data_key};
use super::stall::{Stalls, WriterStep};
use super::topics::{Topics, topics_of};
use super::volumes::files::gone;
use super::volumes::volume::Volume;
use super::volumes::{Appended, Volumes};
use super::write_observer::WriteObserver;
use crate::{
    BASE, BrokenRecord, DamageKind, DiskError, DiskResult, FailureLatch, FeedKey, RecordChange, Tree,
    VolumeNumber, VolumeSelector,
};

pub(super) struct StoredRecords {
    reads: Reads,
    sealing: Sealing,
    pub(super) observer: WriteObserver,
    reported: Reported,
    pub(super) topics: Arc<Topics>,
}

/// Reads under concurrent writes. A failed index is never queried; no read waits without bound.
#[derive(Clone)]
struct Reads {
    volumes: Arc<Volumes>,
    /// Held exclusively while a group is applied, and shared by all readers.
    applied: Arc<RwLock<()>>,
    latch: Arc<FailureLatch>,
    stalls: Arc<Stalls>,
}

impl Reads {
    /// Begins a read, which excludes the application of a group until the guard is dropped.
    fn begin(&self) -> DiskResult<RwLockReadGuard<'_, ()>> {
        let longest = if self.stalls.stall().is_some() { Duration::ZERO } else { self.stalls.after };
        let begun = self.applied.try_read_for(longest);
        let begun =
            begun.ok_or_else(|| DiskError("the disk has not finished a write for too long".into()))?;
        self.hold().map(|()| begun)
    }

    /// Whether indexes may be queried: a failed one may answer falsely, or never.
    fn hold(&self) -> DiskResult<()> {
        match self.latch.is_lost() {
            true => Err(DiskError("the store has failed and is no longer read".to_owned())),
            false => Ok(()),
        }
    }

    /// Passes on the answer of an index; an error fails the store for good.
    fn told<T>(&self, said: DiskResult<T>) -> DiskResult<T> {
        said.inspect_err(|DiskError(reason)| self.latch.fail_for_good(reason))
    }

    fn read(&self, volume: &Volume, tree_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        self.hold()?;
        self.told(volume.get(tree_key))?
    }

    fn walk(&self, volume: VolumeNumber, from: &Bound<Vec<u8>>) -> DiskResult<VolumeWalk> {
        self.hold()?;
        let volume = self.volumes.volume(volume)?;
        let ahead = volume.map(|volume| (IndexCursor::new(from.clone()), volume));
        Ok(VolumeWalk { ahead, reads: self.clone() })
    }
}

impl RawValues for StoredRecords {
    /// Reads while no group is being applied. If a volume was closed, the read starts over once it is open.
    fn raw(&self, tree_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        // A volume that is held here is not closed.
        let mut opened = Vec::new();
        loop {
            match self.raw_of_open(tree_key)? {
                Ok(raw) => return Ok(raw),
                Err(closed) => opened.push(self.volumes().volume(closed)?),
            }
        }
    }
}

impl StoredRecords {
    pub(super) fn new(volumes: Volumes, sealing: Sealing, latch: Arc<FailureLatch>, stalls: Stalls) -> Self {
        let (applied, observer, reported, topics) = Default::default();
        let reads = Reads { volumes: Arc::new(volumes), applied, latch, stalls: Arc::new(stalls) };
        Self { reads, sealing, observer, reported, topics }
    }

    /// Writes the manifest and the keys again where their files are missing or damaged, and notes that.
    pub(super) fn rewrite_lost_files(&self) {
        let manifest = self.volumes().rewrite_manifest().map_err(|error| error.to_string());
        let keys = self.sealing.rewrite().map_err(|error| error.to_string());
        for (name, rewritten) in [("manifest", manifest), ("keys", keys)] {
            let damages = &self.volumes().damages;
            match rewritten {
                Ok(files) => {
                    damages.forget(|it| it.file == name && matches!(it.what, DamageKind::Unwritable(_)));
                    files.iter().for_each(|it| damages.note_of(None, *it, DamageKind::Rewritten));
                }
                Err(why) => damages.note_of(None, name, DamageKind::Unwritable(why)),
            }
        }
    }

    pub(super) fn stalls(&self) -> &Arc<Stalls> {
        &self.reads.stalls
    }

    pub(super) fn volumes(&self) -> &Volumes {
        &self.reads.volumes
    }

    /// The value under a key, or the number of a volume that must be opened first.
    fn raw_of_open(&self, tree_key: &[u8]) -> DiskResult<Result<Option<Vec<u8>>, VolumeNumber>> {
        let _applied = self.reads.begin()?;
        let volumes = self.volumes();
        for number in self.place(&|key: &[u8]| self.reads.read(&volumes.base, key), tree_key)? {
            match volumes.standing(number) {
                Some(Some(volume)) => {
                    if let Some(raw) = self.reads.read(&volume, tree_key)? {
                        return Ok(Ok(Some(raw)));
                    }
                }
                Some(None) => return Ok(Err(number)),
                None => {}
            }
        }
        Ok(Ok(None))
    }

    /// Runs work while no group is being applied. It must not read through `StoredRecords`, which would take
    /// the same lock again.
    pub(super) fn still<T>(&self, work: impl FnOnce() -> T) -> T {
        let _applied = self.reads.applied.read();
        work()
    }

    /// Applies the writes of one group: readers, and recovery, see all of it or nothing.
    pub(super) fn apply(&self, changes: Vec<RecordChange>) -> Result<(), WriteFault> {
        let topics = topics_of(&changes);
        self.stalls().step(WriterStep::Append);
        // No index points there yet, so readers need not wait for the disk.
        let appended = self.volumes().append(changes)?;
        self.stalls().step(WriterStep::Readers);
        let _applied = self.reads.applied.write();
        self.stalls().step(WriterStep::Index);
        appended.iter().for_each(Appended::find);
        topics.into_iter().for_each(|topic| self.topics.note(topic));
        if self.observer.listens() {
            self.observer.note(appended.into_iter().flat_map(|appended| appended.changes).collect());
        }
        Ok(())
    }

    /// Notes deleted files of an open volume as damage. If the next start needs them, the store fails.
    pub(super) fn note_gone(&self, number: VolumeNumber) {
        if let Some(file) = self.volumes().note_gone(number)
            && self.volumes().is_needed(number)
        {
            self.latch().fail(&gone(&file));
        }
    }

    pub(super) fn latch(&self) -> &FailureLatch {
        &self.reads.latch
    }

    #[cfg(test)]
    pub(super) fn while_applying(&self, work: impl FnOnce()) {
        let _applied = self.reads.applied.write();
        work();
    }

    /// The volume that a key is written to, given the stored records and the writes of a group.
    pub(super) fn volume_of(&self, group: &impl RawValues, tree_key: &[u8]) -> DiskResult<VolumeNumber> {
        let time_ms = Tree::split(tree_key).and_then(|(tree, key)| tree.time_ms(key));
        time_ms.into_iter().for_each(|ms| self.volumes().note_ms(ms));
        Ok(self.place(group, tree_key)?[0])
    }

    /// The volumes to search for a record, in order. It is written to the first.
    fn place(&self, from: &impl RawValues, tree_key: &[u8]) -> DiskResult<Vec<VolumeNumber>> {
        let volumes = self.volumes();
        let Some((tree, key)) = Tree::split(tree_key) else { return Ok(vec![BASE]) };
        if tree.row().kept != VolumeSelector::WithLead {
            return Ok(vec![tree.time_ms(key).map_or(BASE, |ms| volumes.at(ms))]);
        }
        Ok(match self.of_lead(from, key)? {
            Ok(Some(number)) => vec![number],
            // The last volume, in case the lead has lost its data key since it came.
            Ok(None) => [BASE].into_iter().chain(volumes.last().map(|(last, _)| last)).collect(),
            // Any: the data key cannot be read.
            Err(_) => volumes.numbers(),
        })
    }

    /// The volume of the lead that a key begins with; `None` if the lead has no data key.
    fn of_lead(
        &self,
        from: &impl RawValues,
        key: &[u8],
    ) -> DiskResult<Result<Option<VolumeNumber>, BrokenRecord>> {
        let Some(lead) = key.first_chunk() else { return Ok(Ok(Some(BASE))) };
        let kept = read_clear(from, Tree::LeadKeys, &self.sealing.slots.key_of(Uuid::from_bytes(*lead)))?;
        Ok(kept.map(|kept| kept.map(|kept| data_key::volume_of(&kept))))
    }

    /// The volumes that may hold records of a tree from a key on, with a prefix, in order.
    fn span(&self, tree: Tree, start: &[u8], prefix: &[u8]) -> DiskResult<Vec<VolumeNumber>> {
        let (volumes, is_of_one) = (self.volumes(), prefix.len() >= 16);
        Ok(match tree.row().kept {
            VolumeSelector::Base => vec![BASE],
            VolumeSelector::WithLead if is_of_one => match self.of_lead(self, prefix)? {
                Ok(number) => vec![number.unwrap_or(BASE)],
                Err(_) => volumes.numbers(),
            },
            VolumeSelector::WithLead => volumes.numbers(),
            VolumeSelector::ByTime if is_of_one => self.place(self, &tree.tree_key(prefix))?,
            VolumeSelector::ByTime | VolumeSelector::ByArrival => {
                // Pads a short key with zeros: no key lies between the two.
                let mut first = start.to_vec();
                first.resize(first.len().max(FeedKey::LEN), 0);
                let begin = tree.time_ms(&first).map_or(BASE, |ms| volumes.at(ms));
                volumes.numbers().into_iter().filter(|number| *number >= begin).collect()
            }
        })
    }

    pub(super) fn scan(self: &Arc<Self>, tree: Tree, prefix: &[u8]) -> Scan {
        Scan::new(Arc::<Self>::clone(self), tree, prefix, prefix)
    }

    /// All raw records of a volume from a key on; none when the volume was dropped.
    pub(super) fn walk_volume(&self, volume: VolumeNumber, from: &Bound<Vec<u8>>) -> DiskResult<VolumeWalk> {
        self.reads.walk(volume, from)
    }
}

impl StoreBackend for StoredRecords {
    fn sealing(&self) -> &Sealing {
        &self.sealing
    }

    fn reported(&self) -> &Reported {
        &self.reported
    }

    fn walk(&self, tree: Tree, start: &[u8], prefix: &[u8]) -> EntryWalk {
        let tree_prefix = tree.tree_key(prefix);
        let first = tree.tree_key(start).max(tree_prefix.clone());
        let numbers = match self.span(tree, &first[1..], prefix) {
            Ok(numbers) => numbers,
            Err(error) => return Box::new(iter::once(Err(error))),
        };
        let reads = self.reads.clone();
        Box::new(numbers.into_iter().flat_map(move |number| {
            let prefix = tree_prefix.clone();
            // Later keys have other prefixes.
            let is_wanted = move |entry: &DiskResult<RawEntry>| {
                entry.as_ref().map_or(true, |(tree_key, _)| tree_key.starts_with(&prefix))
            };
            let walk = reads.walk(number, &Bound::Included(first.clone()));
            walk_or_error(walk.map(|walk| walk.take_while(is_wanted)))
        }))
    }

    fn newest_volume(&self) -> VolumeNumber {
        self.volumes().last().map_or(BASE, |(last, _)| last)
    }

    fn note_unreadable(&self, tree_key: &[u8]) {
        if self.reads.hold().is_ok() {
            self.volumes().note_unreadable(tree_key);
        }
    }
}

/// The records of a volume in key order. Each step runs while no group is being applied.
pub(super) struct VolumeWalk {
    ahead: Option<(IndexCursor, Arc<Volume>)>,
    reads: Reads,
}

impl Iterator for VolumeWalk {
    type Item = DiskResult<RawEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl VolumeWalk {
    fn step(&mut self) -> DiskResult<Option<RawEntry>> {
        let Self { ahead: Some((cursor, volume)), reads } = self else { return Ok(None) };
        let _applied = reads.begin()?;
        while let Some((key, _)) = reads.told(volume.index.next(cursor))? {
            if let Some(value) = reads.read(volume, &key)? {
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }
}
