//! A store under construction: built beside its final path and moved there when complete. Nothing can be
//! renamed onto a mount point, so there the store is built inside it and its files are moved, the keys last:
//! a store without keys cannot be opened.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::check::{self, CheckReport};
use super::open::OpenedFiles;
use super::sealing::key_file::KEY_FILES;
use crate::{StoreError, disk, io_error, owner};

/// Endings for a restore or an import, for a backup that a salvage reads, and for the restore of that backup.
const ENDINGS: [&str; 3] = [".part", ".backup", ".backup.part"];

/// A directory that the file system itself makes on a volume.
const OF_THE_VOLUME: &str = "lost+found";

/// A directory beside or inside the path of a store. Removed on drop, unless [finished](Self::finish).
#[derive(Debug)]
pub struct StagingDirectory {
    path: PathBuf,
    into: PathBuf,
    within: bool,
}

/// Why a store cannot be made at a path.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// The path is not empty.
    #[error(
        "`{path}` is not empty{}: a store needs an empty directory",
        if *.daemon { ", and has the run file of a daemon: stop that first, if it runs" } else { "" }
    )]
    NotEmpty {
        /// The path.
        path: PathBuf,
        /// Whether a daemon runs there, or has left its run file.
        daemon: bool,
    },
    /// A killed command has left these directories.
    #[error(transparent)]
    LeftOver(#[from] LeftOver),
    /// The directory cannot be made.
    #[error("{0}")]
    Store(#[from] StoreError),
}

/// Directories left by a restore, an import or a salvage that was killed.
#[derive(Debug, thiserror::Error)]
#[error(
    "a restore, an import or a salvage is running, or was killed and left {}: if none is running, `rm -r \
        {}`, and try again",
    shown(.0, "`", ", "), shown(.0, "", " ")
)]
pub struct LeftOver(Vec<PathBuf>);

fn shown(paths: &[PathBuf], mark: &str, between: &str) -> String {
    paths.iter().map(|path| format!("{mark}{}{mark}", path.display())).collect::<Vec<_>>().join(between)
}

impl StagingDirectory {
    /// Makes the directory, for a store at a path that is empty or does not exist.
    pub fn begin(into: &Path) -> Result<Self, StagingError> {
        Self::begin_as(into, ENDINGS[0], &ENDINGS)
    }

    /// Like [`begin`](Self::begin), for the store of a backup beside that of the salvage reading it.
    pub(super) fn begin_of_backup(into: &Path) -> Result<Self, StagingError> {
        Self::begin_as(into, ENDINGS[1], &ENDINGS[1..])
    }

    /// Makes a directory with this ending. Fails if a directory with one of the `free` endings exists.
    fn begin_as(into: &Path, ending: &str, free: &[&str]) -> Result<Self, StagingError> {
        owner::check(into)?;
        disk::want_place(into).map_err(|source| io_error(into, source))?;
        let within = disk::is_mount(into);
        let beside = |ending: &str| {
            let name = name_beside(into, ending);
            if within { into.join(name) } else { into.with_file_name(name) }
        };
        // Leaves files alone: one may be the backup itself.
        let left: Vec<PathBuf> = free.iter().map(|end| beside(end)).filter(|path| path.is_dir()).collect();
        if !left.is_empty() {
            return Err(LeftOver(left).into());
        }
        let path = beside(ending);
        disk::want_directory(&path).map_err(|source| io_error(&path, source))?;
        if !is_empty(into, within).map_err(|source| io_error(into, source))? {
            let daemon = into.join("daemon.json").exists();
            return Err(StagingError::NotEmpty { path: into.to_owned(), daemon });
        }
        disk::make_directory(&path).map_err(|source| io_error(&path, source))?;
        Ok(Self { path, into: into.to_owned(), within })
    }

    /// Its path during construction.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves it to its final path. Once this returns, it survives a power cut there.
    pub fn finish(self) -> Result<(), StoreError> {
        let moved = match self.within {
            true => self.move_out(),
            false => fs::rename(&self.path, &self.into),
        };
        let named = moved.and_then(|()| disk::sync_directory(disk::parent_of(&self.into)));
        named.map_err(|source| io_error(&self.into, source))
    }

    /// Moves the files up to the final path. The keys come last, once all others are durable there.
    fn move_out(&self) -> io::Result<()> {
        let is_of_keys = |name: &OsString| KEY_FILES.iter().any(|keys| name == keys);
        let mut names: Vec<OsString> =
            disk::entries(&self.path)?.iter().map(fs::DirEntry::file_name).collect();
        names.sort_by_key(is_of_keys);
        for together in names.chunk_by(|one, next| is_of_keys(one) == is_of_keys(next)) {
            for name in together {
                fs::rename(self.path.join(name), self.into.join(name))?;
            }
            disk::sync_directory(&self.into)?;
        }
        fs::remove_dir(&self.path)?;
        disk::sync_directory(&self.into)
    }

    /// Reads every record of the new store, closes it and moves it to its final path.
    pub(super) fn finish_with(self, mut opened: OpenedFiles) -> Result<CheckReport, StoreError> {
        let report = check::check(&opened.records)?;
        opened.committer.finish().map_err(StoreError::Disk)?;
        drop(opened);
        self.finish()?;
        Ok(report)
    }
}

/// The name of a store under construction: that of its final path, with an ending.
fn name_beside(into: &Path, ending: &str) -> OsString {
    let mut name = into.file_name().unwrap_or("offerd".as_ref()).to_owned();
    name.push(ending);
    name
}

/// Ignores, in a mount point, the file system's own directory and other stores under construction.
fn is_empty(into: &Path, within: bool) -> io::Result<bool> {
    let may_stay = |name: &OsString| {
        name == OF_THE_VOLUME || ENDINGS.iter().any(|ending| *name == name_beside(into, ending))
    };
    let entries = disk::entries(into)?;
    Ok(entries.iter().all(|entry| within && may_stay(&entry.file_name())))
}

impl Drop for StagingDirectory {
    fn drop(&mut self) {
        // Fails harmlessly once it was moved.
        let _ = fs::remove_dir_all(&self.path);
    }
}
