//! The index of a volume: under each key, where its record lies. sled holds it, and no other file names sled.
//!
//! sled's files are changed in place and are not safe from a power cut, so nothing that matters lies in them alone: an index can
//! be thrown away at any time and made anew from the [record files](super::record_file). When one is closed, the checksum of
//! each of its files is written beside it; it is opened again only if they are byte for byte what they were then. The list goes
//! before sled touches a file, so that after a kill or a power cut there is none, and the index is made anew.
//!
//! ```text
//! index/      sled's files
//! index.sum   "offerd index 1 live " bytes of what is live  "\n"  { crc32  length  name "\n" }…  crc32 of the lines before "\n"
//! ```
//!
//! sled panics over what it does not expect. Here a panic is an error, like the others: the caller's end of the index.

use std::{
    fs::{self, File},
    io::{self, Read},
    ops::Bound,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{FlockOperation, flock};

use super::{
    disk::{self, DiskError, DiskResult},
    record_file::Locator,
};
use crate::telemetry::logging::foreseen;

/// How often a held lock is tried again.
const LOCK_RETRY: Duration = Duration::from_millis(2);

const HEADING: &str = "offerd index 1 live ";

/// An index that is open.
pub(super) struct Index {
    /// Nothing once it is closed.
    db: Option<sled::Db>,
    volume: PathBuf,
    /// sled's directory in it.
    at: PathBuf,
    lock_wait: Duration,
}

/// Where an index is and what it may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexOptions<'a> {
    /// The directory of its volume.
    pub(super) volume: &'a Path,
    /// How much memory sled may use for pages.
    pub(super) cache_bytes: u64,
    /// How long to wait for sled's lock, which an index just closed may still hold.
    pub(super) lock_wait: Duration,
}

impl From<sled::Error> for DiskError {
    /// Says what can be said of it to who does not know sled; the log has the rest.
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(error) => Self(format!("a file of sled's cannot be read or written: {error}")),
            sled::Error::Corruption { .. } => Self("a file of sled's is not as it was written".to_owned()),
            other => {
                tracing::error!(error = %other, "sled failed");
                Self("sled failed, as the log tells".to_owned())
            }
        }
    }
}

impl Index {
    /// Opens an index that is as it was when it was closed, and tells how many bytes of records are live; nothing where there is
    /// none, or another one.
    pub(super) fn open_closed(options: IndexOptions<'_>) -> DiskResult<Option<(Self, u64)>> {
        let Ok(listed) = fs::read_to_string(sum_path(options.volume)) else { return Ok(None) };
        let live = listed.strip_prefix(HEADING).and_then(|rest| rest.lines().next()?.parse().ok());
        let found = live.and_then(|live| Some((live, sums(options.volume, live).ok()?)));
        disk::remove_file(&sum_path(options.volume))?;
        let Some((live, _)) = found.filter(|(_, sums)| *sums == listed) else { return Ok(None) };
        Ok(Some((Self::open(options)?, live)))
    }

    /// Makes an empty index in the place of whatever was there.
    pub(super) fn make(options: IndexOptions<'_>) -> DiskResult<Self> {
        disk::remove_file(&sum_path(options.volume))?;
        disk::remove_directory(&directory(options.volume))?;
        Self::open(options)
    }

    fn open(options: IndexOptions<'_>) -> DiskResult<Self> {
        let config = sled::Config::new()
            .path(directory(options.volume))
            .use_compression(false)
            .cache_capacity(options.cache_bytes)
            // Nothing relies on what sled has on the disk.
            .flush_every_ms(None);
        let at = directory(options.volume);
        let began = Instant::now();
        let db = loop {
            match guarded(&at, || config.open()) {
                Err(error) if is_lock(&error) && began.elapsed() < options.lock_wait => {
                    thread::park_timeout(LOCK_RETRY);
                }
                opened => break opened?,
            }
        };
        Ok(Self { db: Some(db), volume: options.volume.to_owned(), at, lock_wait: options.lock_wait })
    }

    /// Where the record of a key lies.
    pub(super) fn get(&self, key: &[u8]) -> DiskResult<Option<Locator>> {
        guarded(&self.at, || self.db().get(key))?.as_deref().map(locator).transpose()
    }

    /// Says where the record of a key lies, and gives where it lay before.
    pub(super) fn put(&self, key: &[u8], at: Locator) -> DiskResult<Option<Locator>> {
        guarded(&self.at, || self.db().insert(key, &at.to_bytes()))?.as_deref().map(locator).transpose()
    }

    /// Says that a key has no record any more, and gives where it lay.
    pub(super) fn remove(&self, key: &[u8]) -> DiskResult<Option<Locator>> {
        guarded(&self.at, || self.db().remove(key))?.as_deref().map(locator).transpose()
    }

    /// The keys from one on, in their order, and where their records lie.
    pub(super) fn range(&self, from: Bound<Vec<u8>>) -> Range {
        Range { ahead: self.db().range((from, Bound::Unbounded)), at: self.at.clone() }
    }

    /// The last key that begins with a prefix.
    pub(super) fn last(&self, prefix: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        let last = guarded(&self.at, || self.db().scan_prefix(prefix).next_back().transpose())?;
        Ok(last.map(|(key, _)| key.to_vec()))
    }

