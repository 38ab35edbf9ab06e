//! The disk under the store: its errors, and the steps that make writes survive a power cut.
//!
//! A file's bytes survive one after `fdatasync`, its name after a sync of its directory. Nothing else counts.
//! After a rename over another file, either the old file or the new one is there, whole.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, StatxAttributes, StatxFlags, flock};
use rustix::io::Errno;

const HANG_LOOK: Duration = Duration::from_millis(1);

pub(super) const LOCK_RETRY: Duration = Duration::from_millis(2);

const PIECE_BYTES: usize = 256 * 1024;

/// Unit of data given up where a disk cannot read, in bytes.
const PAGE: usize = 4096;

/// The error kind when a path names something other than a file.
pub(super) const NOT_A_FILE: io::ErrorKind = io::ErrorKind::InvalidInput;

/// Why the store's files cannot be read or written: the error of the system, or of sled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct DiskError(pub(super) String);

pub(super) type DiskResult<T> = Result<T, DiskError>;

impl From<io::Error> for DiskError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Lets a test make the syncs of a store fail or hang, from any thread.
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

    /// Blocks while syncs hang, then fails if they should fail.
    pub(super) fn strike(&self) -> io::Result<()> {
        while self.hanging.load(Ordering::SeqCst) {
            thread::park_timeout(HANG_LOOK);
        }
        match self.failing.load(Ordering::SeqCst) {
            true => Err(io::Error::other("simulated sync failure")),
            false => Ok(()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) at: u64,
    /// The system's error.
    pub(super) why: String,
}

/// Reads from an offset. An unreadable page becomes zeros and is returned: only its content is lost.
pub(super) fn read_sparing(file: &File, bytes: &mut [u8], at: u64) -> io::Result<Vec<Unread>> {
    match file.read_exact_at(bytes, at) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {}
        read => return read.map(|()| Vec::new()),
    }
    let mut unread = Vec::new();
    let (mut rest, mut from) = (bytes, at);
    while !rest.is_empty() {
        let within = (from % PAGE as u64) as usize;
        let length = (PAGE - within).min(rest.len());
        let (page, behind) = rest.split_at_mut(length);
        match file.read_exact_at(page, from) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(error),
            Err(error) => {
                page.fill(0);
                unread.push(Unread { at: from, why: error.to_string() });
            }
            Ok(()) => {}
        }
        (rest, from) = (behind, from + length as u64);
    }
    Ok(unread)
}

/// The content of a file, with zeros for the pages that the disk cannot read, and those pages.
pub(super) fn read_file_sparing(path: &Path) -> io::Result<(Vec<u8>, Vec<Unread>)> {
    let file = open_file(OpenOptions::new().read(true), path)?;
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?];
    let unread = read_sparing(&file, &mut bytes, 0)?;
    Ok((bytes, unread))
}

/// Opens a path that must be a file, or fails with [`NOT_A_FILE`]. Never blocks, even on a pipe.
pub(super) fn open_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let is_file = |metadata: &fs::Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(another(path, metadata, "a file")),
    };
    // A directory cannot be opened to write, and a pipe would block.
    if let Ok(metadata) = fs::metadata(path) {
        is_file(&metadata)?;
    }
    let file = options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    is_file(&file.metadata()?)?;
    Ok(file)
}

fn another(path: &Path, metadata: &fs::Metadata, wanted: &str) -> io::Error {
    let found = metadata.file_type();
    let what = match () {
        () if found.is_file() => "a file",
        () if found.is_dir() => "a directory",
        () if found.is_fifo() => "a pipe",
        () if found.is_socket() => "a socket",
        () => "a device",
    };
    io::Error::new(NOT_A_FILE, format!("`{}` is {what}, want {wanted}; move it away", path.display()))
}

/// Checks that a path names a directory, or nothing yet.
pub(super) fn want_directory(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_dir() => Err(another(path, &metadata, "a directory")),
        _ => Ok(()),
    }
}

/// Like [`want_directory`], and refuses a dangling symlink: no directory can be made there.
pub(super) fn want_place(path: &Path) -> io::Result<()> {
    match fs::read_link(path) {
        Ok(target) if if_there(fs::metadata(path))?.is_none() => {
            let (shown, target) = (path.display(), target.display());
            let what = "want a directory; mount or make that place, or remove the link";
            Err(io::Error::new(
                NOT_A_FILE,
                format!("`{shown}` is a link to `{target}`, which does not exist, {what}"),
            ))
        }
        _ => want_directory(path),
    }
}

