//! Reading: from a tree and a key to a payload, broken records included.
//!
//! Reads ask the index of the [volume](super::volumes) where the record lies, and read its file, on the caller's thread. They see a
//! group as soon as it is applied, which is when it is durable.

use std::iter;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard};

use super::broken::Reported;
use super::changes::Change;
use super::disk::{DiskError, DiskResult};
use super::engine::{Engine, Entry, Walk, walk_or_error};
use super::health::FailureLatch;
use super::index;
use super::raw::RawValues;
use super::sealing::Sealing;
use super::stall::{Stalls, Step};
use super::tap::Tap;
use super::topics::{Topics, topics_of};
use super::trees::Tree;
use super::volume_number::{BASE, Number};
use super::volumes::files::gone;
use super::volumes::volume::Volume;
use super::volumes::{Appended, ApplyError, Standing, Volumes, place, span, time_ms};

/// The volumes and what is needed to read them well.
pub(super) struct Records {
    reads: Reads,
    sealing: Sealing,
    /// Who is told of each write.
    pub(super) tap: Tap,
    reported: Reported,
    /// The kinds of change that others follow.
    pub(super) topics: Arc<Topics>,
}

/// What is needed to go through volumes while others use them. Nothing is asked of an index that failed, and nothing waits without
/// end for a group.
#[derive(Clone)]
struct Reads {
    volumes: Arc<Volumes>,
    /// Held while a group is applied, and shared by all that read.
    applied: Arc<RwLock<()>>,
    latch: Arc<FailureLatch>,
    stalls: Arc<Stalls>,
}

impl Reads {
    /// Reads from here on, until it is dropped, while no group is being applied.
    fn begin(&self) -> DiskResult<RwLockReadGuard<'_, ()>> {
        let longest = if self.stalls.stall().is_some() { Duration::ZERO } else { self.stalls.after };
        let begun = self.applied.try_read_for(longest);
        let begun =
            begun.ok_or_else(|| DiskError("the disk has not finished a write for too long".to_owned()))?;
        self.hold().map(|()| begun)
    }

    /// Whether indexes may be asked: what has failed may answer with nothing, or never.
    fn hold(&self) -> DiskResult<()> {
        match self.latch.is_lost() {
            true => Err(DiskError("the store has failed, and is not read any more".to_owned())),
            false => Ok(()),
        }
    }

    /// What an index has answered; an error of it fails the store for good.
    fn told<T>(&self, said: DiskResult<T>) -> DiskResult<T> {
        said.inspect_err(|DiskError(reason)| self.latch.fail_for_good(reason))
    }

    /// What an open volume has under a key.
    fn read(&self, volume: &Volume, sled_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        self.hold()?;
        self.told(volume.get(sled_key))?
    }

    fn walk(&self, volume: Number, from: &Bound<Vec<u8>>) -> DiskResult<VolumeWalk> {
        self.hold()?;
        let volume = self.volumes.volume(volume)?;
        let ahead = volume.map(|volume| (volume.index.range(from.clone()), volume));
        Ok(VolumeWalk { ahead, reads: self.clone() })
    }
}

impl RawValues for Records {
    /// Reads while no group is being applied. It opens no volume meanwhile, since the writer waits: if one was not open, all is read
    /// again once it is.
    fn raw(&self, sled_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        // What is held is not closed.
        let mut opened = Vec::new();
        loop {
            match self.raw_of_open(sled_key)? {
                Ok(raw) => return Ok(raw),
                Err(closed) => opened.push(self.volumes().volume(closed)?),
            }
        }
    }
}

/// The records of the base while no group is being applied, for a read that has begun.
struct InBase<'a>(&'a Reads);

impl RawValues for InBase<'_> {
    fn raw(&self, sled_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        self.0.read(&self.0.volumes.base, sled_key)
    }
}

/// The records of a volume, beside what the base has.
pub(super) struct Within<'a> {
    pub(super) volumes: &'a Volumes,
    pub(super) number: Number,
}

impl RawValues for Within<'_> {
    fn raw(&self, sled_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        match self.volumes.raw(self.number, sled_key)? {
            None if self.number != BASE => self.volumes.raw(BASE, sled_key),
            raw => Ok(raw),
        }
    }
}

impl Records {
    /// Takes the volumes over, with the keys of what is sealed in them.
    pub(super) fn new(volumes: Volumes, sealing: Sealing, latch: Arc<FailureLatch>, stalls: Stalls) -> Self {
        let (applied, tap, reported, topics) = Default::default();
        let reads = Reads { volumes: Arc::new(volumes), applied, latch, stalls: Arc::new(stalls) };
        Self { reads, sealing, tap, reported, topics }
    }

    /// What the writer is at.
    pub(super) fn stalls(&self) -> &Arc<Stalls> {
        &self.reads.stalls
    }

    /// Where the records lie.
    pub(super) fn volumes(&self) -> &Volumes {
        &self.reads.volumes
    }

