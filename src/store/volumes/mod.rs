//! Volumes: the records of a span of time have files of their own, which are dropped as a whole.
//!
//! ```text
//! store/base        the base: access, records looked up without their time, and the data key of each lead
//! store/volumes/1   leads, rate tables and feeds of the first span
//! store/volumes/2   … of the next; the last one grows
//! ```
//! Each holds `….records`, the [record files](super::record_file), which are the source of truth, and
//! `index`, which locates a record in them ([`super::index`]) and is rebuilt when it does not match them.
//!
//! Building an index takes time in proportion to its size, so growing records are partitioned by time. When
//! the last volume is [large or old enough](super::StoreOptions::volume_bytes), the next is begun.
//!
//! A record's volume ([`VolumeSelector`](super::VolumeSelector)) follows from the time in its key, which the
//! store makes, or from its lead, whose volume is stored with its data key, since a client may choose a
//! lead's uuid. The [journal](super::journal) makes commits to several volumes atomic.
//!
//! The base has no time span. When more than half of its files is dead records, the oldest file is compacted
//! and [removed](Volumes::remove_base_file): its live records are written again at the end.

mod compare;
pub(super) mod files;
mod unreadable;
pub(super) mod volume;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::{fs, io};

use parking_lot::{Mutex, RwLock};

use self::files::VolumeFiles;
use self::volume::Volume;
use super::changes::{RecordChange, by_volume};
use super::damage::DamageKind;
use super::damages::Damages;
use super::disk::{self, DiskError, DiskResult};
use super::engine::WriteFault;
use super::index::IndexOptions;
use super::journal::Position;
use super::lock::Lock;
use super::manifest::{Manifest, VolumeRow};
use super::options::StoreOptions;
use super::record_file::{FileRow, Locator, RecordFile};
use super::volume_number::{BASE, VolumeNumber, VolumeStart, directory_name, directory_of};

/// Divisor of the cache memory for the base's share.
pub(super) const BASE_CACHE_SHARE: u64 = 2;

/// Divisor for the share of each of the [`YOUNG`].
const YOUNG_CACHE_SHARE: u64 = 4;

/// Divisor for the share of every older volume, which is read now and then.
const OLD_CACHE_SHARE: u64 = 256;

/// Number of volumes in active use: the last one, and the one before while the leads in it are completed.
const YOUNG: usize = 2;

/// Divisor of the volume size for the size at which a file of the base is full.
pub(super) const BASE_FILE_SHARE: u64 = 16;

pub(super) struct Volumes {
    pub(super) options: StoreOptions,
    /// Records that are looked up without their time.
    pub(super) base: Arc<Volume>,
    dated: RwLock<BTreeMap<VolumeNumber, Arc<DiskVolume>>>,
    manifest: Mutex<Manifest>,
    pub(super) damages: Damages,
    /// The latest time in the key of a record, in ms: the next volume begins after it.
    latest_ms: AtomicU64,
    /// Dropped after all other fields.
    _lock: Lock,
}

pub(super) struct Appended {
    volume: Arc<Volume>,
    pub(super) changes: Vec<RecordChange>,
    locators: Vec<Locator>,
}

impl Appended {
    /// Enters them into the volume's index.
    pub(super) fn find(&self) {
        self.volume.find(&self.changes, &self.locators);
    }
}

/// A volume on disk, opened at most once. Other volumes stay readable while it opens.
struct DiskVolume {
    /// Its row, with its files as they were before it was opened.
    row: VolumeRow,
    directory: PathBuf,
    opened: OnceLock<Arc<Volume>>,
    /// Whether it was dropped. Locked while it is opened or dropped.
    dropped: Mutex<bool>,
}

/// A volume, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeSpan {
    /// Its number, from 1.
    pub number: u32,
    /// Time of its first records, Unix milliseconds.
    pub begun_at_ms: u64,
    /// Size of its files in bytes.
    pub bytes: u64,
}

