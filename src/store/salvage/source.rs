//! The damaged store, which is only read.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use super::super::{
    changes::Change,
    damage::{Damage, DamageKind},
    damages::Damages,
    disk::{DiskError, SyncFault},
    error::{StoreError, io_error},
    journal::{Journal, Looked, Replay},
    manifest::{Manifest, VolumeRow},
    open,
    recovery::{self, Tail},
    volume_number::{Number, directory_of},
    volumes::{files::Files, volume::for_each_entry},
};
use super::Progress;

/// How many bytes of records are written at once.
const AT_ONCE: usize = 1024 * 1024;

/// What there is to be read.
pub(super) struct Source {
    store: PathBuf,
    manifest: Manifest,
    /// As the manifest had it, before the journal raised it.
    since: BTreeMap<Number, Vec<super::super::manifest::FileRow>>,
    replay: Replay,
    looked: Looked,
    damages: Damages,
}

/// What was found on the way.
pub(super) struct Copied {
    /// What is damaged of the files.
    pub(super) damages: Vec<Damage>,
    /// The damaged files of the journal.
    pub(super) journal: Vec<String>,
}

impl Copied {
    /// The volumes that records may be missing of.
    pub(super) fn damaged_volumes(&self) -> BTreeSet<Number> {
        self.damages
            .iter()
            .filter(|damage| damage.costs_records())
            .filter_map(|damage| damage.volume)
            .collect()
    }
}

impl Source {
    /// Looks at what there is.
    pub(super) fn of(store: &Path) -> Result<Self, StoreError> {
        let io = |source| io_error(store, source);
        let damages = Damages::default();
        let found = open::manifest(store, &damages)?;
        let replay = Replay::of(Journal::directory(store)).map_err(io)?;
        let looked = replay.look().map_err(io)?;
        let mut manifest = recovery::listed(store, found, &looked).map_err(io)?;
        let since = recovery::rows(&manifest);
        recovery::raise(&mut manifest, &looked);
        Ok(Self { store: store.to_owned(), manifest, since, replay, looked, damages })
    }

    /// Copies every sound entry into the files of a new store, and behind them what the journal holds beside them.
    pub(super) fn copy(&self, into: &Path, tell: &mut dyn FnMut(Progress)) -> Result<Copied, StoreError> {
        let io = |source| io_error(into, source);
        let mut files = BTreeMap::new();
        let mut tails = BTreeMap::new();
        let mut read = 0;
        let of = self.manifest.volumes.iter().flat_map(|volume| &volume.files).map(|file| file.bytes).sum();
        for volume in &self.manifest.volumes {
            let from = self.files(volume)?;
            let to = Files::create(directory_of(into, volume.number), volume.number).map_err(io)?;
            let mut gathered = Gathered::default();
            let copied = for_each_entry(&from, &self.damages, |entry| {
                read += u64::from(entry.locator.length);
                tell(Progress { what: "reading the records", read, of: Some(of) });
                gathered.add(&to, Change { volume: volume.number, key: entry.key, value: entry.value })
            });
            copied.and_then(|()| gathered.write(&to)).map_err(io)?;
            let known = self.since.get(&volume.number);
            tails.insert(volume.number, Tail::of(&from, &self.looked, known).map_err(io)?);
            files.insert(volume.number, to);
        }
        let journal =
            self.copy_journal(&files, tails).map_err(|DiskError(reason)| StoreError::Disk(reason))?;
        self.list(into, &files).map_err(io)?;
        Ok(Copied { damages: self.damages(), journal })
    }

    fn files(&self, volume: &VolumeRow) -> Result<Files, StoreError> {
        let directory = directory_of(&self.store, volume.number);
        let opened = Files::open_to_read(directory.clone(), volume.number, &volume.files, &self.damages);
        opened.map_err(|source| io_error(&directory, source))
    }

    fn copy_journal(
        &self,
        files: &BTreeMap<Number, Files>,
        mut tails: BTreeMap<Number, Tail>,
    ) -> Result<Vec<String>, DiskError> {
        self.replay.read(|changes| {
            let mut by_volume: BTreeMap<Number, Vec<Change>> = BTreeMap::new();
            for change in changes {
                // What is not wanted is there, or its volume was dropped.
                let is_wanted = tails.get_mut(&change.volume).is_some_and(|tail| !tail.has(&change));
                if is_wanted {
                    by_volume.entry(change.volume).or_default().push(change);
                }
            }
            for (number, changes) in by_volume {
                files[&number].append(&changes)?;
            }
            Ok(())
        })
    }

    fn list(&self, into: &Path, files: &BTreeMap<Number, Files>) -> io::Result<()> {
        let mut manifest = Manifest::default();
        for volume in &self.manifest.volumes {
            let files = &files[&volume.number];
            files.sync()?;
            manifest.volumes.push(VolumeRow {
                number: volume.number,
                begins: volume.begins,
                files: files.rows(),
            });
        }
        manifest.write(into, &SyncFault::default())
    }

    /// What is damaged. What a power cut has left behind what was durable is none, where the journal has all of it.
    fn damages(&self) -> Vec<Damage> {
        let is_torn = |damage: &Damage| {
            let DamageKind::Bytes { at, .. } = damage.what else { return false };
            let volume = self.manifest.volumes.iter().find(|volume| Some(volume.number) == damage.volume);
            let rows = volume.into_iter().flat_map(|volume| &volume.files);
            let name = |number| super::super::record_file::path_of(Path::new(""), number);
            let mut row = rows.filter(|row| damage.file.ends_with(&*name(row.number).to_string_lossy()));
            self.looked.is_whole && row.next().is_some_and(|row| at >= row.bytes)
        };
        self.damages.all().into_iter().filter(|damage| !is_torn(damage)).collect()
    }
}

/// Changes that are written together.
#[derive(Default)]
struct Gathered {
    changes: Vec<Change>,
    bytes: usize,
}

impl Gathered {
    fn add(&mut self, to: &Files, change: Change) -> io::Result<()> {
        self.bytes += change.key.len() + change.value.as_ref().map_or(0, Vec::len);
        self.changes.push(change);
        if self.bytes < AT_ONCE { Ok(()) } else { self.write(to) }
    }

    fn write(&mut self, to: &Files) -> io::Result<()> {
        to.append(&self.changes)?;
        *self = Self::default();
        Ok(())
    }
}