    /// What lies under a key, or the number of a volume that has to be opened before that can be told.
    fn raw_of_open(&self, sled_key: &[u8]) -> DiskResult<Result<Option<Vec<u8>>, Number>> {
        let _applied = self.reads.begin()?;
        let volumes = self.volumes();
        let numbers = match Tree::split(sled_key) {
            Some((tree, key)) => {
                place(&InBase(&self.reads), volumes, &self.sealing.slots, tree, key)?.numbers(volumes)
            }
            None => vec![BASE],
        };
        for number in numbers {
            match volumes.standing(number) {
                Standing::Open(volume) => {
                    if let Some(raw) = self.reads.read(&volume, sled_key)? {
                        return Ok(Ok(Some(raw)));
                    }
                }
                Standing::Closed => return Ok(Err(number)),
                Standing::Dropped => {}
            }
        }
        Ok(Ok(None))
    }

    /// Does something that reads no volume while no group is being applied.
    pub(super) fn still<T>(&self, work: impl FnOnce() -> T) -> T {
        let _applied = self.reads.applied.read();
        work()
    }

    /// Applies what one group writes: readers see all of it or nothing, and so does a recovery, by the journal.
    pub(super) fn apply(&self, changes: Vec<Change>) -> Result<(), ApplyError> {
        let topics = topics_of(&changes);
        self.stalls().step(Step::Append);
        // Nobody finds it yet, so nobody has to wait for the disk.
        let appended = self.volumes().append(changes)?;
        self.stalls().step(Step::Readers);
        let _applied = self.reads.applied.write();
        self.stalls().step(Step::Index);
        appended.iter().try_for_each(Appended::find).map_err(ApplyError::Index)?;
        topics.into_iter().for_each(|topic| self.topics.note(topic));
        if self.tap.listens() {
            self.tap.note(appended.into_iter().flat_map(|appended| appended.changes).collect());
        }
        Ok(())
    }

    /// Notes as damage the files of a volume that are gone while they are open. Nothing is acknowledged while the next start would need
    /// them.
    pub(super) fn note_gone(&self, number: Number) {
        if let Some(file) = self.volumes().note_gone(number)
            && self.volumes().is_needed(number)
        {
            self.latch().fail(&gone(&file));
        }
    }

    /// What the store fails with.
    pub(super) fn latch(&self) -> &FailureLatch {
        &self.reads.latch
    }

    /// Does something as if a group were being applied.
    #[cfg(test)]
    pub(super) fn while_applying(&self, work: impl FnOnce()) {
        let _applied = self.reads.applied.write();
        work();
    }

    /// The volume that a key is written to, by what is stored and what a group writes.
    pub(super) fn volume_of(&self, group: &impl RawValues, sled_key: &[u8]) -> DiskResult<Number> {
        let Some((tree, key)) = Tree::split(sled_key) else { return Ok(BASE) };
        time_ms(tree, key).into_iter().for_each(|ms| self.volumes().note_ms(ms));
        Ok(place(group, self.volumes(), &self.sealing.slots, tree, key)?.number())
    }

    /// Everything there is in a volume from a key on, as it lies there; nothing when the volume was dropped.
    pub(super) fn walk_volume(&self, volume: Number, from: &Bound<Vec<u8>>) -> DiskResult<VolumeWalk> {
        self.reads.walk(volume, from)
    }
}

impl Engine for Records {
    fn sealing(&self) -> &Sealing {
        &self.sealing
    }

    fn reported(&self) -> &Reported {
        &self.reported
    }

    fn walk(&self, tree: Tree, start: &[u8], prefix: &[u8]) -> Walk {
        let sled_prefix = tree.sled_key(prefix);
        let first = tree.sled_key(start).max(sled_prefix.clone());
        let numbers = match span(self, self.volumes(), &self.sealing.slots, tree, &first[1..], prefix) {
            Ok(numbers) => numbers,
            Err(error) => return Box::new(iter::once(Err(error))),
        };
        let reads = self.reads.clone();
        Box::new(numbers.into_iter().flat_map(move |number| {
            let prefix = sled_prefix.clone();
            // What follows is of other prefixes.
            let is_wanted = move |entry: &DiskResult<Entry>| {
                entry.as_ref().map_or(true, |(sled_key, _)| sled_key.starts_with(&prefix))
            };
            let walk = reads.walk(number, &Bound::Included(first.clone()));
            walk_or_error(walk.map(|walk| walk.take_while(is_wanted)))
        }))
    }

    fn newest_volume(&self) -> Number {
        self.volumes().last().map_or(BASE, |(last, _)| last)
    }

    fn note_unreadable(&self, sled_key: &[u8]) {
        if self.reads.hold().is_ok() {
            self.volumes().note_unreadable(sled_key);
        }
    }
}

/// The records of a volume, in the order of their keys, each step while no group is being applied.
pub(super) struct VolumeWalk {
    ahead: Option<(index::Range, Arc<Volume>)>,
    reads: Reads,
}

impl Iterator for VolumeWalk {
    type Item = DiskResult<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl VolumeWalk {
    fn step(&mut self) -> DiskResult<Option<Entry>> {
        let Self { ahead: Some((range, volume)), reads } = self else { return Ok(None) };
        let _applied = reads.begin()?;
        for met in range {
            let (key, _) = reads.told(met)?;
            // The range may be of before a group that was applied since: what the index says now counts.
            if let Some(value) = reads.read(volume, &key)? {
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }
}
