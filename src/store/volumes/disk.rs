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
    thread,
    time::Duration,
};

/// How often a sync that hangs looks whether it still does.
const HANG_LOOK: Duration = Duration::from_millis(1);

/// Lets a test fail the syncs of a store from any thread, or have them hang.
#[doc(hidden)]
#[derive(Debug, Clone, Default)]
pub struct SyncFault {
    failing: Arc<AtomicBool>,
    hanging: Arc<AtomicBool>,
}

impl SyncFault {
    /// Makes every sync fail from now on, or succeed again.
    pub fn set(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// Makes every sync hang from now on, or go on.
    pub fn hang(&self, hanging: bool) {
        self.hanging.store(hanging, Ordering::SeqCst);
    }

    /// Waits while it is to hang; then the failure, where there is to be one.
    pub(in crate::store) fn tell(&self) -> io::Result<()> {
        while self.hanging.load(Ordering::SeqCst) {
            thread::park_timeout(HANG_LOOK);
        }
        match self.failing.load(Ordering::SeqCst) {
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
