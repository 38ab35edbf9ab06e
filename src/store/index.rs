//! The index of a volume: maps each key to the place of its record. Only this file uses sled.
//!
//! sled's files do not survive a power cut, so an index can be deleted at any time and rebuilt from the
//! [record files](super::record_file). When an index is closed, the checksums of its files and a digest of
//! its content ([`IndexDigest`]) are written beside it; it is opened again only if all agree. That list is
//! deleted before sled touches a file, so after a kill or a power cut the index is rebuilt.
//!
//! ```text
//! index/      sled's files
//! index.sum   "offerd index 1 entries " keys " bytes " live bytes " sum " in hexadecimal  "\n"
//!             { crc32  length  name "\n" }…  crc32 of the lines before "\n"
//! ```
//!
//! sled panics on conditions it does not expect. Here a panic is an error: the caller stops using the index.

use std::convert::identity;
use std::fs::{self, File};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, thread};

use parking_lot::{Condvar, Mutex};

use super::disk::{self, DiskError, DiskResult};
use super::index_digest::IndexDigest;
use super::record_file::Locator;
use offerd_base::telemetry::logging::foreseen;

const HEADING: &str = "offerd index 1 ";

const LOCKED: &str = "it is open elsewhere";

/// How long to wait for sled's lock. The store's own lock keeps other processes out, so only the background
/// job of an index just closed can hold it: a long wait costs nothing, a short one a rebuild.
const LOCK_WAIT: Duration = Duration::from_secs(20);

pub(super) struct VolumeIndex {
    /// `None` once it is closed.
    db: Option<sled::Db>,
    digest: IndexDigest,
    volume: PathBuf,
    _held: HeldIndex,
}

/// Indexes that are open in this process.
static HELD: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

struct HeldIndex;

impl HeldIndex {
    fn new() -> Self {
        *HELD.0.lock() += 1;
        Self
    }
}

impl Drop for HeldIndex {
    fn drop(&mut self) {
        *HELD.0.lock() -= 1;
        HELD.1.notify_all();
    }
}

/// Waits until other threads have dropped their clones of closed stores, so that the indexes are closed. A
/// process that ends before that has to rebuild them at its next start.
pub fn wait_closed(bound: Duration) {
    let _ = HELD.1.wait_while_for(&mut HELD.0.lock(), |held| *held > 0, bound);
}

#[cfg(any(test, feature = "test"))]
thread_local! {
    pub(super) static LOOK_UPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[derive(Debug, Clone, Copy)]
pub(super) struct IndexOptions<'a> {
    pub(super) volume: &'a Path,
    /// Memory for sled's page cache, in bytes.
    pub(super) cache_bytes: u64,
}

impl From<sled::Error> for DiskError {
    /// Avoids the terms of sled; the log has the details.
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(error) => {
                Self(format!("its file cannot be read or written: {}", in_words(&error)))
            }
            sled::Error::Corruption { .. } => Self("its file is not as it was written".to_owned()),
            other => {
                tracing::error!(error = %other, "sled failed");
                Self("it stopped; see the log".to_owned())
            }
        }
    }
}

impl VolumeIndex {
    /// Opens an index unchanged since it was closed; `None` where it is not. After an error, rebuild it.
    pub(super) fn open_closed(options: IndexOptions<'_>) -> DiskResult<Option<Self>> {
        let listed = match fs::read_to_string(sum_path(options.volume)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // Damaged, perhaps so that it is no text any more.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => String::new(),
            listed => listed?,
        };
        let digest = listed.strip_prefix(HEADING).and_then(|rest| rest.lines().next()?.parse().ok());
        disk::remove_file(&sum_path(options.volume))?;
        match digest {
            Some(digest)
                if disk::if_there(sums(options.volume, &digest))?.is_some_and(|sums| sums == listed) =>
            {
                let index = Self::open(options, digest)?;
                index.hold().map(|()| Some(index))
            }
            _ => Ok(None),
        }
    }

