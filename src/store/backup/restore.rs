//! Restores a backup into a store, built beside its place until complete.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::beside::{NewFiles, StagingDirectory, StagingError};
use super::super::check::CheckReport;
use super::super::sealing::key_file::KeyFile;
use super::block::BlockKind;
use super::fault::BackupFault;
use super::scanner::{BackupBlock, BackupSummary, Scanner};
use crate::{BASE, MasterKey, Number, StoreError, StoreOptions, VolumeStart, changes, io_error, open};

/// A store being restored. Dropped before [`finish`](Self::finish), it leaves nothing behind.
pub struct Restore {
    building: Building,
    scanner: Scanner,
}

struct Building {
    place: StagingDirectory,
    files: NewFiles,
    begins: BTreeMap<Number, VolumeStart>,
    master: MasterKey,
    keys: Option<Vec<u8>>,
}

/// Why a store was not restored. Nothing of it is left then.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum RestoreError {
    /// Its place cannot be used.
    Place(#[from] StagingError),
    /// The backup cannot be used.
    Backup(#[from] BackupFault),
    /// The store cannot be created.
    Store(#[from] StoreError),
}

impl Restore {
    /// Begins to restore into a directory that is empty or does not exist.
    pub fn begin(into: &Path, master: MasterKey) -> Result<Self, RestoreError> {
        let place = StagingDirectory::begin(into)?;
        let (files, begins) = (NewFiles::of(place.path()), BTreeMap::new());
        let building = Building { place, files, begins, master: master.clone(), keys: None };
        Ok(Self { building, scanner: Scanner::new(Some(master)) })
    }

    /// Reads more of the backup.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), RestoreError> {
        let Self { building, scanner, .. } = self;
        scanner.push_to(bytes, |block| building.take(&block))
    }

    /// The summary of the part read so far.
    pub fn summary(&self) -> &BackupSummary {
        self.scanner.summary()
    }

    /// Opens the store, reads every record and moves it to its place. Once this returns, it is durable there.
    /// Records that were broken when the backup was taken still are; the report lists them.
    pub fn finish(self) -> Result<(BackupSummary, CheckReport), RestoreError> {
        let summary = self.scanner.finish()?;
        Ok((summary, self.building.complete()?))
    }
}

impl Building {
    fn take(&mut self, block: &BackupBlock) -> Result<(), RestoreError> {
        let text = block.text.as_deref().unwrap_or_default();
        match block.kind {
            BlockKind::Records(_) | BlockKind::Changes => {
                let changes = changes::read(text).ok_or_else(|| block.senseless())?;
                self.files.append(changes).map_err(|source| io_error(self.place.path(), source))?;
            }
            BlockKind::Volumes => {
                self.begins = serde_json::from_slice(text).map_err(|_| block.senseless())?;
            }
            BlockKind::Keys => self.keys = Some(text.to_vec()),
            BlockKind::Heading | BlockKind::Broken(_) | BlockKind::Damages | BlockKind::End => {}
        }
        Ok(())
    }

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
