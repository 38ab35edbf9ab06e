//! A store in the making: it lies beside its place, and is moved there when it is whole. So nobody opens a part of one.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::{StoreError, io_error};
use super::{disk, owner};

/// A directory beside the place of a store. Dropped before [`finish`](Self::finish) it is removed.
#[derive(Debug)]
pub struct Beside {
    path: PathBuf,
    into: PathBuf,
}

/// Why no store can be made in a place.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    /// There is something in its place already.
    #[error(
        "`{path}` is not empty{}: a store is made in an empty directory only",
        if *.daemon { ", and a daemon runs there or was killed" } else { "" }
    )]
    NotEmpty {
        /// The place.
        path: PathBuf,
        /// Whether a daemon runs there, or has left its run file.
        daemon: bool,
    },
    /// A restore or an import that was killed has left its directory.
    #[error("`{path}` is there: if no other restore or import is running, remove it and try again")]
    LeftOver {
        /// The directory.
        path: PathBuf,
    },
    /// The directory cannot be made.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl Beside {
    /// Makes the directory, for a store in a place that is empty, or not there.
    ///
    /// # Errors
    /// What is in the way.
    pub fn begin(into: &Path) -> Result<Self, BesideError> {
        owner::check(into)?;
        disk::want_directory(into).map_err(|source| io_error(into, source))?;
        if let Ok(mut entries) = fs::read_dir(into)
            && entries.next().is_some()
        {
            let daemon = into.join("daemon.json").exists();
            return Err(BesideError::NotEmpty { path: into.to_owned(), daemon });
        }
        let mut name = into.file_name().unwrap_or("offerd".as_ref()).to_owned();
        name.push(".part");
        let path = into.with_file_name(name);
        if path.exists() {
            return Err(BesideError::LeftOver { path });
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|source| io_error(&path, source))?;
        Ok(Self { path, into: into.to_owned() })
    }

    /// Where it lies until it is whole.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves it to its place. Once this returns, it survives a power cut there.
    ///
    /// # Errors
    /// What is wrong with the disk.
    pub fn finish(self) -> Result<(), StoreError> {
        let moved = fs::rename(&self.path, &self.into);
        moved.and_then(|()| sync_parent(&self.into)).map_err(|source| io_error(&self.into, source))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Once it was moved there is none any more.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn sync_parent(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
