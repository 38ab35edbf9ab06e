//! Restores a backup into a store, built beside its place until complete.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::Utc;

use super::super::check::CheckReport;
use super::super::engine::StoreBackend as _;
use super::super::new_files::NewFiles;
use super::super::open::OpenedFiles;
use super::super::registry::opt_outs::SuppressionDoubt;
use super::super::registry::suppressions;
use super::super::sealing::key_file::KeyFile;
use super::super::staging::{StagingDirectory, StagingError};
use super::block::BlockKind;
use super::fault::BackupFault;
use super::scanner::{BackupBlock, BackupSummary, Scanner};
use crate::{
    BASE, Commit, MasterKey, StoreError, StoreOptions, Tree, VolumeNumber, VolumeStart, changes, io_error,
    open,
};

/// A store being restored. Dropped before [`finish`](Self::finish), it leaves nothing behind.
pub struct Restore {
    building: Building,
    scanner: Scanner,
}

struct Building {
    place: StagingDirectory,
    files: NewFiles,
    begins: BTreeMap<VolumeNumber, VolumeStart>,
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
        let (opened, place) = self.building.open()?;
        Ok((summary, place.finish_with(opened)?))
    }

    /// Like [`finish`](Self::finish), for a store to be used. If it has suppression lists, or there is a key
    /// for opt-outs, entries made after the backup are missing: the store then records that no partner is
    /// asked about anyone until an operator confirms the lists ([`SuppressionDoubt`]). Returns that doubt.
    pub fn finish_to_use(
        self,
        has_opt_out_key: bool,
    ) -> Result<(BackupSummary, CheckReport, Option<SuppressionDoubt>), RestoreError> {
        let summary = self.scanner.finish()?;
        let (mut opened, place) = self.building.open()?;
        let (key, list) = suppressions::restored(Utc::now().timestamp_millis(), summary.begun_at);
        let mut lists = opened.records.keys(Tree::Suppressions, &[]);
        let has_lists = lists.next().transpose().map_err(StoreError::from)?.is_some();
        drop(lists);
        let is_in_doubt = has_opt_out_key || has_lists;
        if is_in_doubt {
            opened.committer.execute_all(&[Commit::new().put(Tree::Suppressions, key, list)])?;
        }
        let report = place.finish_with(opened)?;
        let doubt = is_in_doubt.then(|| SuppressionDoubt::of_restore(summary.begun_at));
        Ok((summary, report, doubt))
    }
}

impl Building {
    fn take(&mut self, block: &BackupBlock) -> Result<(), RestoreError> {
        let text = block.text.as_deref().unwrap_or_default();
        match block.kind {
            BlockKind::Records(_) | BlockKind::Changes => {
                let changes = changes::read(text).ok_or_else(|| block.malformed())?;
                self.files.append(changes).map_err(|source| io_error(self.place.path(), source))?;
            }
            BlockKind::Volumes => {
                self.begins = serde_json::from_slice(text).map_err(|_| block.malformed())?;
            }
            BlockKind::Keys => self.keys = Some(text.to_vec()),
            BlockKind::Heading | BlockKind::Broken(_) | BlockKind::Damages | BlockKind::End => {}
        }
        Ok(())
    }

    fn open(mut self) -> Result<(OpenedFiles, StagingDirectory), RestoreError> {
        let path = self.place.path().to_owned();
        self.begins.entry(BASE).or_default();
        self.files.list(&self.begins).map_err(|source| io_error(&path, source))?;
        if let Some(keys) = &self.keys {
            KeyFile::of(&path).restore(keys).map_err(StoreError::Sealing)?;
        }
        Ok((open::open_with(&StoreOptions::new(&path), Some(self.master))?, self.place))
    }
}