    /// Creates an empty index in place of any other.
    pub(super) fn make(options: IndexOptions<'_>) -> DiskResult<Self> {
        disk::remove_file(&sum_path(options.volume))?;
        disk::remove_directory(&directory(options.volume))?;
        Self::open(options, IndexDigest::default())
    }

    /// Checks that the index holds the keys that were put into it.
    pub(super) fn hold(&self) -> DiskResult<()> {
        let found = IndexDigest::default();
        for met in self.range(Bound::Unbounded) {
            let (key, at) = met?;
            found.add(&key, at);
        }
        if found == self.digest {
            return Ok(());
        }
        let (found, wanted) = (found.entries(), self.digest.entries());
        Err(failed(&self.volume, &format!("it finds {found} records, want {wanted}, and the same ones")))
    }

    fn open(options: IndexOptions<'_>, digest: IndexDigest) -> DiskResult<Self> {
        let config = sled::Config::new()
            .path(directory(options.volume))
            .use_compression(false)
            .cache_capacity(options.cache_bytes)
            // Nothing relies on sled's data on the disk.
            .flush_every_ms(None);
        let began = Instant::now();
        let db = loop {
            match guarded(options.volume, || config.open()) {
                Err(error) if error.0.contains(LOCKED) && began.elapsed() < LOCK_WAIT => {
                    thread::park_timeout(disk::LOCK_RETRY);
                }
                opened => break opened?,
            }
        };
        Ok(Self { db: Some(db), digest, volume: options.volume.to_owned(), _held: HeldIndex::new() })
    }

    pub(super) fn get(&self, key: &[u8]) -> DiskResult<Option<Locator>> {
        #[cfg(any(test, feature = "test"))]
        LOOK_UPS.set(LOOK_UPS.get() + 1);
        guarded(&self.volume, || self.db().get(key))?.as_deref().map(locator).transpose()
    }

    pub(super) fn put(&self, key: &[u8], at: Locator) -> DiskResult<()> {
        let before = guarded(&self.volume, || self.db().insert(key, &at.to_bytes()))?;
        self.digest.add(key, at);
        self.is_gone(key, before)
    }

    pub(super) fn remove(&self, key: &[u8]) -> DiskResult<()> {
        let before = guarded(&self.volume, || self.db().remove(key))?;
        self.is_gone(key, before)
    }

    fn is_gone(&self, key: &[u8], before: Option<sled::IVec>) -> DiskResult<()> {
        if let Some(before) = before {
            self.digest.take(key, locator(&before)?);
        }
        Ok(())
    }

    pub(super) fn live_bytes(&self) -> u64 {
        self.digest.bytes()
    }

    pub(super) fn range(&self, from: Bound<Vec<u8>>) -> IndexRange {
        IndexRange { ahead: self.db().range((from, Bound::Unbounded)), volume: self.volume.clone() }
    }

    pub(super) fn last(&self, prefix: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        let last = guarded(&self.volume, || self.db().scan_prefix(prefix).next_back().transpose())?;
        Ok(last.map(|(key, _)| key.to_vec()))
    }

    /// Closes the index, so that it can be opened again. No other method may be called afterwards.
    pub(super) fn close(&mut self) -> DiskResult<()> {
        let Some(db) = self.db.take() else { return Ok(()) };
        // sled syncs its file once more when it is dropped, and panics where that fails.
        guarded(&self.volume, move || db.flush().map(|_| ()))?;
        // sled keeps its lock until its last background job is done.
        let file = File::open(directory(&self.volume).join("db"))?;
        if !disk::lock_until(&file, Instant::now() + LOCK_WAIT)? {
            return Err(failed(&self.volume, LOCKED));
        }
        drop(file);
        Ok(disk::replace(&sum_path(&self.volume), sums(&self.volume, &self.digest)?.as_bytes())?)
    }

