//! The lock of a store: only one process has it open.
//!
//! It locks the store's directory, which cannot be replaced under a daemon, and the file `lock` in it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{StoreError, disk, io_error};

#[derive(Debug)]
pub(super) struct Lock {
    #[expect(dead_code, reason = "it is held by being open")]
    directory: File,
    /// `None` if it is missing and must not be created.
    #[expect(dead_code, reason = "it is held by being open")]
    file: Option<File>,
}

impl Lock {
    pub(super) fn take_to_read(store: &Path) -> Result<Self, StoreError> {
        Self::take_as(OpenOptions::new().read(true), store, Duration::ZERO)
    }

    pub(super) fn take(store: &Path, bound: Duration) -> Result<Self, StoreError> {
        Self::take_as(OpenOptions::new().write(true).create(true).truncate(false).mode(0o600), store, bound)
    }

    fn take_as(options: &mut OpenOptions, store: &Path, bound: Duration) -> Result<Self, StoreError> {
        let until = Instant::now() + bound;
        let directory = hold(File::open(store), store, store, until)?;
        let path = store.join("lock");
        let opened = disk::if_there(disk::open_file(options, &path)).transpose();
        let file = opened.map(|opened| hold(opened, &path, store, until)).transpose()?;
        Ok(Self { directory, file })
    }
}

/// Words for the process that has a store locked, where the system tells it, in lines of `/proc/locks` such as
/// `1: FLOCK  ADVISORY  WRITE 4711 fd:01:262146 0 EOF`.
fn holder(store: &Path) -> String {
    let pid = fs::metadata(store).and_then(|of| Ok((of.ino(), fs::read_to_string("/proc/locks")?)));
    let pid = pid.ok().and_then(|(inode, locks)| {
        let held = locks.lines().filter(|line| line.contains(" FLOCK ") && !line.contains("->"));
        let mut held = held.filter_map(|line| Some((line.split_whitespace().nth(4)?, line)));
        held.find(|(_, line)| line.contains(&format!(":{inode} "))).map(|(pid, _)| pid.to_owned())
    });
    pid.map(|pid| format!(", process {pid}; `ps -p {pid} -o args` shows its command")).unwrap_or_default()
}

fn hold(opened: io::Result<File>, path: &Path, store: &Path, until: Instant) -> Result<File, StoreError> {
    let locked = opened.and_then(|file| Ok((disk::lock_until(&file, until)?, file)));
    match locked.map_err(|source| io_error(path, source))? {
        (true, file) => Ok(file),
        (false, _) => Err(StoreError::Locked { path: store.to_owned(), holder: holder(store) }),
    }
}