impl Volumes {
    pub(super) fn open(
        options: &StoreOptions,
        manifest: Manifest,
        damages: Damages,
        lock: Lock,
    ) -> DiskResult<Self> {
        let place = |row: VolumeRow| Arc::new(DiskVolume::at(&options.path, row));
        let rows = manifest.volumes.iter().cloned();
        let mut places: BTreeMap<VolumeNumber, Arc<DiskVolume>> =
            rows.map(|row| (row.number, place(row))).collect();
        let base = places.remove(&BASE).unwrap_or_else(|| place(VolumeRow::undated(BASE, Vec::new())));
        let base = base.open(options, BASE_CACHE_SHARE, &damages)?;
        let (manifest, latest_ms) = (Mutex::new(manifest), AtomicU64::default());
        let dated = RwLock::new(places);
        Ok(Self { options: options.clone(), base, dated, manifest, damages, latest_ms, _lock: lock })
    }

    pub(super) fn store(&self) -> &Path {
        &self.options.path
    }

    /// Begins the next volume. Once this returns, it survives a power cut.
    pub(super) fn add(&self, number: VolumeNumber, begins: VolumeStart) -> DiskResult<()> {
        disk::remove_directory(&directory_of(self.store(), number))?;
        let files = VolumeFiles::create(self.store(), number)?;
        let place = DiskVolume::at(self.store(), VolumeRow { number, begins, files: files.rows() });
        let share = self.options.cache_bytes / YOUNG_CACHE_SHARE;
        let volume = Volume::open(files, place.options(share), &self.damages)?;
        let _ = place.opened.set(Arc::new(volume));
        self.dated.write().insert(number, Arc::new(place));
        let written = self.write_manifest();
        if written.is_err() {
            // Never write to a volume that the manifest does not list.
            self.dated.write().remove(&number);
        }
        Ok(written?)
    }

    /// Drops a volume with all its records. Once this returns, it does not come back.
    pub(super) fn drop_whole(&self, number: VolumeNumber) -> io::Result<()> {
        let dated = self.dated.write().remove(&number);
        let mut dropped = dated.as_ref().map(|place| place.dropped.lock());
        dropped.iter_mut().for_each(|dropped| **dropped = true);
        self.write_manifest()?;
        self.damages.keep_to(&self.numbers());
        disk::remove_directory(&directory_of(self.store(), number))
    }

    /// Records in the manifest whether a journal exists. Once this returns, that survives a power cut.
    pub(super) fn note_journal(&self, is_there: bool) -> io::Result<()> {
        self.manifest.lock().has_journal = is_there;
        self.write_manifest()
    }

    /// Notes files of a volume that were deleted while open as damage, and returns the first; forgets the
    /// damage of those that are back.
    pub(super) fn note_gone(&self, number: VolumeNumber) -> Option<String> {
        let volume = self.standing(number)??;
        let gone = volume.files.gone();
        // It may have been dropped meanwhile.
        self.standing(number)?;
        for file in volume.files.all().iter().map(|file| volume.files.name(file.number)) {
            match gone.contains(&file) {
                true => self.damages.note_of(Some(number), file, DamageKind::Missing),
                false => self.damages.is_back(&file),
            }
        }
        gone.into_iter().next()
    }

    /// Whether the store must acknowledge nothing while files of a volume are gone.
    pub(super) fn is_needed(&self, number: VolumeNumber) -> bool {
        number == BASE || self.last().is_some_and(|(last, _)| last == number)
    }

