//! The lock of a store: one process has it open.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{FlockOperation, flock};

use super::{disk, error::StoreError};

/// How often a held lock is tried again.
const RETRY: Duration = Duration::from_millis(2);

/// Held while the store is open; dropped, it is let go.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "it is held by being open")] File);

impl Lock {
    /// Takes the lock of a store that is not to be changed; nothing where there never was one.
    pub(super) fn take_to_read(store: &Path) -> Result<Option<Self>, StoreError> {
        let path = store.join("lock");
        let file = match disk::open_file(OpenOptions::new().read(true), &path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|source| StoreError::Io { path: path.clone(), source })?,
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::Locked { path: store.to_owned() }),
            Err(error) => Err(StoreError::Io { path, source: error.into() }),
        }
    }

    /// Takes the lock of a store as soon as nobody else holds it.
    pub(super) fn take(store: &Path, bound: Duration) -> Result<Self, StoreError> {
        let path = store.join("lock");
        let io = |source| StoreError::Io { path: path.clone(), source };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = disk::open_file(&mut options, &path).map_err(io)?;
        let began = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < bound => thread::park_timeout(RETRY),
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(StoreError::Locked { path: store.to_owned() });
                }
                Err(error) => return Err(io(error.into())),
            }
        }
    }
}
