//! Recovery: makes a store whole after a kill, a power cut or damage, before anything opens it.
//!
//! 1. The manifest lists the files that must exist. Missing or shortened ones are noted as damage. Files
//!    begun and not listed yet are adopted; dropped ones are removed.
//! 2. The oldest segment of the journal records how far each record file was durable when it began. Of the
//!    bytes behind that, whole entries are kept and the rest is cut off, unless the journal is damaged.
//! 3. Each missing group of the journal is appended again, in order.
//! 4. They are synced, the manifest is written, and the journal is obsolete.
//!
//! A change that the files already hold is not appended again: lost parts of the journal may have replaced it
//! since. After a crash during recovery, the next recovery can begin. Touched indexes are rebuilt.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fs, io};

use super::changes::by_volume;
use super::frame::hash;
use super::journal::{Journal, JournalReplay, JournalSummary, Position};
use super::manifest::{Manifest, VolumeRow};
use super::record_file::{self, FileRow, HEADING, RecordFile, WalkItem};
use super::volume_number::volumes_in;
use super::volumes::files::{self, VolumeFiles};
use super::volumes::volume::for_each_entry;
use crate::{
    BASE, DamageKind, Damages, DiskError, RecordChange, StoreOptions, Tree, VolumeNumber, VolumeStart,
    directory_of, disk, index,
};

/// Makes a store whole that no process has open. Returns the manifest and the obsolete journal segments.
pub(super) fn recover(
    options: &StoreOptions,
    found: Option<Manifest>,
    damages: &Damages,
) -> io::Result<(Manifest, JournalReplay)> {
    let store = &options.path;
    let RecoveryState { mut manifest, since, replay, looked } = RecoveryState::of(store, found)?;
    remove_dropped(store, &manifest)?;
    let mut recovery =
        Recovery { store, damages, looked, since, opened: BTreeMap::new(), tails: BTreeMap::new() };
    damages.keep_to(&manifest.volumes.iter().map(|volume| volume.number).collect::<Vec<_>>());
    for volume in &manifest.volumes {
        recovery.look_at(volume)?;
    }
    let groups = recovery.replay(&replay, &manifest)?;
    if groups > 0 {
        tracing::info!(groups, "recovered records from the store's journal");
    }
    if manifest.has_journal && !recovery.looked.is_there {
        damages.note_of(None, "journal", DamageKind::Missing);
    }
    for volume in &mut manifest.volumes {
        if let Some(files) = recovery.opened.get(&volume.number) {
            files.sync()?;
            volume.files = files.rows();
        }
    }
    // Until the next is begun.
    manifest.has_journal = false;
    manifest.write(store, &options.sync_fault)?;
    Ok((manifest, replay))
}

/// Whether the base or a volume has record files.
pub(super) fn has_files(store: &Path) -> bool {
    let numbers = [BASE].into_iter().chain(volumes_in(store).unwrap_or_default());
    numbers.into_iter().any(|number| {
        record_file::numbers_in(&directory_of(store, number)).is_ok_and(|files| !files.is_empty())
    })
}

/// Whether any record file holds entries. If none does, the first start ended before it stored anything.
pub(super) fn has_records(store: &Path) -> bool {
    let mut numbers = [BASE].into_iter().chain(volumes_in(store).unwrap_or_default());
    // A directory that cannot be read may hold some.
    numbers
        .any(|number| written_files_in(&directory_of(store, number)).map_or(true, |files| !files.is_empty()))
}

pub(super) struct RecoveryState {
    /// The files that must exist, with the lengths the journal knows to be durable.
    pub(super) manifest: Manifest,
    /// The lengths of the files when the manifest was written.
    pub(super) since: BTreeMap<VolumeNumber, Vec<FileRow>>,
    pub(super) replay: JournalReplay,
    pub(super) looked: JournalSummary,
}

