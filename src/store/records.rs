//! Reading: from a tree and a key to a payload, large values and broken records included.
//!
//! Reads ask the index of the [volume](super::volumes) where the record lies, and read its file, on the caller's thread. They see a
//! group as soon as it is applied, which is when it is durable.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard};
use uuid::Uuid;

use super::{
    broken::{BrokenRecord, ReadError, Reported},
    changes::Change,
    disk::{DiskError, DiskResult},
    frame::{Frame, part_key},
    health::FailureLatch,
    index,
    raw::{RawValues, Record, read_clear},
    sealing::{LastKey, Sealing, data_key, owner},
    stall::{Stalls, Step},
    tap::Tap,
    trees::Tree,
    volume_number::{BASE, Number},
    volumes::{Appended, ApplyError, Span, Standing, Volumes, place, span, volume::Volume},
};

/// The volumes and what is needed to read them well.
pub(super) struct Records {
    volumes: Volumes,
    sealing: Sealing,
    /// Held while a group is applied, and shared by who reads.
    applied: Arc<RwLock<()>>,
    tap: Tap,
    reported: Reported,
    bounds: Arc<Bounds>,
    /// Groups so far that changed a company or a token.
    accesses: AtomicU64,
}

/// What every read keeps to: nothing is asked of an index that failed, and nothing waits without end for a group.
#[derive(Default)]
pub(super) struct Bounds {
    latch: Arc<FailureLatch>,
    stalls: Arc<Stalls>,
}

impl Bounds {
    /// Reads from here on, until it is dropped, while no group is being applied.
    fn begin<'l>(&self, applied: &'l RwLock<()>) -> DiskResult<RwLockReadGuard<'l, ()>> {
        let longest = if self.stalls.stall().is_some() { Duration::ZERO } else { self.stalls.after() };
        let begun = applied.try_read_for(longest);
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
}

/// What one group writes, applied as one: a record, or that there is none any more.
pub(super) struct Batch(pub(super) Vec<Change>);

impl RawValues for Records {
    fn raw(&self, sled_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        self.settled(|settled| settled.raw(sled_key))
    }
}

/// The records while no group is being applied, for reads that belong together. It opens no volume, since the writer waits.
pub(super) struct Settled<'a> {
    records: &'a Records,
    /// A volume that was to be read and is not open.
    closed: Cell<Option<Number>>,
    /// Why one cannot be opened.
    failure: Option<DiskError>,
    /// Why nothing may be read.
    refused: Option<DiskError>,
}

