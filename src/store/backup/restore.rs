//! Restoring: a backup becomes a store, beside its place until it is whole.

use std::collections::{BTreeMap, btree_map::Entry};
use std::io;
use std::path::Path;

use super::super::{
    beside::{Beside, BesideError},
    changes::{self, Change},
    check::{self, CheckReport},
    disk::SyncFault,
    engine::Writer as _,
    error::{StoreError, io_error},
    manifest::{Manifest, VolumeRow},
    open,
    options::StoreOptions,
    sealing::{MasterKey, key_file::KeyFile},
    volume_number::{BASE, Begins, Number, directory_of},
    volumes::files::Files,
};
use super::block::Kind;
use super::scanner::Block;
use super::{BackupFault, Scanner, Summary};

/// A store that is being restored. Dropped before [`finish`](Self::finish) it leaves nothing behind.
pub struct Restore {
    building: Building,
    scanner: Scanner,
}

/// The store beside its place.
struct Building {
    place: Beside,
    /// The files of each volume that there are records of.
    files: BTreeMap<Number, Files>,
    /// When each volume begins.
    begins: BTreeMap<Number, Begins>,
    master: MasterKey,
    keys: Option<Vec<u8>>,
}

/// Why a store was not restored. There is nothing of it then.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// There is no place for it.
    #[error("{0}")]
    Place(#[from] BesideError),
    /// The backup cannot be used.
    #[error("{0}")]
    Backup(#[from] BackupFault),
    /// The store cannot be made.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl Restore {
    /// Begins to restore into a directory that is empty, or not there.
    ///
    /// # Errors
    /// What is in the way.
    pub fn begin(into: &Path, master: MasterKey) -> Result<Self, RestoreError> {
        let place = Beside::begin(into)?;
        let (files, begins) = Default::default();
        let building = Building { place, files, begins, master: master.clone(), keys: None };
        Ok(Self { building, scanner: Scanner::new(Some(master)) })
    }

    /// Takes in more of the backup.
    ///
    /// # Errors
    /// What is wrong with it, or with the disk.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), RestoreError> {
        let Self { building, scanner, .. } = self;
        scanner.push_to(bytes, |block| building.take(&block))
    }

    /// What was read so far.
    pub fn summary(&self) -> &Summary {
        self.scanner.summary()
    }

    /// Opens the store, reads every record of it and moves it to its place. Once this returns, it survives a power cut
    /// there. Records that were broken when the backup was taken still are; the report lists them.
    ///
    /// # Errors
    /// That the backup is not whole, or what is wrong with the disk.
    pub fn finish(mut self) -> Result<(Summary, CheckReport), RestoreError> {
        let summary = self.scanner.finish()?;
        let report = self.building.complete()?;
        self.building.place.finish()?;
        Ok((summary, report))
    }
}

impl Building {
    fn take(&mut self, block: &Block) -> Result<(), RestoreError> {
        let text = block.text.as_deref().unwrap_or_default();
        match block.kind {
            Kind::Records(_) | Kind::Changes => {
                let changes = changes::read(text).ok_or_else(|| block.senseless())?;
                self.append(changes).map_err(|source| io_error(self.place.path(), source))?;
            }
            Kind::Volumes => {
                self.begins = serde_json::from_slice(text).map_err(|_| block.senseless())?;
            }
            Kind::Keys => self.keys = Some(text.to_vec()),
            Kind::Heading | Kind::Broken(_) | Kind::Damages | Kind::End => {}
        }
        Ok(())
    }

    /// Appends changes to the files of their volumes, which are begun with the first.
    fn append(&mut self, changes: Vec<Change>) -> io::Result<()> {
        let mut by_volume: BTreeMap<Number, Vec<Change>> = BTreeMap::new();
        changes.into_iter().for_each(|change| by_volume.entry(change.volume).or_default().push(change));
        for (number, changes) in by_volume {
            if let Entry::Vacant(place) = self.files.entry(number) {
                place.insert(Files::create(directory_of(self.place.path(), number), number)?);
            }
            self.files[&number].append(&changes)?;
        }
        Ok(())
    }

    /// Syncs what was written, and opens it as any store is opened.
    fn complete(&mut self) -> Result<CheckReport, RestoreError> {
        let path = self.place.path().to_owned();
        self.list().map_err(|source| io_error(&path, source))?;
        if let Some(keys) = &self.keys {
            KeyFile::of(&path).restore(keys).map_err(StoreError::Sealing)?;
        }
        let mut opened = open::open_with(&StoreOptions::new(&path), Some(self.master.clone()))?;
        let report = check::check(&opened.records, &mut |_| {}).map_err(StoreError::Read)?;
        opened.writer.finish().map_err(StoreError::Disk)?;
        Ok(report)
    }

    /// Makes the files durable, and lists those of the volumes that there were at the end.
    fn list(&mut self) -> io::Result<()> {
        let mut manifest = Manifest::default();
        for (number, files) in std::mem::take(&mut self.files) {
            let listed = self.begins.get(&number).copied();
            let Some(begins) = listed.or((number == BASE).then(Begins::default)) else { continue };
            files.sync()?;
            manifest.volumes.push(VolumeRow { number, begins, files: files.rows() });
        }
        manifest.write(self.place.path(), &SyncFault::default())
    }
}