    /// Closes the index, so that it can be opened again: so many bytes of records are live. Nothing may be asked of it any more.
    pub(super) fn close(&mut self, live: u64) -> DiskResult<()> {
        let Some(db) = self.db.take() else { return Ok(()) };
        guarded(&self.at, || db.flush())?;
        drop(db);
        wait_for_lock(&directory(&self.volume).join("db"), self.lock_wait)?;
        disk::replace(&sum_path(&self.volume), sums(&self.volume, live)?.as_bytes())?;
        Ok(())
    }

    fn db(&self) -> &sled::Db {
        self.db.as_ref().expect("nothing is asked of an index that is closed")
    }
}

/// sled syncs its file when it is dropped, and panics where that fails. Nothing relies on it.
impl Drop for Index {
    fn drop(&mut self) {
        let db = self.db.take();
        let _ = foreseen(move || drop(db));
    }
}

/// Has the index of a volume be made anew when it is opened.
pub(super) fn forget(volume: &Path) -> io::Result<()> {
    disk::remove_file(&sum_path(volume))
}

/// Keys and where their records lie, in the order of the keys.
pub(super) struct Range {
    ahead: sled::Iter,
    at: PathBuf,
}

impl Iterator for Range {
    type Item = DiskResult<(Vec<u8>, Locator)>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = guarded(&self.at, || self.ahead.next().transpose()).transpose()?;
        Some(next.and_then(|(key, value)| Ok((key.to_vec(), locator(&value)?))))
    }
}

/// Has sled do something with the index in a directory; a panic of it is an error.
fn guarded<T>(directory: &Path, work: impl FnOnce() -> sled::Result<T>) -> DiskResult<T> {
    let failed = |reason: &str| {
        let at = directory.display();
        DiskError(format!("the index `{at}` failed: {reason}; a restart makes it anew of the record files"))
    };
    match foreseen(work) {
        Ok(done) => done.map_err(|error| failed(&DiskError::from(error).0)),
        Err(_) => Err(failed("sled panicked")),
    }
}

fn locator(bytes: &[u8]) -> DiskResult<Locator> {
    Locator::parse(bytes).ok_or_else(|| DiskError("the index holds what is no place of a record".to_owned()))
}

/// sled tells of a lock by its text alone.
fn is_lock(error: &DiskError) -> bool {
    error.0.contains("could not acquire lock")
}

/// Waits until sled is done with a file: it keeps its lock until its last job aside is.
fn wait_for_lock(path: &Path, bound: Duration) -> io::Result<()> {
    let began = Instant::now();
    let file = File::open(path)?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < bound => thread::park_timeout(LOCK_RETRY),
            locked => return Ok(locked?),
        }
    }
}

/// The list of what the files of an index are.
fn sums(volume: &Path, live: u64) -> io::Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(directory(volume))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            // sled's directory of large values: there are none in an index.
            lines.push(format!("directory {} {name}", fs::read_dir(entry.path())?.count()));
        } else {
            let (crc, length) = checksum(&entry.path())?;
            lines.push(format!("{crc:08x} {length} {name}"));
        }
    }
    lines.sort();
    let listed = format!("{HEADING}{live}\n{}\n", lines.join("\n"));
    Ok(format!("{listed}{:08x}\n", crc32fast::hash(listed.as_bytes())))
}

fn checksum(path: &Path) -> io::Result<(u32, u64)> {
    let mut file = File::open(path)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut chunk = vec![0; 256 * 1024];
    let mut length = 0;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((hasher.finalize(), length)),
            read => {
                hasher.update(&chunk[..read]);
                length += read as u64;
            }
        }
    }
}

fn directory(volume: &Path) -> PathBuf {
    volume.join("index")
}

fn sum_path(volume: &Path) -> PathBuf {
    volume.join("index.sum")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(volume: &Path) -> IndexOptions<'_> {
        IndexOptions { volume, cache_bytes: 1 << 20, lock_wait: Duration::from_secs(5) }
    }

    fn filled(volume: &Path) -> Index {
        let index = Index::make(options(volume)).unwrap();
        for at in 0..100_u64 {
            index.put(&at.to_be_bytes(), Locator { file: 1, at, length: 7 }).unwrap();
        }
        index
    }

    #[test]
    fn an_index_that_was_closed_opens_once_and_one_that_was_not_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let volume = directory.path();
        filled(volume).close(700).unwrap();
        let (index, live) = Index::open_closed(options(volume)).unwrap().expect("it was closed");
        assert_eq!((live, index.range(Bound::Unbounded).count()), (700, 100));
        assert_eq!(index.last(&[]).unwrap(), Some(99_u64.to_be_bytes().to_vec()));
        assert_eq!(index.get(&3_u64.to_be_bytes()).unwrap().map(|place| place.at), Some(3));
        drop(index);
        assert!(Index::open_closed(options(volume)).unwrap().is_none(), "it was not closed again");
    }

    #[test]
    fn whatever_became_of_its_files_meanwhile_it_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let volume = directory.path();
        for file in ["index/db", "index/conf", "index.sum"] {
            for damage in 0..3 {
                filled(volume).close(700).unwrap();
                let path = volume.join(file);
                let mut bytes = fs::read(&path).unwrap();
                match damage {
                    0 => bytes.truncate(bytes.len() / 2),
                    1 => bytes[9] ^= 1,
                    _ => bytes.clear(),
                }
                fs::write(&path, bytes).unwrap();
                assert!(Index::open_closed(options(volume)).unwrap().is_none(), "{file}");
            }
            filled(volume).close(700).unwrap();
            fs::remove_file(volume.join(file)).unwrap();
            assert!(Index::open_closed(options(volume)).unwrap().is_none(), "{file}");
        }
    }
}
