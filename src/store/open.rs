//! The steps of opening: lock, manifest, recovery, volumes, keys, last arrival.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use super::arrival_clock::ArrivalClock;
use super::committer::Committer;
use super::engine::StoreBackend;
use super::journal::{self, Journal};
use super::lock::Lock;
use super::manifest::{Manifest, ManifestLookup};
use super::records::StoredRecords;
use super::sealing::Sealing;
use super::sealing::key_file::KeyFile;
use super::stall::Stalls;
use super::volumes::Volumes;
use super::writer::FilesWriter;
use crate::{
    Arrivals, BASE, Commit, DamageKind, Damages, DiskResult, FailureLatch, FeedKey, FileDamage, LAST_ARRIVAL,
    MasterKey, ReadError, StoreError, StoreOptions, TREES, Tree, VolumeSelector, disk, io_error, owner,
    recovery,
};

/// An open store, before any thread runs on it.
pub(super) struct OpenedFiles {
    pub(super) records: Arc<StoredRecords>,
    pub(super) committer: Committer<FilesWriter>,
    pub(super) clock: Arc<ArrivalClock>,
}

/// Opens a store, or creates it, with the master key found for it.
pub(super) fn open(options: &StoreOptions) -> Result<OpenedFiles, StoreError> {
    open_with(options, MasterKey::find(options.master_key_file.as_deref(), &options.path)?)
}

/// Whether a path holds a store, of any format.
pub(super) fn exists(path: &Path) -> bool {
    Manifest::read(path)
        .is_ok_and(|found| !matches!(found, ManifestLookup::Nothing) || is_foreign(path, &found))
        || recovery::has_files(path)
}

/// Whether a directory holds another program's files, such as sled's or an unrelated `manifest`.
fn is_foreign(path: &Path, found: &ManifestLookup) -> bool {
    match found {
        ManifestLookup::Nothing => path.join("db").exists(),
        ManifestLookup::Damaged => {
            path.is_dir() && !recovery::has_files(path) && !KeyFile::of(path).is_there()
        }
        ManifestLookup::Manifest { .. } | ManifestLookup::Other(_) => false,
    }
}

/// The error for a store of another format in this directory, if it holds one. Opens nothing.
pub(super) fn format_fault(path: &Path) -> Option<StoreError> {
    if let Err(source) = disk::want_place(path) {
        return Some(io_error(path, source));
    }
    match Manifest::read(path) {
        Ok(ManifestLookup::Other(found)) => Some(StoreError::Format { path: path.to_owned(), found }),
        Ok(found) if is_foreign(path, &found) => Some(StoreError::Foreign(path.to_owned())),
        _ => None,
    }
}

/// Opens a store, or creates it, with this master key; checks its format and makes a writer for it.
pub(super) fn open_with(options: &StoreOptions, key: Option<MasterKey>) -> Result<OpenedFiles, StoreError> {
    let path = &options.path;
    owner::check(path)?;
    format_fault(path).map_or(Ok(()), Err)?;
    if key.is_none() && !exists(path) {
        // Fails before anything is made that a restore would find in the way.
        MasterKey::place_for_new(path)?;
    }
    disk::make_directory(path).map_err(|source| io_error(path, source))?;
    let lock = Lock::take(path, options.lock_wait)?;
    let damages = Damages::kept_in(path);
    let found = manifest(path, &damages)?;
    let recovered = recovery::recover(options, found, &damages);
    let (manifest, replay) = recovered.map_err(|source| io_error(path, source))?;
    for name in journal::set_aside(path) {
        damages.note_of(None, format!("damaged/{name}"), DamageKind::SetAside);
    }
    let volumes = Volumes::open(options, manifest, damages, lock).map_err(ReadError::from)?;
    let is_new = volumes.last().is_none() && volumes.base.index.range(Bound::Unbounded).next().is_none();
    if let Some(master) = &key
        && let Some(file) = KeyFile::of(path).mend(master)?
    {
        volumes.damages.note_of(None, file, DamageKind::Spare);
    }
    let sealing = Sealing::open(Box::new(KeyFile::of(path)), key, path, is_new)?;
    let latch = Arc::new(FailureLatch::default());
    let stalls = Stalls::new(options.stall_after);
    let records = Arc::new(StoredRecords::new(volumes, sealing, Arc::clone(&latch), stalls));
    let last_us = last_arrival_us(&records)?;
    let clock = Arc::new(ArrivalClock::after(last_us, options.clock.clone(), options.clock_limits));
    let arrivals = Arrivals::after(last_us, Arc::clone(&clock));
    note_latest(&records).map_err(ReadError::from)?;
    let directory = Journal::directory(path);
    let journal = Journal::begin(replay, options.sync_fault.clone(), &records.volumes().positions())
        .map_err(|source| io_error(&directory, source))?;
    records.volumes().note_journal(true).map_err(|source| io_error(path, source))?;
    let stalls = Arc::clone(records.stalls());
    let writer = FilesWriter::new(Arc::clone(&records), journal, arrivals);
    let mend_interval = options.mend_interval;
    let mut committer = Committer { latch, stalls, mend_interval, tried: None, writer };
    committer.execute_all(&Commit::finish_rewraps(records.sealing().unfinished()))?;
    if records.volumes().last().is_none() {
        committer.writer.begin_volume().map_err(|fault| StoreError::Disk(fault.to_string()))?;
    }
    Ok(OpenedFiles { records, committer, clock })
}