impl RecoveryState {
    /// Inspects a store whose manifest was found or is lost. Changes nothing.
    pub(super) fn of(store: &Path, found: Option<Manifest>) -> io::Result<Self> {
        let replay = JournalReplay::of(Journal::directory(store))?;
        let looked = replay.look()?;
        let mut manifest = listed(store, found, &looked)?;
        let since = manifest.volumes.iter().map(|volume| (volume.number, volume.files.clone())).collect();
        raise(&mut manifest, &looked);
        Ok(Self { manifest, since, replay, looked })
    }
}

/// The files that must exist: those the manifest lists, and those begun but not listed yet. Changes nothing.
fn listed(store: &Path, found: Option<Manifest>, looked: &JournalSummary) -> io::Result<Manifest> {
    let is_lost = found.is_none();
    let mut manifest = match found {
        Some(manifest) => manifest,
        None if has_records(store) => Manifest::of_files(store)?,
        None => Manifest::default(),
    };
    let mut undated: BTreeSet<VolumeNumber> = BTreeSet::new();
    if is_lost {
        undated.extend(manifest.volumes.iter().map(|volume| volume.number));
        undated.extend(list_what_the_journal_knows(&mut manifest, looked));
        // What has volumes had a base, so one without any file is lost.
        if let Some(base) = manifest.volume_mut(BASE).filter(|base| base.files.is_empty()) {
            base.files.push(FileRow { number: 1, bytes: 0 });
        }
    }
    let last = manifest.volumes.last().map_or(BASE, |volume| volume.number);
    for number in volumes_in(store)? {
        if number > last && !written_files_in(&directory_of(store, number))?.is_empty() {
            undated.insert(number);
            manifest.volumes.push(VolumeRow::undated(number, Vec::new()));
        }
    }
    if manifest.volumes.first().is_none_or(|volume| volume.number != BASE) {
        manifest.volumes.insert(0, VolumeRow::undated(BASE, Vec::new()));
    }
    for volume in &mut manifest.volumes {
        let last = volume.files.last().map_or(0, |file| file.number);
        let begun = written_files_in(&directory_of(store, volume.number))?;
        let begun = begun.into_iter().filter(|number| *number > last);
        volume.files.extend(begun.map(|number| FileRow { number, bytes: 0 }));
    }
    date(store, &mut manifest.volumes, &undated);
    Ok(manifest)
}

/// For a lost manifest: lists the volumes and files that only the journal knows. Returns these volumes.
fn list_what_the_journal_knows(manifest: &mut Manifest, looked: &JournalSummary) -> Vec<VolumeNumber> {
    let mut lost = Vec::new();
    for Position { volume: number, file, .. } in looked.positions.iter().flatten() {
        let row = FileRow { number: *file, bytes: 0 };
        match manifest.volume_mut(*number) {
            Some(volume) if volume.files.last().is_none_or(|last| last.number < *file) => {
                volume.files.push(row)
            }
            Some(_) => {}
            None => {
                lost.push(*number);
                manifest.volumes.push(VolumeRow::undated(*number, vec![row]));
            }
        }
    }
    manifest.volumes.sort_by_key(|volume| volume.number);
    lost
}

/// The files of a volume that hold entries; after a crash, files that were only begun may hold anything.
fn written_files_in(directory: &Path) -> io::Result<BTreeSet<u32>> {
    let mut written = BTreeSet::new();
    for number in record_file::numbers_in(directory)? {
        let path = record_file::path_of(directory, number);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
        // A dangling symlink is no file.
        let file = disk::if_there(fs::metadata(&path)).map_err(named)?;
        if file.is_some_and(|file| file.len() > HEADING) {
            written.insert(number);
        }
    }
    Ok(written)
}

