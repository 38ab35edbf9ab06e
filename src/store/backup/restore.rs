//! Restoring: a backup becomes a store, beside its place until it is whole.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::beside::{Beside, BesideError, NewFiles};
use super::super::check::CheckReport;
use super::super::error::{StoreError, io_error};
use super::super::options::StoreOptions;
use super::super::sealing::MasterKey;
use super::super::sealing::key_file::KeyFile;
use super::super::volume_number::{BASE, Begins, Number};
use super::super::{changes, open};
use super::block::Kind;
use super::fault::BackupFault;
use super::scanner::{Block, Scanner, Summary};

/// A store that is being restored. Dropped before [`finish`](Self::finish) it leaves nothing behind.
pub struct Restore {
    building: Building,
    scanner: Scanner,
}

/// The store beside its place.
struct Building {
    place: Beside,
    files: NewFiles,
    /// When each volume begins.
    begins: BTreeMap<Number, Begins>,
    master: MasterKey,
    keys: Option<Vec<u8>>,
}

/// Why a store was not restored. There is nothing of it then.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum RestoreError {
    /// There is no place for it.
    Place(#[from] BesideError),
    /// The backup cannot be used.
    Backup(#[from] BackupFault),
    /// The store cannot be made.
    Store(#[from] StoreError),
}

impl Restore {
    /// Begins to restore into a directory that is empty, or not there.
    ///
    /// # Errors
    /// What is in the way.
    pub fn begin(into: &Path, master: MasterKey) -> Result<Self, RestoreError> {
        let place = Beside::begin(into)?;
        let (files, begins) = (NewFiles::of(place.path()), BTreeMap::new());
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
    pub fn finish(self) -> Result<(Summary, CheckReport), RestoreError> {
        let summary = self.scanner.finish()?;
        Ok((summary, self.building.complete()?))
    }
}

impl Building {
    fn take(&mut self, block: &Block) -> Result<(), RestoreError> {
        let text = block.text.as_deref().unwrap_or_default();
        match block.kind {
            Kind::Records(_) | Kind::Changes => {
                let changes = changes::read(text).ok_or_else(|| block.senseless())?;
                self.files.append(changes).map_err(|source| io_error(self.place.path(), source))?;
            }
            Kind::Volumes => {
                self.begins = serde_json::from_slice(text).map_err(|_| block.senseless())?;
            }
            Kind::Keys => self.keys = Some(text.to_vec()),
            Kind::Heading | Kind::Broken(_) | Kind::Damages | Kind::End => {}
        }
        Ok(())
    }

    /// Syncs what was written of the volumes that there were at the end, opens it as any store is opened, and moves it to its place.
    fn complete(mut self) -> Result<CheckReport, RestoreError> {
        let path = self.place.path().to_owned();
        self.begins.entry(BASE).or_default();
        self.files.list(&self.begins).map_err(|source| io_error(&path, source))?;
        if let Some(keys) = &self.keys {
            KeyFile::of(&path).restore(keys).map_err(StoreError::Sealing)?;
        }
        let opened = open::open_with(&StoreOptions::new(&path), Some(self.master))?;
        Ok(self.place.finish_with(opened)?)
    }
}
