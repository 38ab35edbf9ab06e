//! Restoring: a backup becomes a store, beside its place until it is whole.

use std::error::Error;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::super::{
    changes,
    check::{self, CheckReport},
    error::StoreError,
    open::{self, io_error},
    options::StoreOptions,
    sealing::{MasterKey, key_file::KeyFile},
    volumes::Volumes,
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
    /// Nothing once all is written.
    volumes: Option<Volumes>,
    master: MasterKey,
    keys: Option<Vec<u8>>,
}

/// Why a store was not restored. There is nothing of it then.
#[derive(Debug)]
pub enum RestoreError {
    /// There is something in its place already.
    NotEmpty {
        /// The place.
        path: PathBuf,
        /// Whether a daemon runs there, or has left its run file.
        daemon: bool,
    },
    /// A restore that was killed has left its directory.
    LeftOver {
        /// The directory.
        path: PathBuf,
    },
    /// The backup cannot be used.
    Backup(BackupFault),
    /// The store cannot be made.
    Store(StoreError),
}

impl Restore {
    /// Begins to restore into a directory that is empty, or not there.
    ///
    /// # Errors
    /// What is in the way.
    pub fn begin(into: &Path, master: MasterKey) -> Result<Self, RestoreError> {
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
        let mut building = Building { path, volumes: None, master: master.clone(), keys: None };
        let options = building.options();
        let base = open::open_base(&options).map_err(disk)?;
        let volumes = Volumes::over(base, &options).map_err(|source| io_error(&building.path, source))?;
        building.volumes = Some(volumes);
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
    /// there. Records that were broken when the backup was taken still are; they are told.
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
    fn options(&self) -> StoreOptions {
        StoreOptions::new(&self.path)
    }

    fn take(&mut self, block: &Block) -> Result<(), RestoreError> {
        let text = block.text.as_deref().unwrap_or_default();
        match block.kind {
            Kind::Records(_) | Kind::Changes => {
                let changes = match block.of_version {
                    1 => changes::read_of_base(text),
                    _ => changes::read(text),
                };
                let changes = changes.ok_or_else(|| block.senseless())?;
                if let Some(volumes) = &self.volumes {
                    volumes.apply(changes).map_err(disk)?;
                }
            }
            Kind::Keys => self.keys = Some(text.to_vec()),
            Kind::Heading | Kind::End => {}
        }
        Ok(())
    }

    /// Syncs what was written, and opens it as any store is opened.
    fn complete(&mut self) -> Result<CheckReport, RestoreError> {
        if let Some(volumes) = self.volumes.take() {
            volumes.make_durable().map_err(disk)?;
        }
        if let Some(keys) = &self.keys {
            let restored = KeyFile::of(&self.path).restore(keys);
            restored.map_err(StoreError::Sealing)?;
        }
        let mut opened = open::open_with(&self.options(), Some(self.master.clone()))?;
        let report = check::check(&opened.records).map_err(StoreError::Read)?;
        opened.writer.finish().map_err(StoreError::Disk)?;
        Ok(report)
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        self.volumes.take();
        // Once it was moved there is none any more.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

fn disk(error: sled::Error) -> StoreError {
    StoreError::Disk(error.to_string())
}

impl From<BackupFault> for RestoreError {
    fn from(fault: BackupFault) -> Self {
        Self::Backup(fault)
    }
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEmpty { path, daemon } => {
                let path = path.display();
                let runs = if *daemon { ", and a daemon runs there or was killed" } else { "" };
                write!(f, "`{path}` is not empty{runs}: a backup is restored into an empty directory only")
            }
            Self::LeftOver { path } => {
                let path = path.display();
                write!(f, "`{path}` is there: if no other restore is running, remove it and try again")
            }
            Self::Backup(fault) => fault.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl Error for RestoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Backup(fault) => Some(fault),
            Self::Store(error) => Some(error),
            Self::NotEmpty { .. } | Self::LeftOver { .. } => None,
        }
    }
}
