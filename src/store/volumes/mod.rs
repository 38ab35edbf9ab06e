//! Volumes: what belongs to a span of time lies in a database of its own, which is dropped as a whole.
//!
//! ```text
//! store/            the base: who may come in, what must be found without knowing when it was, and a line for each lead
//! store/volumes/1   leads, rate tables and feeds of the first span
//! store/volumes/2   … of the next; the last one grows
//! ```
//!
//! sled gives no space back, and when it is opened it reads for as long as it is large. So what grows with every lead is kept by
//! the time that it came. When the volume that grows is [large or old enough](super::StoreOptions::volume_bytes), the
//! next is begun. A start opens the base and the last volume; the others are opened after it, aside, or when somebody asks
//! for what is in them.
//!
//! Where a record lies is told by its key ([`Kept`]): by the time in the key of a rate table or of a feed, which are
//! the store's own, or by the lead, whose volume is kept with its data key, since a client may choose a lead's uuid.
//! A commit may write to several volumes; the [journal](super::journal) makes that atomic.

mod disk;
mod place;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use sled::IVec;

use self::disk::Disk;
pub(super) use self::place::{Span, place, span, time_ms};
pub use self::{disk::SyncFault, place::Kept};
use super::{changes::Change, open, options::StoreOptions};

/// The number of a volume, from 1; that of the base is 0.
pub(super) type Number = u32;

/// The number of the base.
pub(super) const BASE: Number = 0;

/// The part of the memory for caches that the base gets.
pub(super) const BASE_CACHE_SHARE: u64 = 2;

/// The part that each of the [`YOUNG`] gets.
const YOUNG_CACHE_SHARE: u64 = 4;

/// The part that each other one gets: it is read now and then.
const OLD_CACHE_SHARE: u64 = 256;

/// How many volumes are worked on: the last one, and the one before while the leads in it are completed.
const YOUNG: usize = 2;

/// The databases of a store.
pub(super) struct Volumes {
    options: StoreOptions,
    base: Arc<Volume>,
    dated: RwLock<BTreeMap<Number, Dated>>,
    /// Held while volumes are made durable, so that who finds nothing to do knows that it is done.
    syncing: Mutex<()>,
    /// Whether it is known which volumes there are.
    listed: AtomicBool,
    /// The latest time in the key of a record, in ms: the next volume begins behind it.
    latest_ms: AtomicU64,
}

/// Whether a volume can be read at once.
pub(super) enum Standing {
    /// It can.
    Open(Arc<Volume>),
    /// It has to be opened.
    Closed,
    /// There is none of this number, or none any more.
    Dropped,
}

/// A volume of a span of time.
struct Dated {
    begins: Begins,
    place: Arc<OnDisk>,
}

/// Where a volume is, and the volume once it is open. It is opened once, and meanwhile others are read.
struct OnDisk {
    path: PathBuf,
    opened: OnceLock<Arc<Volume>>,
    /// Locked while it is opened or dropped; whether it was dropped.
    dropped: Mutex<bool>,
}

/// When a volume begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Begins {
    /// Its span, in the times of records, in ms. It ends where that of the next one begins.
    pub(super) span_ms: u64,
    /// The volume itself: when records were first written to it, in ms.
    pub(super) use_ms: u64,
}

impl Begins {
    /// As it is kept.
    pub(super) fn to_bytes(self) -> [u8; 16] {
        let both = u128::from(self.span_ms) << 64 | u128::from(self.use_ms);
        both.to_be_bytes()
    }

    /// Reads what is kept.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (span_ms, use_ms) = bytes.split_first_chunk()?;
        let use_ms = u64::from_be_bytes(use_ms.try_into().ok()?);
        Some(Self { span_ms: u64::from_be_bytes(*span_ms), use_ms })
    }
}

/// A database that is open.
pub(super) struct Volume {
    db: sled::Db,
    disk: Disk,
    dirty: AtomicBool,
    cache_bytes: u64,
    /// Whether anybody has asked for it lately.
    used: AtomicBool,
}

