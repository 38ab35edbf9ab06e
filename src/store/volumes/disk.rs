//! The step that makes what sled wrote survive a power cut.
//!
//! sled's `flush` ends in `sync_file_range`, which empties neither the drive's cache nor writes the file's metadata. So
//! the store holds a handle of its own on sled's file and syncs that.

use std::{
    fs::File,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Lets a test fail the syncs of a store from any thread.
#[doc(hidden)]
#[derive(Debug, Clone, Default)]
pub struct SyncFault(Arc<AtomicBool>);

impl SyncFault {
    /// Makes every sync fail from now on, or succeed again.
    pub fn set(&self, failing: bool) {
        self.0.store(failing, Ordering::SeqCst);
    }

    /// The failure, where there is to be one.
    pub(in crate::store) fn tell(&self) -> io::Result<()> {
        match self.0.load(Ordering::SeqCst) {
            true => Err(io::Error::other("simulated sync failure")),
            false => Ok(()),
        }
    }
}

/// The store's own handle on the file that sled writes.
#[derive(Debug)]
pub(super) struct Disk {
    file: File,
    fault: SyncFault,
}

impl Disk {
    /// Opens the handle on a store that sled has opened, and syncs the directory, so that a file just made is found again.
    pub(super) fn open(path: &Path, fault: SyncFault) -> io::Result<Self> {
        File::open(path)?.sync_all()?;
        Ok(Self { file: File::open(path.join("db"))?, fault })
    }

    /// Once this returns, what the operating system was given survives a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.fault.tell()?;
        self.file.sync_data()
    }
}
