//! Recovery: what a kill, a power cut or damage has left becomes a store again, before anything is opened on it.
//!
//! 1. The manifest tells which files there must be. What is missing of them, or shorter, is noted as damage; what was begun and not
//!    yet told of is taken in, what was dropped and is still there is removed.
//! 2. The oldest segment of the journal tells up to where each record file was durable when it began. What lies behind that may be
//!    anything: it is kept as far as it is entry after entry, and cut off from there on.
//! 3. Every group of the journal is appended again, in its order. Now the record files hold all that was ever acknowledged.
//! 4. They are synced, the manifest is written, and the journal is needed no more.
//!
//! A crash in the middle of it leaves what the next recovery begins with. Indexes play no part: those of the files that were
//! touched are made anew when they are opened.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use super::{
    changes::Change,
    damage::{Damage, DamageKind, Damages},
    disk::{self, DiskError},
    index,
    journal::{Journal, Replay, Version},
    manifest::{FileRow, Manifest, VolumeRow},
    open::FORMAT,
    options::StoreOptions,
    record_file::{self, HEADING},
    trees::Tree,
    volumes::{
        BASE, Begins, Number, directory_of, files::Files, time_ms, volume::for_each_entry, volumes_in,
    },
};

/// A store that is whole, as far as it can be.
pub(super) struct Recovered {
    /// Which files there are.
    pub(super) manifest: Manifest,
    /// The segments that are needed no more.
    pub(super) replay: Replay,
    /// What was found damaged.
    pub(super) damages: Damages,
}

/// Makes a store that nobody has open whole. `found` is its manifest; nothing when that is lost.
pub(super) fn recover(
    options: &StoreOptions,
    found: Option<Manifest>,
    damages: Damages,
) -> io::Result<Recovered> {
    let store = &options.path;
    let replay = Replay::of(Journal::directory(store))?;
    let mut manifest = match found {
        Some(manifest) => manifest,
        None => Manifest::of_files(store, |number| begins_of(store, number))?,
    };
    adopt(store, &mut manifest)?;
    raise(&mut manifest, &replay)?;
    let mut recovery = Recovery { store, damages: &damages, opened: BTreeMap::new() };
    for volume in &manifest.volumes {
        recovery.look_at(volume)?;
    }
    let groups = recovery.replay(&replay, &manifest)?;
    if groups > 0 {
        tracing::info!(groups, "took in what the store's journal still held");
    }
    recovery.settle(&mut manifest)?;
    manifest.write(store, FORMAT, &options.sync_fault)?;
    Ok(Recovered { manifest, replay, damages })
}

/// Takes in what was begun and not yet told of, and removes what is told of no more.
fn adopt(store: &Path, manifest: &mut Manifest) -> io::Result<()> {
    let last = manifest.volumes.last().map_or(BASE, |volume| volume.number);
    for number in volumes_in(store)? {
        let is_known = manifest.volumes.iter().any(|volume| volume.number == number);
        if !is_known && number < last {
            disk::remove_directory(&directory_of(store, number))?;
        } else if !is_known {
            manifest.volumes.push(VolumeRow { number, begins: begins_of(store, number), files: Vec::new() });
        }
    }
    if manifest.volumes.first().is_none_or(|volume| volume.number != BASE) {
        manifest.volumes.insert(0, VolumeRow { number: BASE, begins: Begins::default(), files: Vec::new() });
    }
    for volume in &mut manifest.volumes {
        let directory = directory_of(store, volume.number);
        let listed: BTreeSet<u32> = volume.files.iter().map(|file| file.number).collect();
        let (first, last) = (listed.first().copied().unwrap_or(0), listed.last().copied().unwrap_or(0));
        for number in record_files_in(&directory)? {
            if number > last {
                volume.files.push(FileRow { number, bytes: 0 });
            } else if number < first {
                disk::remove_file(&record_file::path_of(&directory, number))?;
            }
        }
    }
    Ok(())
}

/// Lets the manifest tell of each file how much the journal knows to be durable, where that is more.
fn raise(manifest: &mut Manifest, replay: &Replay) -> io::Result<()> {
    for position in replay.positions()? {
        let volume = manifest.volumes.iter_mut().find(|volume| volume.number == position.volume);
        let file =
            volume.and_then(|volume| volume.files.iter_mut().find(|file| file.number == position.file));
        if let Some(file) = file {
            file.bytes = file.bytes.max(position.bytes);
        }
    }
    Ok(())
}

