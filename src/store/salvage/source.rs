//! The damaged store, read only.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::super::frame::unframed;
use super::super::index::{self, IndexOptions, VolumeIndex};
use super::super::new_files::NewFiles;
use super::super::record_file::{self, FileEntry, FileNumber, Locator};
use super::super::recovery::{RecoveryState, VolumeTail};
use super::super::volumes::files::VolumeFiles;
use super::super::volumes::volume::for_each_entry;
use super::{Salvaged, damaged_volumes};
use crate::{
    DamageKind, Damages, DiskError, DiskResult, FileDamage, PhaseProgress, ProgressCallback, RecordChange,
    StoreError, VolumeNumber, directory_of, disk, io_error, open,
};

const AT_ONCE: usize = 1024 * 1024;

/// Memory for a damaged volume's index, in bytes.
const INDEX_CACHE: u64 = 64 * 1024 * 1024;

pub(super) struct SalvageSource {
    store: PathBuf,
    known: RecoveryState,
    damages: Damages,
}

impl SalvageSource {
    pub(super) fn of(store: &Path) -> Result<Self, StoreError> {
        let damages = Damages::default();
        let found = open::manifest(store, &damages)?;
        // An earlier start has rebuilt the list of files.
        let was_unlisted = |damage: &FileDamage| damage.what == DamageKind::Unlisted;
        Damages::kept_in(store).all().into_iter().filter(was_unlisted).for_each(|found| damages.note(found));
        let known = RecoveryState::of(store, found).map_err(|source| io_error(store, source))?;
        if known.manifest.has_journal && !known.looked.is_there {
            damages.note_of(None, "journal", DamageKind::Missing);
        }
        Ok(Self { store: store.to_owned(), known, damages })
    }

    /// Copies every sound record into the files of a new store: of the record files, then of the journal.
    pub(super) fn copy(&self, into: &Path, tell: ProgressCallback<'_>) -> Result<Salvaged, StoreError> {
        let io = |source| io_error(into, source);
        let mut new = NewFiles::of(into);
        let (mut tails, mut named) = (BTreeMap::new(), Vec::new());
        let indexes = into.join("indexes");
        let mut read = 0;
        let volumes = &self.known.manifest.volumes;
        let of = volumes.iter().flat_map(|volume| &volume.files).map(|file| file.bytes).sum();
        for volume in volumes {
            let from = VolumeFiles::open_to_read(&self.store, volume, &self.damages)
                .map_err(|source| io_error(&directory_of(&self.store, volume.number), source))?;
            let mut to =
                Copied { to: new.of_volume(volume.number).map_err(io)?, gathered: Vec::new(), bytes: 0 };
            let mut walked = Walked::default();
            let copied = for_each_entry(&from, &self.damages, |FileEntry { locator, key, value }| {
                read += u64::from(locator.length);
                tell(PhaseProgress { what: "reading the records", read, of: Some(of) });
                walked.note(locator);
                to.put(key, value)
            });
            copied.map_err(io)?;
            if damaged_volumes(&self.damages()).contains(&volume.number)
                && let Some(index) = self.index(volume.number, &directory_of(&indexes, volume.number))?
            {
                let found = self.take_what_is_indexed(&index, (&from, &walked), &mut to);
                named.extend(found.map_err(|DiskError(reason)| StoreError::Disk(reason))?);
            }
            to.finish().map_err(io)?;
            let since = self.known.since.get(&volume.number);
            tails.insert(volume.number, VolumeTail::of(&from, &self.known.looked, since).map_err(io)?);
        }
        disk::remove_directory(&indexes).map_err(|source| io_error(&indexes, source))?;
        let mut journal = Vec::new();
        let is_damaged = |file: &Path, _| {
            journal.push(file.file_name().unwrap_or_default().to_string_lossy().into_owned());
        };
        let copied = self.known.replay.read(is_damaged, |mut changes| {
            // The entry is already there, or its volume was dropped.
            changes.retain(|change| tails.get_mut(&change.volume).is_some_and(|tail| !tail.has(change)));
            Ok(new.append(changes)?)
        });
        copied.map_err(|DiskError(reason)| StoreError::Disk(reason))?;
        new.list(&volumes.iter().map(|volume| (volume.number, volume.begins)).collect()).map_err(io)?;
        Ok(Salvaged { damages: self.damages(), journal, named, ..Salvaged::default() })
    }

