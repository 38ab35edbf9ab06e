//! The damaged store, read only.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::super::index::{self, IndexOptions, VolumeIndex};
use super::super::new_files::NewFiles;
use super::super::record_file::{self, FileEntry};
use super::super::recovery::{RecoveryState, VolumeTail};
use super::super::volumes::files::VolumeFiles;
use super::super::volumes::volume::for_each_entry;
use super::Salvaged;
use crate::{
    DamageKind, Damages, DiskError, FileDamage, PhaseProgress, ProgressCallback, RecordChange, StoreError,
    VolumeNumber, directory_of, io_error, open,
};

const AT_ONCE: u32 = 1024 * 1024;

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

    /// Copies every intact entry into the files of a new store, then those that only the journal has.
    pub(super) fn copy(&self, into: &Path, tell: ProgressCallback<'_>) -> Result<Salvaged, StoreError> {
        let io = |source| io_error(into, source);
        let mut new = NewFiles::of(into);
        let mut tails = BTreeMap::new();
        let mut read = 0;
        let volumes = &self.known.manifest.volumes;
        let of = volumes.iter().flat_map(|volume| &volume.files).map(|file| file.bytes).sum();
        for volume in volumes {
            let from = VolumeFiles::open_to_read(&self.store, volume, &self.damages)
                .map_err(|source| io_error(&directory_of(&self.store, volume.number), source))?;
            let to = new.of_volume(volume.number).map_err(io)?;
            let (mut gathered, mut bytes) = (Vec::new(), 0);
            let copied = for_each_entry(&from, &self.damages, |FileEntry { locator, key, value }| {
                read += u64::from(locator.length);
                tell(PhaseProgress { what: "reading the records", read, of: Some(of) });
                gathered.push(RecordChange { volume: volume.number, key, value });
                bytes += locator.length;
                if bytes >= AT_ONCE {
                    to.append(&std::mem::take(&mut gathered))?;
                    bytes = 0;
                }
                Ok::<_, io::Error>(())
            });
            copied.and_then(|()| to.append(&gathered)).map_err(io)?;
            let since = self.known.since.get(&volume.number);
            tails.insert(volume.number, VolumeTail::of(&from, &self.known.looked, since).map_err(io)?);
        }
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
        Ok(Salvaged { damages: self.damages(), journal, ..Salvaged::default() })
    }

    /// The index of a volume, if it was closed, from a copy in `beside`: opening an index changes it.
    pub(super) fn index(
        &self,
        volume: VolumeNumber,
        beside: &Path,
    ) -> Result<Option<VolumeIndex>, StoreError> {
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