    /// Writes the manifest again where it is missing or damaged, and names the files.
    pub(super) fn rewrite_manifest(&self) -> io::Result<Vec<&'static str>> {
        let mut manifest = self.manifest.lock();
        let lost = manifest.differing(self.store());
        if !lost.is_empty() {
            manifest.write(self.store(), &self.options.sync_fault)?;
        }
        Ok(lost)
    }

    /// Writes the manifest anew. Once this returns, it lists every file.
    pub(super) fn write_manifest(&self) -> io::Result<()> {
        let mut manifest = self.manifest.lock();
        let base = VolumeRow::undated(BASE, self.base.files.rows());
        manifest.volumes =
            [base].into_iter().chain(self.dated.read().values().map(|place| place.row())).collect();
        manifest.write(self.store(), &self.options.sync_fault)
    }

    pub(super) fn begins(&self) -> BTreeMap<VolumeNumber, VolumeStart> {
        self.dated.read().values().map(|place| (place.row.number, place.row.begins)).collect()
    }

    pub(super) fn positions(&self) -> Vec<Position> {
        let position =
            |number, file: &RecordFile| Position { volume: number, file: file.number, bytes: file.len() };
        let base = position(BASE, &self.base.files.last());
        let of_dated = |place: &Arc<DiskVolume>| match (place.opened.get(), place.row.number) {
            (Some(volume), number) => Some(position(number, &volume.files.last())),
            (None, number) => {
                let last = place.row.files.last()?;
                Some(Position { volume: number, file: last.number, bytes: last.bytes })
            }
        };
        [base].into_iter().chain(self.dated.read().values().filter_map(of_dated)).collect()
    }

    pub(super) fn last(&self) -> Option<(VolumeNumber, VolumeStart)> {
        self.dated.read().last_key_value().map(|(number, place)| (*number, place.row.begins))
    }

    pub(super) fn numbers(&self) -> Vec<VolumeNumber> {
        [BASE].into_iter().chain(self.dated.read().keys().copied()).collect()
    }

    /// The volume whose span has this time, or else the base.
    pub(super) fn at(&self, ms: u64) -> VolumeNumber {
        let dated = self.dated.read();
        let begun = dated.values().rev().find(|place| place.row.begins.span_ms <= ms);
        begun.map_or(BASE, |place| place.row.number)
    }

    pub(super) fn spans(&self) -> Vec<VolumeSpan> {
        let span = |place: &Arc<DiskVolume>| VolumeSpan {
            number: place.row.number,
            begun_at_ms: place.row.begins.use_ms,
            bytes: bytes_in(&place.directory),
        };
        self.dated.read().values().map(span).collect()
    }

    /// A volume, opened if necessary; `None` if it does not exist.
    pub(super) fn volume(&self, number: VolumeNumber) -> DiskResult<Option<Arc<Volume>>> {
        if number == BASE {
            return Ok(Some(Arc::clone(&self.base)));
        }
        let place = self.dated.read().get(&number).cloned();
        place.map_or(Ok(None), |place| self.opened(&place))
    }

    /// A volume if it is open; `Some(None)` if it is closed, `None` if it was dropped.
    pub(super) fn standing(&self, number: VolumeNumber) -> Option<Option<Arc<Volume>>> {
        if number == BASE {
            return Some(Some(Arc::clone(&self.base)));
        }
        self.dated.read().get(&number).map(|place| place.opened())
    }

    /// The record files of a volume with their names. Does not open a closed volume.
    pub(super) fn record_files(&self, number: VolumeNumber) -> Vec<(String, Arc<RecordFile>)> {
        let place = self.dated.read().get(&number).cloned();
        let opened = match &place {
            None if number == BASE => Some(&self.base),
            place => place.as_ref().and_then(|place| place.opened.get()),
        };
        if let Some(volume) = opened {
            let named = |file: Arc<RecordFile>| (volume.files.name(file.number), file);
            return volume.files.all().into_iter().map(named).collect();
        }
        let closed = place.iter().flat_map(|place| place.row.files.iter().map(|row| (&place.directory, row)));
        let open = |(directory, row): (&PathBuf, &FileRow)| {
            // A missing file is noted when the volume is opened, or was dropped with it.
            let file = RecordFile::open(directory, number, row).ok()?;
            Some((files::name(number, row.number), Arc::new(file)))
        };
        closed.filter_map(open).collect()
    }

    fn raw(&self, number: VolumeNumber, tree_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        self.volume(number)?.map_or(Ok(None), |volume| volume.get(tree_key)?)
    }

    /// The records of a volume, with the base as fallback.
    pub(super) fn with_base(&self, number: VolumeNumber) -> impl Fn(&[u8]) -> DiskResult<Option<Vec<u8>>> {
        move |tree_key| match self.raw(number, tree_key)? {
            None if number != BASE => self.raw(BASE, tree_key),
            raw => Ok(raw),
        }
    }

    /// A volume, or `None` if it does not exist or cannot be opened; the latter is noted as damage.
    pub(super) fn usable(&self, number: VolumeNumber) -> Option<Arc<Volume>> {
        self.volume(number).unwrap_or_else(|DiskError(why)| {
            self.damages.note_of(Some(number), directory_name(number), DamageKind::Unusable(why));
            None
        })
    }

    /// Notes the bytes at the place of an unreadable record as damage, in the open volumes.
    pub(super) fn note_unreadable(&self, tree_key: &[u8]) {
        for volume in self.all_open() {
            let Some(Locator { file, at, length }) = volume.damaged_at(tree_key) else { continue };
            let what = DamageKind::Bytes { at, bytes: u64::from(length), between: [None, None] };
            self.damages.note_of(Some(volume.files.volume), volume.files.name(file), what);
        }
    }

    fn opened(&self, place: &DiskVolume) -> DiskResult<Option<Arc<Volume>>> {
        if let Some(volume) = place.opened() {
            return Ok(Some(volume));
        }
        let dropped = place.dropped.lock();
        if *dropped || place.opened.get().is_some() {
            return Ok(place.opened());
        }
        let young_from = self.dated.read().keys().rev().nth(YOUNG - 1).copied();
        let is_young = young_from.is_none_or(|oldest| oldest <= place.row.number);
        let share = if is_young { YOUNG_CACHE_SHARE } else { OLD_CACHE_SHARE };
        place.open(&self.options, share, &self.damages).map(Some)
    }

    /// Closes idle volumes to free memory. They can be reopened without rebuilding the index.
    pub(super) fn close_idle(&self) -> DiskResult<()> {
        let is_idle = |place: &&Arc<DiskVolume>| {
            place.opened.get().is_some_and(|volume| !volume.used.swap(false, Ordering::Relaxed))
        };
        let number = |place: &Arc<DiskVolume>| place.row.number;
        let idle: Vec<VolumeNumber> =
            self.dated.read().values().rev().skip(YOUNG).filter(is_idle).map(number).collect();
        idle.into_iter().try_for_each(|number| self.close_one(number))
    }

    fn close_one(&self, number: VolumeNumber) -> DiskResult<()> {
        let Some(place) = self.dated.read().get(&number).cloned() else { return Ok(()) };
        let Some(volume) = place.opened.get() else { return Ok(()) };
        self.options.sync_fault.strike()?;
        volume.files.sync()?;
        let fresh = Arc::new(DiskVolume::at(self.store(), place.row()));
        let opening = fresh.dropped.lock();
        drop(place);
        let closed = {
            let mut dated = self.dated.write();
            let Some(place) = dated.get_mut(&number) else { return Ok(()) };
            // A reader or writer holds the volume; one about to begin holds its place.
            let is_idle = Arc::strong_count(place) == 1
                && place.opened.get().is_some_and(|volume| Arc::strong_count(volume) == 1)
                && place.row() == fresh.row;
            if !is_idle {
                return Ok(());
            }
            std::mem::replace(place, Arc::clone(&fresh))
        };
        let flushed = closed.opened.get().map_or(Ok(()), |volume| volume.flush_for_close());
        drop(closed);
        drop(opening);
        Ok(flushed?)
    }

    /// Appends changes, each to its volume; after an error, none. Makes nothing durable or
    /// [visible](Appended::find) yet.
    pub(super) fn append(&self, changes: Vec<RecordChange>) -> Result<Vec<Appended>, WriteFault> {
        let mut appended: Vec<Appended> = Vec::new();
        for (number, changes) in by_volume(changes) {
            // A volume that does not exist was dropped.
            let Some(volume) = self.volume(number)? else { continue };
            match volume.files.append(&changes) {
                Ok(locators) => appended.push(Appended { volume, changes, locators }),
                Err(error) => {
                    for Appended { volume, locators, .. } in appended {
                        let end =
                            locators.first().map_or_else(|| volume.files.last().len(), |first| first.at);
                        volume.files.last().cut(end)?;
                    }
                    return Err(error.into());
                }
            }
        }
        Ok(appended)
    }

    /// Once this returns, all applied changes survive a power cut without the journal.
    pub(super) fn make_durable(&self) -> io::Result<()> {
        self.options.sync_fault.strike()?;
        self.damages.save();
        self.all_open().iter().try_for_each(|volume| volume.files.sync())
    }

    /// Moves what the open indexes hold in memory alone to sled, where that is much.
    pub(super) fn settle_indexes(&self) -> DiskResult<()> {
        self.all_open().iter().try_for_each(|volume| match volume.index.settle() {
            // It may have been dropped meanwhile, with its files.
            Err(_) if self.standing(volume.files.volume).is_none() => Ok(()),
            settled => settled,
        })
    }

    pub(super) fn is_base_file_full(&self) -> bool {
        self.base.files.last().len() >= self.base_file_bytes()
    }

    /// Begins the next file of the base. Once this returns, it survives a power cut.
    pub(super) fn begin_base_file(&self) -> io::Result<()> {
        self.base.files.begin()?;
        let written = self.write_manifest();
        if written.is_err() {
            // Never write to a file that the manifest does not list.
            self.base.files.take_out(self.base.files.last().number);
        }
        written
    }

    /// The oldest file of the base, if most of the base is dead records.
    pub(super) fn base_file_to_compact(&self) -> Option<Arc<RecordFile>> {
        let mut files = self.base.files.all();
        let dead = self.base.files.bytes().saturating_sub(self.base.index.live_bytes());
        let is_worth_it = dead > self.base.index.live_bytes().max(2 * self.base_file_bytes());
        // Records missing from the index would be lost with the file.
        let is_worth_it = is_worth_it && !self.base.is_distrusted();
        (files.len() > 1 && is_worth_it).then(|| files.swap_remove(0))
    }

    /// Removes a file of the base without live records. Once this returns, it does not come back.
    pub(super) fn remove_base_file(&self, file: u32) -> io::Result<()> {
        let path = self.base.files.take_out(file);
        self.write_manifest()?;
        let name = self.base.files.name(file);
        self.damages.forget(|known| known.file == name);
        disk::remove_file(&path)
    }

    fn base_file_bytes(&self) -> u64 {
        self.options.volume_bytes / BASE_FILE_SHARE
    }

    pub(super) fn bytes_on_disk(&self) -> u64 {
        let dated: u64 = self.spans().iter().map(|span| span.bytes).sum();
        bytes_in(&directory_of(self.store(), BASE)) + dated
    }

    pub(super) fn last_bytes(&self) -> u64 {
        let last = self.dated.read().last_key_value().and_then(|(_, place)| place.opened());
        last.map_or(0, |volume| volume.files.bytes())
    }

    pub(super) fn note_ms(&self, ms: u64) {
        self.latest_ms.fetch_max(ms, Ordering::Relaxed);
    }

    pub(super) fn latest_ms(&self) -> u64 {
        self.latest_ms.load(Ordering::Relaxed)
    }

    /// Makes everything durable, with the final lengths in the manifest. No write may follow.
    pub(super) fn flush_for_close(&self) -> io::Result<()> {
        self.make_durable()?;
        self.note_journal(false)?;
        self.all_open().iter().try_for_each(|volume| volume.flush_for_close())
    }

    fn all_open(&self) -> Vec<Arc<Volume>> {
        let dated = self.dated.read();
        let opened = dated.values().filter_map(|place| place.opened.get().cloned());
        opened.chain([Arc::clone(&self.base)]).collect()
    }

    #[cfg(test)]
    pub(super) fn open_numbers(&self) -> Vec<VolumeNumber> {
        let dated = self.dated.read();
        dated.iter().filter(|(_, place)| place.opened.get().is_some()).map(|(number, _)| *number).collect()
    }
}