    /// Takes what the damaged store serves and the walk of its files could not find: the index locates a
    /// sound value behind a damaged head, and knows which records a damaged entry had removed. Returns the
    /// keys that it names in vain.
    fn take_what_is_indexed(
        &self,
        index: &VolumeIndex,
        (from, walked): (&VolumeFiles, &Walked),
        to: &mut Copied<'_>,
    ) -> DiskResult<Vec<Vec<u8>>> {
        for_each_entry(from, &self.damages, |FileEntry { key, value, .. }| {
            match value.is_some() && index.get(&key)?.is_none() {
                true => Ok::<_, DiskError>(to.put(key, None)?),
                false => Ok(()),
            }
        })?;
        let mut named = Vec::new();
        for met in index.range(Bound::Unbounded) {
            let (key, locator) = met?;
            if walked.has(locator) {
                continue;
            }
            match from.read(locator, &key).ok().filter(|raw| unframed(raw).is_ok()) {
                Some(raw) => to.put(key, Some(raw))?,
                None => named.push(key),
            }
        }
        Ok(named)
    }

    /// The index of a volume, if it was closed, from a copy in `beside`: opening an index changes it.
    fn index(&self, volume: VolumeNumber, beside: &Path) -> Result<Option<VolumeIndex>, StoreError> {
        let from = directory_of(&self.store, volume);
        let copied = index::copy(&from, beside).map_err(|source| io_error(&from, source))?;
        let options = IndexOptions { volume: beside, cache_bytes: INDEX_CACHE };
        // One that cannot be opened names nothing.
        Ok(if copied { VolumeIndex::open_closed(options).unwrap_or_default() } else { None })
    }

    /// The damage. A tail torn by a power cut does not count if the journal has all of it.
    fn damages(&self) -> Vec<FileDamage> {
        let is_torn = |damage: &FileDamage| {
            let DamageKind::Bytes { at, .. } = damage.what else { return false };
            let volume = self.known.manifest.volumes.iter().find(|row| Some(row.number) == damage.volume);
            let rows = volume.into_iter().flat_map(|volume| &volume.files);
            let name = |number| record_file::path_of(Path::new(""), number);
            let mut row = rows.filter(|row| damage.file.ends_with(&*name(row.number).to_string_lossy()));
            self.known.looked.is_whole && row.next().is_some_and(|row| at >= row.bytes)
        };
        self.damages.all().into_iter().filter(|damage| !is_torn(damage)).collect()
    }
}

/// The copy of a volume.
struct Copied<'a> {
    to: &'a VolumeFiles,
    gathered: Vec<RecordChange>,
    bytes: usize,
}

impl Copied<'_> {
    fn put(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) -> io::Result<()> {
        self.bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        self.gathered.push(RecordChange { volume: self.to.volume, key, value });
        if self.bytes < AT_ONCE { Ok(()) } else { self.finish() }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.bytes = 0;
        self.to.append(&std::mem::take(&mut self.gathered)).map(|_| ())
    }
}

/// The stretches of whole entries that a walk has found: where each begins, and where it ends.
#[derive(Default)]
struct Walked(BTreeMap<(FileNumber, u64), u64>);

impl Walked {
    fn note(&mut self, Locator { file, at, length }: Locator) {
        let end = at + u64::from(length);
        match self.0.last_entry() {
            Some(mut last) if last.key().0 == file && *last.get() == at => *last.get_mut() = end,
            _ => drop(self.0.insert((file, at), end)),
        }
    }

    fn has(&self, Locator { file, at, .. }: Locator) -> bool {
        let before = self.0.range(..=(file, at)).next_back();
        before.is_some_and(|((of, _), end)| *of == file && at < *end)
    }
}