    fn db(&self) -> &sled::Db {
        self.db.as_ref().expect("nothing is asked of an index that is closed")
    }
}

/// sled syncs its file when it is dropped, and panics where that fails. Nothing relies on that sync.
impl Drop for VolumeIndex {
    fn drop(&mut self) {
        let db = self.db.take();
        let _ = foreseen(move || drop(db));
    }
}

pub(super) fn forget(volume: &Path) -> io::Result<()> {
    disk::remove_file(&sum_path(volume))
}

/// Copies a closed index to the directory of another volume; `false` if it is not closed.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<bool> {
    if !sum_path(from).exists() {
        return Ok(false);
    }
    fs::create_dir_all(directory(to))?;
    for entry in fs::read_dir(directory(from))? {
        let (path, target) = entry.map(|entry| (entry.path(), directory(to).join(entry.file_name())))?;
        // sled's directory for large values is empty.
        match path.is_dir() {
            true => fs::create_dir_all(target)?,
            false => fs::copy(path, target).map(|_| ())?,
        }
    }
    fs::copy(sum_path(from), sum_path(to)).map(|_| true)
}

pub(super) struct IndexRange {
    ahead: sled::Iter,
    volume: PathBuf,
}

impl Iterator for IndexRange {
    type Item = DiskResult<(Vec<u8>, Locator)>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = guarded(&self.volume, || self.ahead.next().transpose()).transpose()?;
        Some(next.and_then(|(key, value)| Ok((key.to_vec(), locator(&value)?))))
    }
}

/// Runs a sled operation on the index of a volume; a panic becomes an error.
fn guarded<T>(volume: &Path, work: impl FnOnce() -> sled::Result<T>) -> DiskResult<T> {
    match foreseen(work) {
        Ok(done) => done.map_err(|error| failed(volume, &DiskError::from(error).0)),
        Err(_) => Err(failed(volume, "it stopped at what it found; see the log")),
    }
}

fn failed(volume: &Path, reason: &str) -> DiskError {
    let number = volume.file_name().map(|name| name.to_string_lossy());
    let of = match number.as_deref() {
        Some("base") => "of the base".to_owned(),
        number => format!("of volume {}", number.unwrap_or("?")),
    };
    DiskError(format!("the index {of} failed: {reason}; a restart rebuilds it from the record files"))
}

fn locator(bytes: &[u8]) -> DiskResult<Locator> {
    Locator::parse(bytes)
        .ok_or_else(|| DiskError("the index has an entry that is not a place of a record".to_owned()))
}

/// The system's error in words. sled passes some errors on only as debug text, including that of its lock.
fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    if text.contains("could not acquire lock") {
        return LOCKED.to_owned();
    }
    let code = text.split_once("code: ").and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
    match error.raw_os_error().or(code) {
        Some(code) => io::Error::from_raw_os_error(code).to_string(),
        None => error.kind().to_string(),
    }
}

fn sums(volume: &Path, digest: &IndexDigest) -> io::Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(directory(volume))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            // sled's directory for large values, of which an index has none.
            lines.push(format!("directory {} {name}", fs::read_dir(entry.path())?.count()));
        } else {
            let (crc, length) = checksum(&entry.path())?;
            lines.push(format!("{crc:08x} {length} {name}"));
        }
    }
    lines.sort();
    let listed = format!("{HEADING}{digest}\n{}\n", lines.join("\n"));
    Ok(format!("{listed}{:08x}\n", crc32fast::hash(listed.as_bytes())))
}