/// Files that are being made whole.
struct Recovery<'a> {
    store: &'a Path,
    damages: &'a Damages,
    /// The volumes that something is done to.
    opened: BTreeMap<Number, Files>,
}

impl Recovery<'_> {
    /// Notes what is missing of a volume, and cuts off what is behind what is known to be durable, from where it is no entries any
    /// more.
    fn look_at(&mut self, volume: &VolumeRow) -> io::Result<()> {
        let directory = directory_of(self.store, volume.number);
        let mut has_tail = volume.files.is_empty();
        for row in &volume.files {
            let path = record_file::path_of(&directory, row.number);
            let file = path.strip_prefix(self.store).unwrap_or(&path).to_string_lossy().into_owned();
            match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.damages.note(Damage {
                        volume: Some(volume.number),
                        file,
                        what: DamageKind::Missing,
                    });
                }
                metadata => match metadata?.len() {
                    bytes if bytes < row.bytes => {
                        let what = DamageKind::CutShort { bytes, wanted: row.bytes };
                        self.damages.note(Damage { volume: Some(volume.number), file, what });
                    }
                    bytes => has_tail |= bytes > row.bytes,
                },
            }
        }
        if has_tail {
            let rows = volume.files.clone();
            let files = self.opened(volume)?;
            for file in files.all() {
                let durable =
                    rows.iter().find(|row| row.number == file.number()).map_or(HEADING, |row| row.bytes);
                if file.len() > durable {
                    file.cut(file.sound_until(durable)?)?;
                }
            }
        }
        Ok(())
    }

    /// Appends every group that the journal holds, and tells how many there are.
    fn replay(&mut self, replay: &Replay, manifest: &Manifest) -> io::Result<usize> {
        let rows: BTreeMap<Number, &VolumeRow> =
            manifest.volumes.iter().map(|volume| (volume.number, volume)).collect();
        let append = |changes: Vec<Change>| {
            let mut by_volume: BTreeMap<Number, Vec<Change>> = BTreeMap::new();
            changes.into_iter().for_each(|change| by_volume.entry(change.volume).or_default().push(change));
            for (number, changes) in by_volume {
                // One that is not there was dropped.
                if let Some(row) = rows.get(&number) {
                    self.opened(row)?.append(&changes)?;
                }
            }
            Ok(())
        };
        replay.apply(Version::Two, append).map_err(|DiskError(reason)| io::Error::other(reason))
    }

    fn opened(&mut self, volume: &VolumeRow) -> io::Result<&mut Files> {
        if !self.opened.contains_key(&volume.number) {
            let directory = directory_of(self.store, volume.number);
            let files = Files::open(directory, volume.number, &volume.files, self.damages)?;
            index::forget(&directory_of(self.store, volume.number))?;
            self.opened.insert(volume.number, files);
        }
        Ok(self.opened.get_mut(&volume.number).expect("it was just put there"))
    }

    /// Makes all of it durable, and has the manifest tell how long the files are.
    fn settle(self, manifest: &mut Manifest) -> io::Result<()> {
        for volume in &mut manifest.volumes {
            if let Some(files) = self.opened.get(&volume.number) {
                files.sync()?;
                volume.files = files.rows();
            }
        }
        Ok(())
    }
}

/// When a volume begins, as far as what lies in it tells.
fn begins_of(store: &Path, number: Number) -> Begins {
    let directory = directory_of(store, number);
    let mut first_ms = None;
    let rows: Vec<FileRow> = record_files_in(&directory)
        .unwrap_or_default()
        .into_iter()
        .map(|number| FileRow { number, bytes: 0 })
        .collect();
    // What is damaged is told when the volume is opened.
    let unheard = Damages::default();
    let Ok(files) = Files::open(directory, number, &rows, &unheard) else { return Begins::default() };
    let taken = for_each_entry(&files, &unheard, |entry| {
        let at_ms = entry.key.split_first().and_then(|(prefix, key)| time_ms(Tree::of_prefix(*prefix)?, key));
        first_ms = [first_ms, at_ms].into_iter().flatten().min();
        Ok::<_, io::Error>(())
    });
    drop(taken);
    let ms = if number <= BASE + 1 { 0 } else { first_ms.unwrap_or_default() };
    Begins { span_ms: ms, use_ms: first_ms.unwrap_or_default() }
}

fn record_files_in(directory: &Path) -> io::Result<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        entries => {
            for entry in entries? {
                numbers.extend(entry?.file_name().to_str().and_then(record_file::number_in));
            }
        }
    }
    Ok(numbers)
}