impl RawValues for Settled<'_> {
    fn raw(&self, sled_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        let Some((prefix, key)) = sled_key.split_first() else { return Ok(None) };
        let volumes = &self.records.volumes;
        let numbers = match Tree::of_prefix(*prefix) {
            Some(tree) => place(self, volumes, self.records.sealing.slots(), tree, key)?.numbers(volumes),
            None => vec![BASE],
        };
        for number in numbers {
            match (volumes.standing(number), &self.failure) {
                (Standing::Open(volume), _) => {
                    let bounds = &self.records.bounds;
                    bounds.hold()?;
                    if let Some(raw) = bounds.told(volume.get(sled_key))?? {
                        return Ok(Some(raw));
                    }
                }
                (Standing::Closed, None) => self.closed.set(Some(number)),
                (Standing::Closed, Some(failure)) => return Err(failure.clone()),
                (Standing::Dropped, _) => {}
            }
        }
        Ok(None)
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
        let (applied, tap, reported, accesses) = Default::default();
        let bounds = Arc::new(Bounds { latch, stalls: Arc::new(stalls) });
        Self { volumes, sealing, applied, tap, reported, bounds, accesses }
    }

    /// What the writer is at.
    pub(super) fn stalls(&self) -> &Arc<Stalls> {
        &self.bounds.stalls
    }

    /// Where the records lie.
    pub(super) fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    /// The keys of what is sealed.
    pub(super) fn sealing(&self) -> &Sealing {
        &self.sealing
    }

    /// The payload of a record; a broken one is reported and is an error.
    pub(super) fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(raw) = self.raw(&tree.sled_key(key))? else { return Ok(None) };
        let record = match Frame::open(&raw) {
            Ok(Frame::Whole(payload)) => return self.opened(tree, key, payload, &mut LastKey::default()),
            Ok(Frame::Split(_)) => self.settled(|settled| read_record(settled, &self.sealing, tree, key))?,
            Err(reason) => Err(BrokenRecord::new(tree, key, reason)),
        };
        self.reported(record)
    }

    /// A payload as it was before it was sealed, if it was.
    fn opened(
        &self,
        tree: Tree,
        key: &[u8],
        payload: &[u8],
        last: &mut LastKey,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let opened = self.sealing.opened(self, tree, key, payload, last)?;
        self.reported(opened.map_err(|reason| BrokenRecord::new(tree, key, reason)))
    }

    fn reported(&self, record: Record) -> Result<Option<Vec<u8>>, ReadError> {
        record.inspect_err(|broken| self.report(broken)).map_err(ReadError::Broken)
    }

    /// Whether the data key of a lead was destroyed.
    pub(super) fn is_erased(&self, lead: Uuid) -> Result<bool, ReadError> {
        let kept = read_clear(self, Tree::LeadKeys, &self.sealing.slots().place(lead))?;
        Ok(matches!(kept, Ok(Some(kept)) if data_key::is_destroyed(&kept)))
    }

    /// Reads while no group is being applied. What is handed in is to be used for it: the records themselves would wait
    /// for a group that waits for this to end. If a volume was not open it is read again, once that is.
    pub(super) fn settled<T>(&self, read: impl Fn(&Settled<'_>) -> T) -> T {
        let mut settled = Settled { records: self, closed: Cell::new(None), failure: None, refused: None };
        // What is held is not closed.
        let mut opened = Vec::new();
        loop {
            let told = match self.bounds.begin(&self.applied) {
                Ok(_applied) => read(&settled),
                Err(failure) => {
                    settled.refused = Some(failure);
                    return read(&settled);
                }
            };
            let Some(number) = settled.closed.take() else { return told };
            match self.volumes.volume(number) {
                Ok(volume) => opened.push(volume),
                Err(failure) => settled.failure = Some(failure),
            }
        }
    }

    /// Does something that reads no volume while no group is being applied.
    pub(super) fn still<T>(&self, work: impl FnOnce() -> T) -> T {
        let _applied = self.applied.read();
        work()
    }

    /// Counts and logs a broken record, once, and notes what of the files is damaged there.
    pub(super) fn report(&self, broken: &BrokenRecord) {
        if self.reported.note(broken) && self.bounds.hold().is_ok() {
            broken.sled_key().into_iter().for_each(|key| self.volumes.note_unreadable(&key));
        }
    }

    /// The broken records that were met, by tree.
    pub(super) fn broken(&self) -> BTreeMap<Tree, u64> {
        self.reported.by_tree()
    }

    /// Applies the batch: readers see all of it or nothing, and so does a recovery, by the journal.
    pub(super) fn apply(&self, batch: Batch) -> Result<(), ApplyError> {
        let Batch(changes) = batch;
        let of_access = [Tree::Companies, Tree::Tokens].map(|tree| tree.row().prefix);
        let changes_access = changes.iter().any(|change| of_access.contains(&change.key[0]));
        self.stalls().step(Step::Append);
        // Nobody finds it yet, so nobody has to wait for the disk.
        let appended = self.volumes.append(changes)?;
        self.stalls().step(Step::Readers);
        let _applied = self.applied.write();
        self.stalls().step(Step::Index);
        appended.iter().try_for_each(Appended::find).map_err(ApplyError::Index)?;
        if changes_access {
            self.accesses.fetch_add(1, Ordering::Release);
        }
        if self.tap.listens() {
            self.tap.note(appended.into_iter().flat_map(Appended::into_changes).collect());
        }
        Ok(())
    }

    /// Grows with each change of a company or a token, before that is acknowledged.
    pub(super) fn accesses(&self) -> u64 {
        self.accesses.load(Ordering::Acquire)
    }

    /// Nothing may be asked of the store any more: only another process can go on with it.
    pub(super) fn fail_for_good(&self, why: &str) {
        self.bounds.latch.fail_for_good(why);
    }

    /// Does something as if a group were being applied.
    #[cfg(test)]
    pub(super) fn while_applying(&self, work: impl FnOnce()) {
        let _applied = self.applied.write();
        work();
    }

    /// Where a backup listens to what is written.
    pub(super) fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Once this returns, everything applied before survives a power cut without the journal.
    pub(super) fn make_durable(&self) -> DiskResult<()> {
        Ok(self.volumes.make_durable()?)
    }

    /// How long all files are, which hold more than there is.
    pub(super) fn bytes_on_disk(&self) -> u64 {
        self.volumes.bytes_on_disk()
    }

    /// Everything there is in a volume from a key on, as it lies there; nothing when the volume was dropped.
    pub(super) fn walk(&self, volume: Number, from: &Bound<Vec<u8>>) -> DiskResult<Walk> {
        self.bounds.hold()?;
        let Some(volume) = self.volumes.volume(volume)? else { return Ok(Walk::default()) };
        let ahead = volume.range(from.clone());
        Ok(self.walk_of(ahead, volume))
    }

    /// Everything there is in the base from a key on, as it lies there.
    pub(super) fn walk_base_from(&self, first: &[u8]) -> Walk {
        let base = Arc::clone(self.volumes.base());
        self.walk_of(base.range(Bound::Included(first.to_vec())), base)
    }

    fn walk_of(&self, ahead: index::Range, volume: Arc<Volume>) -> Walk {
        let (applied, bounds) = (Arc::clone(&self.applied), Arc::clone(&self.bounds));
        Walk { ahead: Some((ahead, volume)), applied, bounds }
    }
}