/// The manifest of a store; `None` if it is lost, or the store is new.
pub(super) fn manifest(path: &Path, damages: &Damages) -> Result<Option<Manifest>, StoreError> {
    match Manifest::read(path).map_err(|source| io_error(path, source))? {
        found if is_foreign(path, &found) => Err(StoreError::Foreign(path.to_owned())),
        ManifestLookup::Nothing if !recovery::has_records(path) => Ok(None),
        ManifestLookup::Nothing | ManifestLookup::Damaged => {
            damages.note_of(None, "manifest", DamageKind::Unlisted);
            Ok(None)
        }
        ManifestLookup::Other(found) => Err(StoreError::Format { path: path.to_owned(), found }),
        ManifestLookup::Manifest { manifest, damage } => {
            // Without any records, the first start ended before it wrote the copy.
            if let Some(file) = damage.filter(|_| recovery::has_records(path)) {
                damages.note_of(None, file, DamageKind::Spare);
            }
            Ok(Some(manifest))
        }
    }
}

fn note_latest(records: &StoredRecords) -> DiskResult<()> {
    let volumes = records.volumes();
    let by_time = TREES.iter().filter(|row| row.kept == VolumeSelector::ByTime).map(|row| row.tree);
    for tree in by_time {
        for number in [Some(BASE), volumes.last().map(|(last, _)| last)].into_iter().flatten() {
            let Some(volume) = volumes.usable(number) else { continue };
            if let Some(key) = volume.index.last(&tree.tree_key(&[]))? {
                tree.time_ms(&key[1..]).into_iter().for_each(|ms| volumes.note_ms(ms));
            }
        }
    }
    Ok(())
}

/// The last durable arrival; taken from the feeds when its own record is broken, or may be outdated.
pub(super) fn last_arrival_us(records: &Arc<StoredRecords>) -> Result<u64, StoreError> {
    let is_damaged = |damage: &FileDamage| damage.volume == Some(BASE) && damage.costs_records();
    let may_be_older = records.volumes().damages.all().iter().any(is_damaged);
    let mut last_us = match records.get(Tree::Meta, LAST_ARRIVAL) {
        Ok(None) if !may_be_older => return Ok(0),
        Ok(Some(payload)) => <[u8; 8]>::try_from(payload.as_slice()).map_or(0, u64::from_be_bytes),
        Ok(None) | Err(ReadError::Broken(_)) => 0,
        Err(error) => return Err(error.into()),
    };
    if last_us > 0 && !may_be_older {
        return Ok(last_us);
    }
    for record in Tree::FEEDS.into_iter().flat_map(|feed| records.scan(feed, &[])) {
        let (key, _) = record?;
        last_us = FeedKey::parse(&key).map_or(last_us, |key| last_us.max(key.arrival_us));
    }
    Ok(last_us)
}