/// Removes unlisted files: of volumes dropped or never written to, and emptied files of the base.
fn remove_dropped(store: &Path, manifest: &Manifest) -> io::Result<()> {
    for number in volumes_in(store)? {
        if manifest.volumes.iter().all(|volume| volume.number != number) {
            disk::remove_directory(&directory_of(store, number))?;
        }
    }
    for volume in &manifest.volumes {
        let directory = directory_of(store, volume.number);
        let first = volume.files.first().map_or(0, |file| file.number);
        for number in record_file::numbers_in(&directory)?.into_iter().filter(|number| *number < first) {
            disk::remove_file(&record_file::path_of(&directory, number))?;
        }
    }
    Ok(())
}

/// Raises the file lengths in the manifest to those that the journal knows to be durable.
fn raise(manifest: &mut Manifest, looked: &JournalSummary) {
    for position in looked.positions.iter().flatten() {
        let files = manifest.volume_mut(position.volume).into_iter().flat_map(|volume| &mut volume.files);
        for file in files.filter(|file| file.number == position.file) {
            file.bytes = file.bytes.max(position.bytes);
        }
    }
}

struct Recovery<'a> {
    store: &'a Path,
    damages: &'a Damages,
    looked: JournalSummary,
    since: BTreeMap<VolumeNumber, Vec<FileRow>>,
    /// The volumes that recovery changes.
    opened: BTreeMap<VolumeNumber, VolumeFiles>,
    /// The entries of each of these volumes that may repeat the journal.
    tails: BTreeMap<VolumeNumber, VolumeTail>,
}

/// A volume's entries from where the journal begins, matched against the journal in order.
pub(super) struct VolumeTail {
    entries: Vec<u64>,
    at: usize,
    /// Whether a change of the journal was missing; every later one is missing too.
    ended: bool,
}

impl Recovery<'_> {
    /// Notes the damage of a volume, and cuts off non-entries behind the durable length.
    fn look_at(&mut self, volume: &VolumeRow) -> io::Result<()> {
        let directory = directory_of(self.store, volume.number);
        let mut has_tail = volume.files.is_empty();
        for row in &volume.files {
            let opened = RecordFile::open_to_read(&directory, volume.number, row);
            files::note_faults(volume.number, row, &opened, self.damages);
            match opened {
                Ok(file) => has_tail |= file.len() > row.bytes,
                Err(error) if files::is_refused(&error) => return Err(error),
                Err(_) => {}
            }
        }
        let is_whole = self.looked.is_whole;
        if has_tail {
            for file in self.opened(volume)?.all() {
                let row = volume.files.iter().find(|row| row.number == file.number);
                let durable = row.map_or(HEADING, |row| row.bytes);
                if is_whole && file.len() > durable {
                    file.cut(file.sound_until(durable)?)?;
                }
            }
        }
        Ok(())
    }

    /// Appends every change of the journal that is missing, and counts the journal's groups.
    fn replay(&mut self, replay: &JournalReplay, manifest: &Manifest) -> io::Result<usize> {
        let rows: BTreeMap<VolumeNumber, &VolumeRow> =
            manifest.volumes.iter().map(|volume| (volume.number, volume)).collect();
        let append = |changes: Vec<RecordChange>| {
            for (number, mut changes) in by_volume(changes) {
                // A volume that is not listed was dropped.
                let Some(row) = rows.get(&number) else { continue };
                self.opened(row)?;
                let files = &self.opened[&number];
                let tail = match self.tails.entry(number) {
                    Entry::Occupied(tail) => tail.into_mut(),
                    Entry::Vacant(place) => {
                        place.insert(VolumeTail::of(files, &self.looked, self.since.get(&number))?)
                    }
                };
                changes.retain(|change| !tail.has(change));
                files.append(&changes)?;
            }
            Ok(())
        };
        replay
            .read(|file, at| replay.set_aside(file, at), append)
            .map_err(|DiskError(reason)| io::Error::other(reason))
    }

    fn opened(&mut self, volume: &VolumeRow) -> io::Result<&mut VolumeFiles> {
        Ok(match self.opened.entry(volume.number) {
            Entry::Occupied(files) => files.into_mut(),
            Entry::Vacant(place) => {
                let files = VolumeFiles::open(self.store, volume, self.damages)?;
                index::forget(&directory_of(self.store, volume.number))?;
                place.insert(files)
            }
        })
    }
}