fn checksum(path: &Path) -> io::Result<(u32, u64)> {
    let (mut hasher, mut length) = (crc32fast::Hasher::new(), 0);
    disk::for_each_piece(&mut File::open(path)?, identity, |piece| {
        hasher.update(piece);
        length += piece.len() as u64;
        Ok(())
    })?;
    Ok((hasher.finalize(), length))
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
        IndexOptions { volume, cache_bytes: 1 << 20 }
    }

    fn filled(volume: &Path) -> VolumeIndex {
        let index = VolumeIndex::make(options(volume)).unwrap();
        for at in 0..100_u64 {
            index.put(&at.to_be_bytes(), Locator { file: 1, at, length: 7 }).unwrap();
        }
        index
    }

    #[test]
    fn an_index_that_was_closed_opens_once_and_one_that_was_not_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let volume = directory.path();
        filled(volume).close().unwrap();
        let index = VolumeIndex::open_closed(options(volume)).unwrap().expect("it was closed");
        assert_eq!((index.live_bytes(), index.range(Bound::Unbounded).count()), (700, 100));
        assert_eq!(index.last(&[]).unwrap(), Some(99_u64.to_be_bytes().to_vec()));
        assert_eq!(index.get(&3_u64.to_be_bytes()).unwrap().map(|place| place.at), Some(3));
        drop(index);
        assert!(VolumeIndex::open_closed(options(volume)).unwrap().is_none(), "it was not closed again");
    }

    /// sled stops where it cannot read. It then lacks entries although each byte of its files is as it was
    /// closed.
    #[test]
    fn an_index_that_does_not_hold_what_it_held_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let volume = directory.path();
        filled(volume).close().unwrap();
        let listed = fs::read_to_string(sum_path(volume)).unwrap();
        let digest: IndexDigest =
            listed.lines().next().unwrap().strip_prefix(HEADING).unwrap().parse().unwrap();
        assert_eq!((digest.entries(), digest.bytes()), (100, 700));
        digest.add(b"more", Locator { file: 1, at: 7, length: 0 });
        fs::write(sum_path(volume), sums(volume, &digest).unwrap()).unwrap();
        let DiskError(why) = VolumeIndex::open_closed(options(volume)).err().expect("one is missing");
        assert!(why.contains("it finds 100 records, want 101"), "{why}");

        // A list written by another version.
        filled(volume).close().unwrap();
        let listed = fs::read_to_string(sum_path(volume)).unwrap();
        let (_, files) = listed.trim_end().split_once('\n').unwrap();
        let listed = format!("offerd index 2 live 700\n{}\n", files.rsplit_once('\n').unwrap().0);
        let sum = crc32fast::hash(listed.as_bytes());
        fs::write(sum_path(volume), format!("{listed}{sum:08x}\n")).unwrap();
        assert!(VolumeIndex::open_closed(options(volume)).unwrap().is_none());
    }

    #[test]
    fn what_went_wrong_is_told_without_names_of_libraries_and_programs() {
        let full = || io::Error::from_raw_os_error(28);
        let again = sled::Error::Io(full()).clone();
        for error in [sled::Error::Io(full()), again] {
            let DiskError(why) = failed(Path::new("store/volumes/7"), &DiskError::from(error).0);
            let want = "the index of volume 7 failed: its file cannot be read or written: No space left on device (os error 28); \
                        a restart rebuilds it from the record files";
            assert_eq!(why, want);
        }
    }

    #[test]
    fn whatever_became_of_its_files_meanwhile_it_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let volume = directory.path();
        for file in ["index/db", "index/conf", "index.sum"] {
            for damage in 0..3 {
                filled(volume).close().unwrap();
                let path = volume.join(file);
                let mut bytes = fs::read(&path).unwrap();
                match damage {
                    0 => bytes.truncate(bytes.len() / 2),
                    1 => bytes[9] ^= 1,
                    _ => bytes.clear(),
                }
                fs::write(&path, bytes).unwrap();
                assert!(VolumeIndex::open_closed(options(volume)).unwrap().is_none(), "{file}");
            }
            filled(volume).close().unwrap();
            fs::remove_file(volume.join(file)).unwrap();
            assert!(VolumeIndex::open_closed(options(volume)).unwrap().is_none(), "{file}");
        }
    }
}