impl DiskVolume {
    fn at(store: &Path, row: VolumeRow) -> Self {
        let directory = directory_of(store, row.number);
        Self { row, directory, opened: OnceLock::new(), dropped: Mutex::default() }
    }

    fn opened(&self) -> Option<Arc<Volume>> {
        let volume = self.opened.get()?;
        volume.used.store(true, Ordering::Relaxed);
        Some(Arc::clone(volume))
    }

    /// Opens a closed volume with its share of the index memory; one caller at a time.
    fn open(&self, store: &StoreOptions, share: u64, damages: &Damages) -> DiskResult<Arc<Volume>> {
        let files = VolumeFiles::open(&store.path, &self.row, damages)?;
        let volume = Volume::open(files, self.options(store.cache_bytes / share), damages)?;
        let number = self.row.number;
        damages.forget(|known| known.volume == Some(number) && matches!(known.what, DamageKind::Unusable(_)));
        Ok(Arc::clone(self.opened.get_or_init(|| Arc::new(volume))))
    }

    fn options(&self, cache_bytes: u64) -> IndexOptions<'_> {
        IndexOptions { volume: &self.directory, cache_bytes }
    }

    fn row(&self) -> VolumeRow {
        let files = self.opened.get().map_or_else(|| self.row.files.clone(), |volume| volume.files.rows());
        VolumeRow { files, ..self.row }
    }
}

fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| Some((entry.metadata().ok()?, entry.path())))
        .map(|(metadata, path)| if metadata.is_dir() { bytes_in(&path) } else { metadata.len() })
        .sum()
}