/// A mount point cannot be renamed, and its siblings are on another disk.
pub(super) fn is_mount(path: &Path) -> bool {
    let about = rustix::fs::statx(rustix::fs::CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS);
    about.is_ok_and(|about| about.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// The entries of a directory; none if it does not exist. An error names its path.
pub(super) fn entries(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    want_directory(directory)?;
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", directory.display()));
    let entries = if_there(fs::read_dir(directory).and_then(Iterator::collect));
    Ok(entries.map_err(named)?.unwrap_or_default())
}

pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let id = |of: fs::Metadata| (of.dev(), of.ino());
    match (file.metadata().map(id), fs::metadata(path).map(id)) {
        (Ok(open), Ok(named)) => open == named,
        // A path that cannot be inspected may still name it.
        (_, named) => !named.is_err_and(|error| error.kind() == io::ErrorKind::NotFound),
    }
}

pub(super) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(OpenOptions::new().read(true), path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes a directory, for the owner alone, and its parents. Once this returns, it survives a power cut.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    let parent = parent_of(path);
    if path.is_dir() {
        // Its maker may have ended before syncing its name. A parent that we may not open is not ours.
        let _ = sync_directory(parent);
        return Ok(());
    }
    want_directory(path)?;
    if !parent.is_dir() {
        make_directory(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_directory(parent),
    }
}

/// Once this returns, the names in a directory survive a power cut.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The path at which a file is written before it replaces another.
pub(super) fn fresh(path: &Path) -> PathBuf {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    fresh.into()
}

/// Replaces a file atomically, for the owner alone. Once this returns, the new one survives a crash.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = fresh(path);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = open_file(&mut options, &fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    sync_directory(parent_of(path))
}

pub(super) fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Removes a directory with its content, if it exists. Once this returns, it does not come back.
pub(super) fn remove_directory(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // The name is taken by something else.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => remove_file(path),
        Err(error) => Err(error),
        Ok(()) => sync_directory(parent_of(path)),
    }
}

/// Removes a file, if it exists. Once this returns, it does not come back.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    if_there(fs::remove_file(path))?.map_or(Ok(()), |()| sync_directory(parent_of(path)))
}

/// Locks an open file or directory as soon as it is free; `false` if it is still locked at the deadline.
pub(super) fn lock_until(file: &File, until: Instant) -> io::Result<bool> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < until => thread::park_timeout(LOCK_RETRY),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            locked => return Ok(locked.map(|()| true)?),
        }
    }
}

pub(super) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Reads a file piece by piece into `take`.
///
/// # Errors
/// `unread` of the system's error, or the error of `take`.
pub fn for_each_piece<E>(
    file: &mut dyn Read,
    unread: impl Fn(io::Error) -> E,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece).map_err(&unread)? {
            0 => return Ok(()),
            length => take(&piece[..length])?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of a process is a file with pages that cannot be read.
    #[test]
    fn what_a_disk_cannot_read_is_zeros_and_costs_no_error() {
        let memory = File::open("/proc/self/mem").unwrap();
        let mut bytes = [7; 3 * PAGE];
        assert!(memory.read_exact_at(&mut bytes, 0).is_err());
        bytes.fill(7);
        let unread = read_sparing(&memory, &mut bytes, 100).unwrap();
        assert_eq!(bytes, [0; 3 * PAGE]);
        let pages: Vec<u64> = unread.iter().map(|page| page.at).collect();
        assert_eq!(pages, [100, 4096, 8192, 12288], "each page that it touches");
        assert!(unread[0].why.contains("os error"), "{unread:?}");

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "whole").unwrap();
        assert_eq!(read_file_sparing(&path).unwrap(), (b"whole".to_vec(), Vec::new()));
        let mut more = [0; 6];
        assert!(read_sparing(&File::open(&path).unwrap(), &mut more, 0).is_err(), "it is shorter");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_no_place_for_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let [link, there] = ["link", "there"].map(|name| directory.path().join(name));
        std::os::unix::fs::symlink(&there, &link).unwrap();
        let error = want_place(&link).unwrap_err().to_string();
        let wanted = format!("`{}` is a link to `{}`, which does not exist", link.display(), there.display());
        assert!(error.starts_with(&wanted), "{error}");
        assert!(want_place(&there).is_ok(), "it can be made");
        fs::create_dir(&there).unwrap();
        assert!(want_place(&link).is_ok());
    }

    #[test]
    fn what_is_no_file_is_refused_in_a_sentence_and_waited_for_never() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for (path, what) in
            [(&*pipe, "a pipe"), (directory.path(), "a directory"), (Path::new("/dev/null"), "a device")]
        {
            let error = read_file(path).unwrap_err();
            let told = format!("`{}` is {what}, want a file; move it away", path.display());
            assert_eq!((error.kind(), error.to_string()), (NOT_A_FILE, told));
        }
    }
}