/// A volume, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeSpan {
    /// Its number, from 1.
    pub number: u32,
    /// When the first records were written to it, Unix milliseconds.
    pub begun_at_ms: u64,
    /// How many bytes its files have.
    pub bytes: u64,
}

impl Volumes {
    /// Takes the base over. Its list of the others is [given later](Self::settle).
    pub(super) fn over(base: sled::Db, options: &StoreOptions) -> std::io::Result<Self> {
        let base = Arc::new(Volume::new(base, options)?);
        let (dated, syncing, listed, latest_ms) = Default::default();
        Ok(Self { options: options.clone(), base, dated, syncing, listed, latest_ms })
    }

    /// The directory of the store.
    pub(super) fn store(&self) -> &Path {
        &self.options.path
    }

    /// Takes over which volumes there are and when they begin. Of others, which were dropped, nothing is left.
    pub(super) fn settle(&self, list: &[(Number, Begins)]) -> std::io::Result<()> {
        let mut dated = self.dated.write().unwrap_or_else(PoisonError::into_inner);
        dated.retain(|number, _| list.iter().any(|(listed, _)| listed == number));
        for (number, begins) in list {
            dated.entry(*number).or_insert_with(|| self.dated_at(*number, *begins)).begins = *begins;
        }
        self.listed.store(true, Ordering::Release);
        let directory = self.directory();
        if !directory.exists() {
            return Ok(());
        }
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if number.is_none_or(|number| !dated.contains_key(&number)) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// Begins the next volume.
    pub(super) fn add(&self, number: Number, begins: Begins) {
        let mut dated = self.dated.write().unwrap_or_else(PoisonError::into_inner);
        dated.insert(number, self.dated_at(number, begins));
    }

    fn dated_at(&self, number: Number, begins: Begins) -> Dated {
        Dated { begins, place: Arc::new(OnDisk::at(self.path_of(number))) }
    }

    /// Drops a volume with all that is in it.
    pub(super) fn drop_whole(&self, number: Number) -> std::io::Result<()> {
        let dated = self.dated.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
        let mut dropped = dated.as_ref().map(|dated| dated.place.lock());
        dropped.iter_mut().for_each(|dropped| **dropped = true);
        match fs::remove_dir_all(self.path_of(number)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The last volume and when it begins; `None` while there is only the base.
    pub(super) fn last(&self) -> Option<(Number, Begins)> {
        self.dated().last_key_value().map(|(number, dated)| (*number, dated.begins))
    }

    /// The base.
    pub(super) fn base(&self) -> &Volume {
        &self.base
    }

    /// The volumes in the order of their spans, the base first.
    pub(super) fn numbers(&self) -> Vec<Number> {
        [BASE].into_iter().chain(self.dated().keys().copied()).collect()
    }

    /// The volume whose span has this time: the base, where none has.
    pub(super) fn at(&self, ms: u64) -> Number {
        let dated = self.dated();
        dated.iter().rev().find(|(_, dated)| dated.begins.span_ms <= ms).map_or(BASE, |(number, _)| *number)
    }

    /// The dated volumes, in the order of their spans.
    pub(super) fn spans(&self) -> Vec<VolumeSpan> {
        let bytes = |number| bytes_in(&self.path_of(number));
        let dated = self.dated();
        let span = |(number, dated): (&Number, &Dated)| VolumeSpan {
            number: *number,
            begun_at_ms: dated.begins.use_ms,
            bytes: bytes(*number),
        };
        dated.iter().map(span).collect()
    }

    /// A volume, opened if it is not; `None` when there is none of this number.
    pub(super) fn volume(&self, number: Number) -> sled::Result<Option<Arc<Volume>>> {
        if number == BASE {
            return Ok(Some(Arc::clone(&self.base)));
        }
        let place = self.dated().get(&number).map(|dated| Arc::clone(&dated.place));
        place.map_or(Ok(None), |place| self.opened(&place, number))
    }

    /// A volume, if it is open.
    pub(super) fn standing(&self, number: Number) -> Standing {
        if number == BASE {
            return Standing::Open(Arc::clone(&self.base));
        }
        match self.dated().get(&number).map(|dated| dated.place.opened()) {
            Some(Some(volume)) => Standing::Open(volume),
            Some(None) => Standing::Closed,
            None => Standing::Dropped,
        }
    }

    /// The raw value under a key in a volume.
    pub(super) fn raw(&self, number: Number, sled_key: &[u8]) -> sled::Result<Option<IVec>> {
        match self.volume(number)? {
            Some(volume) => volume.db.get(sled_key),
            None => Ok(None),
        }
    }

    fn opened(&self, place: &OnDisk, number: Number) -> sled::Result<Option<Arc<Volume>>> {
        if let Some(volume) = place.opened() {
            return Ok(Some(volume));
        }
        let dropped = place.lock();
        if *dropped || place.opened.get().is_some() {
            return Ok(place.opened());
        }
        let share = if self.is_young(number) { YOUNG_CACHE_SHARE } else { OLD_CACHE_SHARE };
        place.open(&self.options, share).map(Some)
    }

    fn is_young(&self, number: Number) -> bool {
        self.dated().keys().rev().nth(YOUNG - 1).is_none_or(|oldest| *oldest <= number)
    }

    /// Has the volumes that are not worked on any more give back the memory for it: each that nobody has asked for since this
    /// was done last is closed and opened again as an old one. Who asks for it meanwhile waits.
    ///
    /// # Errors
    /// What kept one from being made durable.
    pub(super) fn shrink(&self) -> sled::Result<()> {
        let grown = |dated: &Dated| {
            let opened = dated.place.opened.get();
            opened.is_some_and(|volume| {
                let is_large = volume.cache_bytes > self.options.cache_bytes / OLD_CACHE_SHARE;
                is_large && !volume.used.swap(false, Ordering::Relaxed)
            })
        };
        let grown: Vec<Number> = {
            let dated = self.dated();
            let old = dated.iter().rev().skip(YOUNG);
            old.filter(|(_, dated)| grown(dated)).map(|(number, _)| *number).collect()
        };
        grown.into_iter().try_for_each(|number| self.reopen(number))
    }

    fn reopen(&self, number: Number) -> sled::Result<()> {
        self.make_durable()?;
        let fresh = Arc::new(OnDisk::at(self.path_of(number)));
        let opening = fresh.lock();
        let mut dated = self.dated.write().unwrap_or_else(PoisonError::into_inner);
        let Some(Dated { place, .. }) = dated.get_mut(&number) else { return Ok(()) };
        // Whoever reads or writes holds the volume; whoever is about to, its place.
        let is_idle = Arc::strong_count(place) == 1
            && place.opened.get().is_some_and(|volume| {
                Arc::strong_count(volume) == 1 && !volume.dirty.load(Ordering::Acquire)
            });
        if !is_idle {
            return Ok(());
        }
        let grown = std::mem::replace(place, Arc::clone(&fresh));
        drop(dated);
        drop(grown);
        if let Err(error) = fresh.open(&self.options, OLD_CACHE_SHARE) {
            tracing::warn!(volume = number, %error, "a volume of the store is opened when it is asked for");
        }
        drop(opening);
        Ok(())
    }

    /// A volume of a number that is new if it is not yet known which there are. What is not listed was dropped.
    fn volume_or_new(&self, number: Number) -> sled::Result<Option<Arc<Volume>>> {
        let volume = self.volume(number)?;
        if volume.is_some() || self.listed.load(Ordering::Acquire) {
            return Ok(volume);
        }
        self.add(number, Begins::default());
        self.volume(number)
    }

    /// Applies changes, each in its volume, one by one: that they are one is the journal's work, and a batch of sled's would
    /// cost more than they do, since it wakes all of sled's threads twice.
    pub(super) fn apply(&self, changes: Vec<Change>) -> sled::Result<()> {
        let mut changed: BTreeMap<Number, Option<Arc<Volume>>> = BTreeMap::new();
        let applied = changes.into_iter().try_for_each(|Change { volume, key, value }| {
            let volume = match changed.entry(volume) {
                Entry::Occupied(changed) => changed.into_mut(),
                Entry::Vacant(place) => place.insert(self.volume_or_new(volume)?),
            };
            match (volume, value) {
                (Some(volume), Some(raw)) => volume.db.insert(key, raw).map(drop),
                (Some(volume), None) => volume.db.remove(key).map(drop),
                (None, _) => Ok(()),
            }
        });
        for volume in changed.values().flatten() {
            // Not before: a checkpoint that comes between would take the mark and leave the changes.
            volume.dirty.store(true, Ordering::Release);
        }
        applied
    }

    /// Once this returns, everything applied before survives a power cut without the journal.
    pub(super) fn make_durable(&self) -> sled::Result<()> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let opened: Vec<Arc<Volume>> =
            self.dated().values().filter_map(|dated| dated.place.opened.get().cloned()).collect();
        opened.iter().chain([&self.base]).try_for_each(|volume| volume.make_durable())
    }

    /// How long all files of the store's databases are.
    pub(super) fn bytes_on_disk(&self) -> sled::Result<u64> {
        let dated: u64 = self.spans().iter().map(|span| span.bytes).sum();
        Ok(self.base.db.size_on_disk()? + dated)
    }

    /// How long the files of the last volume are.
    pub(super) fn last_bytes(&self) -> u64 {
        self.last().map_or(0, |(number, _)| bytes_in(&self.path_of(number)))
    }

    /// Takes note of the time in the key of a record that is written.
    pub(super) fn note_ms(&self, ms: u64) {
        self.latest_ms.fetch_max(ms, Ordering::Relaxed);
    }

    /// The latest time in the key of a record.
    pub(super) fn latest_ms(&self) -> u64 {
        self.latest_ms.load(Ordering::Relaxed)
    }

    /// The memory for the caches of the dated volumes that are open, the oldest first.
    #[cfg(test)]
    pub(super) fn caches(&self) -> Vec<u64> {
        self.dated().values().filter_map(|dated| Some(dated.place.opened.get()?.cache_bytes)).collect()
    }

    fn directory(&self) -> PathBuf {
        self.options.path.join("volumes")
    }

    fn path_of(&self, number: Number) -> PathBuf {
        self.directory().join(number.to_string())
    }

    fn dated(&self) -> RwLockReadGuard<'_, BTreeMap<Number, Dated>> {
        self.dated.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OnDisk {
    fn at(path: PathBuf) -> Self {
        Self { path, opened: OnceLock::new(), dropped: Mutex::default() }
    }

    /// The volume, if it is open.
    fn opened(&self) -> Option<Arc<Volume>> {
        let volume = self.opened.get()?;
        volume.used.store(true, Ordering::Relaxed);
        Some(Arc::clone(volume))
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the volume with its share of the memory for caches. It is not open, and the caller is the one who opens it.
    fn open(&self, store: &StoreOptions, share: u64) -> sled::Result<Arc<Volume>> {
        let cache_bytes = store.cache_bytes / share;
        let options = StoreOptions { path: self.path.clone(), cache_bytes, ..store.clone() };
        let volume = Arc::new(Volume::new(open::open_sled(&options)?, &options)?);
        Ok(Arc::clone(self.opened.get_or_init(|| volume)))
    }
}

impl Volume {
    fn new(db: sled::Db, options: &StoreOptions) -> std::io::Result<Self> {
        let disk = Disk::open(&options.path, options.sync_fault.clone())?;
        let (dirty, used) = (AtomicBool::new(false), AtomicBool::new(true));
        Ok(Self { db, disk, dirty, cache_bytes: options.cache_bytes, used })
    }

    /// sled's tree.
    pub(super) fn db(&self) -> &sled::Db {
        &self.db
    }

    fn make_durable(&self) -> sled::Result<()> {
        if !self.dirty.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let synced = self.db.flush().and_then(|_| Ok(self.disk.sync()?));
        if synced.is_err() {
            self.dirty.store(true, Ordering::Release);
        }
        synced
    }
}

/// How many bytes the files of a directory have.
fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(fs::Metadata::is_file)
        .map(|file| file.len())
        .sum()
}