impl VolumeTail {
    /// Reads from where the journal began; if unknown, from the lengths in the manifest.
    pub(super) fn of(
        files: &VolumeFiles,
        looked: &JournalSummary,
        known: Option<&Vec<FileRow>>,
    ) -> io::Result<Self> {
        let positions = looked.positions.as_ref();
        let position = positions.and_then(|all| all.iter().find(|position| position.volume == files.volume));
        let mut entries = Vec::new();
        for file in files.all() {
            let from = match (position, positions) {
                (Some(position), _) if file.number < position.file => continue,
                (Some(position), _) if file.number == position.file => position.bytes,
                // Begun after the journal.
                (Some(_), _) | (None, Some(_)) => HEADING,
                (None, None) => known
                    .and_then(|rows| rows.iter().find(|row| row.number == file.number))
                    .map_or(HEADING, |row| row.bytes),
            };
            for met in file.walk(from) {
                if let WalkItem::Entry(entry) = met? {
                    entries.push(hash((&*entry.key, entry.value.as_deref())));
                }
            }
        }
        Ok(Self { entries, at: 0, ended: false })
    }

    /// Whether the files hold a change, behind the changes matched before it.
    pub(super) fn has(&mut self, RecordChange { key, value, .. }: &RecordChange) -> bool {
        let wanted = hash((&**key, value.as_deref()));
        let ahead = self.entries.get(self.at..).unwrap_or_default();
        match ahead.iter().position(|entry| *entry == wanted).filter(|_| !self.ended) {
            Some(place) => self.at += place + 1,
            None => self.ended = true,
        }
        !self.ended
    }
}

/// Dates the volumes whose beginning is lost: after all records of earlier volumes.
fn date(store: &Path, volumes: &mut [VolumeRow], undated: &BTreeSet<VolumeNumber>) {
    if undated.iter().all(|number| *number == BASE) {
        return;
    }
    // The latest earlier time, if known.
    let mut before_ms = None;
    for volume in volumes {
        let times = times_in(store, volume);
        if volume.number != BASE && undated.contains(&volume.number) {
            let span_ms = before_ms.map_or(0, |ms: u64| ms + 1);
            let first_ms = times.map(|(first, _)| first).filter(|first| *first >= span_ms);
            volume.begins =
                VolumeStart { span_ms, use_ms: first_ms.or(written_ms(store, volume)).unwrap_or(span_ms) };
        }
        let begun_ms = Some(volume.begins.span_ms).filter(|ms| *ms > 0);
        before_ms = [before_ms, begun_ms, times.map(|(_, last)| last)].into_iter().flatten().max();
    }
}

fn times_in(store: &Path, volume: &VolumeRow) -> Option<(u64, u64)> {
    // Damage is noted when the volume is opened.
    let unheard = Damages::default();
    let files = VolumeFiles::open_to_read(store, volume, &unheard).ok()?;
    let mut times: Option<(u64, u64)> = None;
    let walked = for_each_entry(&files, &unheard, |entry| {
        if let Some(ms) = Tree::split(&entry.key).and_then(|(tree, key)| tree.time_ms(key)) {
            times = Some(times.map_or((ms, ms), |(first, last)| (first.min(ms), last.max(ms))));
        }
        Ok::<_, io::Error>(())
    });
    walked.ok().and(times)
}

/// Last modification of a volume's first file, which is not before the volume was begun.
fn written_ms(store: &Path, volume: &VolumeRow) -> Option<u64> {
    let first = record_file::path_of(&directory_of(store, volume.number), volume.files.first()?.number);
    let written = fs::metadata(first).ok()?.modified().ok()?;
    u64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}
