//! Restoring: a backup becomes a store, beside its place until it is whole.

use std::collections::{BTreeMap, btree_map::Entry};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::super::{
    changes::{self, Change},
    check::{self, CheckReport},
    disk::{self, SyncFault},
    engine::Writer as _,
    error::{StoreError, io_error},
    manifest::{Manifest, VolumeRow},
    open,
    options::StoreOptions,
    owner,
    sealing::{MasterKey, key_file::KeyFile},
    volume_number::{BASE, Begins, Number, directory_of},
    volumes::files::Files,
};
use super::block::Kind;
use super::scanner::Block;
use super::{BackupFault, Scanner, Summary};

/// A store that is being restored. Dropped before [`finish`](Self::finish) it leaves nothing behind.
pub struct Restore {
    into: PathBuf,
    building: Building,
    scanner: Scanner,
}

/// The store beside its place; removed unless it was moved there.
struct Building {
    path: PathBuf,
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
    /// There is something in its place already.
    #[error(
        "`{path}` is not empty{}: a backup is restored into an empty directory only",
        if *.daemon { ", and a daemon runs there or was killed" } else { "" }
    )]
    NotEmpty {
        /// The place.
        path: PathBuf,
        /// Whether a daemon runs there, or has left its run file.
        daemon: bool,
    },
    /// A restore that was killed has left its directory.
    #[error("`{path}` is there: if no other restore is running, remove it and try again")]
    LeftOver {
        /// The directory.
        path: PathBuf,
    },
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
        owner::check(into)?;
        disk::want_directory(into).map_err(|source| io_error(into, source))?;
        if let Ok(mut entries) = fs::read_dir(into)
            && entries.next().is_some()
        {
            let daemon = into.join("daemon.json").exists();
            return Err(RestoreError::NotEmpty { path: into.to_owned(), daemon });
        }
        let mut name = into.file_name().unwrap_or("offerd".as_ref()).to_owned();
        name.push(".part");
        let path = into.with_file_name(name);
        if path.exists() {
            return Err(RestoreError::LeftOver { path });
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|source| RestoreError::Store(io_error(&path, source)))?;
        let (files, begins) = Default::default();
        let building = Building { path, files, begins, master: master.clone(), keys: None };
        Ok(Self { into: into.to_owned(), building, scanner: Scanner::new(Some(master)) })
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
        let moved = fs::rename(&self.building.path, &self.into);
        moved.and_then(|()| sync_parent(&self.into)).map_err(|source| io_error(&self.into, source))?;
        Ok((summary, report))
    }
}

impl Building {
    fn take(&mut self, block: &Block) -> Result<(), RestoreError> {
        let text = block.text.as_deref().unwrap_or_default();
        match block.kind {
            Kind::Records(_) | Kind::Changes => {
                let changes = changes::read(text).ok_or_else(|| block.senseless())?;
                self.append(changes).map_err(|source| io_error(&self.path, source))?;
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
                place.insert(Files::create(directory_of(&self.path, number), number)?);
            }
            self.files[&number].append(&changes)?;
        }
        Ok(())
    }

    /// Syncs what was written, and opens it as any store is opened.
    fn complete(&mut self) -> Result<CheckReport, RestoreError> {
        self.list().map_err(|source| io_error(&self.path, source))?;
        if let Some(keys) = &self.keys {
            KeyFile::of(&self.path).restore(keys).map_err(StoreError::Sealing)?;
        }
        let mut opened = open::open_with(&StoreOptions::new(&self.path), Some(self.master.clone()))?;
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
        manifest.write(&self.path, &SyncFault::default())
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        // Once it was moved there is none any more.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