/// The records of a volume, in the order of their keys, each step while no group is being applied.
#[derive(Default)]
pub(super) struct Walk {
    ahead: Option<(index::Range, Arc<Volume>)>,
    applied: Arc<RwLock<()>>,
    bounds: Arc<Bounds>,
}

impl Iterator for Walk {
    type Item = DiskResult<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let (range, volume) = self.ahead.as_mut()?;
        let _applied = match self.bounds.begin(&self.applied) {
            Ok(applied) => applied,
            Err(failure) => return Some(Err(failure)),
        };
        loop {
            let (key, _) = match self.bounds.told(range.next()?) {
                Ok(met) => met,
                Err(error) => return Some(Err(error)),
            };
            // The range may be of before a group that was applied since: what the index says now counts.
            match self.bounds.told(volume.get(&key)) {
                Ok(Ok(None)) => {}
                Ok(Ok(Some(value))) => return Some(Ok((key, value))),
                Ok(Err(error)) => return Some(Err(error)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Reads one record, joining its pieces, and opens it when it is sealed. The outer error is the disk's.
pub(super) fn read_record(
    from: &impl RawValues,
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

/// The records of one tree whose key begins with a prefix, in the order of their keys in each volume.
///
/// Not a snapshot: a record written meanwhile is met when its key lies ahead. Broken records are reported and left out.
pub struct Scan {
    records: Arc<Records>,
    tree: Tree,
    first: Vec<u8>,
    sled_prefix: Vec<u8>,
    /// The only lead that is looked for, in a tree that is sealed by lead.
    about: Option<Uuid>,
    last_key: LastKey,
    ahead: Walk,
    /// The volumes after the one that is being read.
    later: VecDeque<Number>,
    /// Why they cannot be found, or not be read.
    failure: Option<DiskError>,
}

impl Scan {
    /// Begins at `start`, or at the first key with the prefix where that is later.
    pub(super) fn new(records: Arc<Records>, tree: Tree, start: &[u8], prefix: &[u8]) -> Self {
        let sled_prefix = tree.sled_key(prefix);
        let first = tree.sled_key(start).max(sled_prefix.clone());
        let numbers = records.volumes.numbers().into_iter();
        let (later, failure) =
            match span(&*records, &records.volumes, records.sealing.slots(), tree, &first[1..], prefix) {
                Ok(Span::One(number)) => ([number].into(), None),
                Ok(Span::From(from)) => (numbers.filter(|number| *number >= from).collect(), None),
                Ok(Span::All) => (numbers.collect(), None),
                Err(error) => (VecDeque::new(), Some(error)),
            };
        let (about, last_key, ahead) = (None, LastKey::default(), Walk::default());
        Self { records, tree, first, sled_prefix, about, last_key, ahead, later, failure }
    }

    /// The next record with the prefix, as it lies there.
    fn next_raw(&mut self) -> Option<DiskResult<(Vec<u8>, Vec<u8>)>> {
        loop {
            if let Some(error) = self.failure.take() {
                return Some(Err(error));
            }
            match self.ahead.next() {
                Some(Ok((sled_key, _))) if !sled_key.starts_with(&self.sled_prefix) => {}
                Some(entry) => return Some(entry),
                None => {}
            }
            let number = self.later.pop_front()?;
            match self.records.walk(number, &Bound::Included(self.first.clone())) {
                Ok(walk) => self.ahead = walk,
                Err(error) => self.failure = Some(error),
            }
        }
    }

    /// Leaves out what is about other leads, without opening it.
    pub(super) fn about(self, lead: Uuid) -> Self {
        Self { about: Some(lead), ..self }
    }

    fn is_wanted(&self, key: &[u8], raw: &[u8]) -> DiskResult<bool> {
        let Some(lead) = self.about else { return Ok(true) };
        Ok(match Frame::open(raw) {
            Ok(Frame::Whole(payload)) => owner(payload) == Some(lead),
            Ok(Frame::Split(_)) => {
                let first = self.records.raw(&part_key(self.tree, key, 0))?;
                matches!(first.as_deref().map(Frame::open), Some(Ok(Frame::Whole(piece))) if owner(piece) == Some(lead))
            }
            Err(_) => false,
        })
    }

    fn payload(&mut self, key: &[u8], raw: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        match Frame::open(raw) {
            Ok(Frame::Whole(payload)) => self.records.opened(self.tree, key, payload, &mut self.last_key),
            _ => self.records.get(self.tree, key),
        }
    }
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Vec<u8>), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (sled_key, raw) = match self.next_raw()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error.into())),
            };
            let key = &sled_key[1..];
            match self.is_wanted(key, &raw) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => return Some(Err(error.into())),
            }
            match self.payload(key, &raw) {
                Ok(Some(payload)) => return Some(Ok((key.to_vec(), payload))),
                Ok(None) | Err(ReadError::Broken(_)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
