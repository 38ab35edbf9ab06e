//! The lock of a store: one process has it open.
//!
//! It is on the store's directory, which nobody removes under a daemon without losing the store, and on the file `lock` in it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::disk;
use super::error::{StoreError, io_error};

/// Held while the store is open; dropped, it is let go.
#[derive(Debug)]
pub(super) struct Lock {
    #[expect(dead_code, reason = "it is held by being open")]
    directory: File,
    /// Nothing where it is gone, and must not be made.
    #[expect(dead_code, reason = "it is held by being open")]
    file: Option<File>,
}

impl Lock {
    /// Takes the lock of a store that is not to be changed.
    pub(super) fn take_to_read(store: &Path) -> Result<Self, StoreError> {
        let now = Instant::now();
        let directory = hold(File::open(store), store, store, now)?;
        let path = store.join("lock");
        let opened = disk::if_there(disk::open_file(OpenOptions::new().read(true), &path)).transpose();
        let file = opened.map(|opened| hold(opened, &path, store, now)).transpose()?;
        Ok(Self { directory, file })
    }

    /// Takes the lock of a store as soon as nobody else holds it.
    pub(super) fn take(store: &Path, bound: Duration) -> Result<Self, StoreError> {
        let until = Instant::now() + bound;
        let directory = hold(File::open(store), store, store, until)?;
        let path = store.join("lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = hold(disk::open_file(&mut options, &path), &path, store, until)?;
        Ok(Self { directory, file: Some(file) })
    }
}

/// Locks what was opened at a path of a store, as soon as nobody else does, up to a moment.
fn hold(opened: io::Result<File>, path: &Path, store: &Path, until: Instant) -> Result<File, StoreError> {
    let locked = opened.and_then(|file| Ok((disk::lock_until(&file, until)?, file)));
    match locked.map_err(|source| io_error(path, source))? {
        (true, file) => Ok(file),
        (false, _) => Err(StoreError::Locked(store.to_owned())),
    }
}
