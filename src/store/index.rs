//! The index of a volume: maps each key to the place of its record. Only this file uses sled.
//!
//! sled's files do not survive a power cut, so an index can be deleted at any time and rebuilt from the
//! [record files](super::record_file). When an index is closed, the checksums of its files and a digest of
//! its content ([`IndexDigest`]) are written beside it; it is opened again only if all agree. That list is
//! deleted before sled touches a file, so after a kill or a power cut the index is rebuilt.
//!
//! ```text
//! index/      sled's files
//! index.sum   "offerd index 2 entries " keys " bytes " live bytes " sum " in hexadecimal  "\n"
//!             { crc32  length  name "\n" }…  crc32 of the lines before "\n"
//! block       { key length u16 BE  key  locator (16) }…, in key order
//! ```
//!
//! Each value in sled is a block of entries, under the last key that belongs there: an insertion costs sled
//! about as much for sixty entries as for one. Fresh entries stay in memory, where they hide those in sled;
//! a [checkpoint](super::checkpoint) merges them into the blocks once they take a share of the cache memory.
//! The record files hold those too, so nothing relies on that.
//!
//! sled panics on conditions it does not expect. Here a panic is an error: the caller stops using the index.

use std::collections::{BTreeMap, btree_map};
use std::convert::identity;
use std::fs::{self, File};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{io, iter, thread};

use parking_lot::{Condvar, Mutex, RwLock};
use sled::IVec;

use super::disk::{self, DiskError, DiskResult};
use super::index_digest::IndexDigest;
use super::record_file::Locator;
use offerd_base::telemetry::logging::foreseen;

const HEADING: &str = "offerd index 2 ";

const LOCKED: &str = "it is open elsewhere";

/// How long to wait for sled's lock. The store's own lock keeps other processes out, so only the background
/// job of an index just closed can hold it: a long wait costs nothing, a short one a rebuild.
const LOCK_WAIT: Duration = Duration::from_secs(20);

/// Size of a block in bytes. sled keeps up to 17 values together, and more than 128 KiB in a file of its own.
const BLOCK_BYTES: usize = 4096;

/// Names of blocks in sled: this byte and the last key, or the name of the one behind them.
const BLOCK: u8 = 0;
const LAST_BLOCK: &[u8] = &[1];

/// Memory of an entry outside sled, in bytes.
const FRESH_BYTES: u64 = 128;

/// Divisors of the cache memory for entries outside sled: while the index is in use, and while it is built.
const FRESH_SHARE: u64 = 8;
const BUILDING_SHARE: u64 = 2;

/// Entries to gather at least while an index is built.
const BUILT_AT_ONCE: usize = 16 * 1024;

/// Entries that a cursor reads at once.
const READ_AT_ONCE: usize = 16;

pub(super) struct VolumeIndex {
    /// `None` once it is closed.
    db: Option<sled::Db>,
    fresh: RwLock<Fresh>,
    /// Locked while entries are moved to sled.
    moving: Mutex<()>,
    /// The number of lower parts that were split from blocks.
    splits: AtomicU64,
    /// Of the entries in sled.
    digest: IndexDigest,
    volume: PathBuf,
    /// Entries that may be fresh before they are moved.
    fresh_limit: usize,
    _held: HeldIndex,
}

/// Keys with their places; `None` for a key that is removed.
pub(super) type Places = BTreeMap<Box<[u8]>, Option<Locator>>;

/// The entries that hide those in sled.
#[derive(Default)]
struct Fresh {
    newest: Places,
    /// Being moved to sled. They stay until sled has them all.
    moved: Arc<Places>,
    /// Size of all their records in bytes.
    bytes: u64,
    /// The number of changes, by which cursors notice them.
    changes: u64,
}

impl Fresh {
    fn is_empty(&self) -> bool {
        self.newest.is_empty() && self.moved.is_empty()
    }

    fn place(&self, key: &[u8]) -> Option<Option<Locator>> {
        self.newest.get(key).or_else(|| self.moved.get(key)).copied()
    }

    /// Lays the fresh entries over those that sled has from one key to another. Returns the latter, or an
    /// earlier one if they are many: then they end there.
    fn lay_over(
        &self,
        found: &mut BTreeMap<Box<[u8]>, Locator>,
        from: &[u8],
        mut end: Option<Box<[u8]>>,
    ) -> Option<Box<[u8]>> {
        let both = [&*self.moved, &self.newest];
        for places in both {
            let many = places.range::<[u8], _>(span(from, end.as_deref())).nth(READ_AT_ONCE - 1);
            end = many.map(|(key, _)| key.clone()).or(end);
        }
        found.retain(|key, _| end.as_ref().is_none_or(|end| key <= end));
        for (key, at) in both.iter().flat_map(|places| places.range::<[u8], _>(span(from, end.as_deref()))) {
            match at {
                Some(at) => drop(found.insert(key.clone(), *at)),
                None => drop(found.remove(key)),
            }
        }
        end
    }
}

/// From a key to another, or to the end.
fn span<'a>(from: &'a [u8], end: Option<&'a [u8]>) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
    (Bound::Included(from), end.map_or(Bound::Unbounded, Bound::Included))
}

/// A position in an index. Not a snapshot: it meets each change to the keys ahead.
pub(super) struct IndexCursor {
    /// The least key that may be next.
    from: Vec<u8>,
    /// What was read at once, and where the rest begins; `None` where it was all.
    ahead: btree_map::IntoIter<Box<[u8]>, Locator>,
    rest: Option<Vec<u8>>,
    /// The count of changes when that was read.
    read_at: Option<u64>,
}

impl IndexCursor {
    pub(super) fn new(from: Bound<Vec<u8>>) -> Self {
        let from = match from {
            Bound::Included(key) => key,
            Bound::Excluded(key) => after(&key),
            Bound::Unbounded => Vec::new(),
        };
        Self { from, ahead: BTreeMap::new().into_iter(), rest: None, read_at: None }
    }
}

/// The least key after a key.
fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
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
    /// Memory for sled's page cache, in bytes. Fresh entries take a [share](FRESH_SHARE) of it more.
    pub(super) cache_bytes: u64,
}

impl IndexOptions<'_> {
    /// Entries to gather for [`VolumeIndex::merge`] while the index is built.
    pub(super) fn built_at_once(&self) -> usize {
        self.entries_in(BUILDING_SHARE).max(BUILT_AT_ONCE)
    }

    fn entries_in(&self, share: u64) -> usize {
        usize::try_from(self.cache_bytes / share / FRESH_BYTES).unwrap_or(usize::MAX)
    }
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

    /// Checks that sled holds the entries that were moved to it.
    pub(super) fn hold(&self) -> DiskResult<()> {
        let found = IndexDigest::default();
        let mut blocks = self.db().iter();
        while let Some((_, block)) = self.guarded(|| blocks.next().transpose())? {
            for entry in entries(&block) {
                let (key, at) = entry?;
                found.add(key, at);
            }
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
        let (fresh, moving, splits) = Default::default();
        let (volume, fresh_limit) = (options.volume.to_owned(), options.entries_in(FRESH_SHARE));
        let _held = HeldIndex::new();
        Ok(Self { db: Some(db), fresh, moving, splits, digest, volume, fresh_limit, _held })
    }

    pub(super) fn get(&self, key: &[u8]) -> DiskResult<Option<Locator>> {
        #[cfg(any(test, feature = "test"))]
        LOOK_UPS.set(LOOK_UPS.get() + 1);
        if let Some(fresh) = self.fresh.read().place(key) {
            return Ok(fresh);
        }
        let (_, block) = self.block_of(key)?;
        let found = entries(&block).find(|entry| entry.as_ref().map_or(true, |(found, _)| *found >= key));
        Ok(found.transpose()?.filter(|(found, _)| *found == key).map(|(_, at)| at))
    }

    /// Enters a key with its place, or removes it.
    pub(super) fn set(&self, key: &[u8], at: Option<Locator>) {
        let bytes = |at: Option<Locator>| at.map_or(0, |at| u64::from(at.length));
        let mut fresh = self.fresh.write();
        let before = fresh.newest.insert(key.into(), at).flatten();
        fresh.bytes = fresh.bytes + bytes(at) - bytes(before);
        fresh.changes += 1;
    }

    /// Moves the fresh entries to sled if they are many.
    pub(super) fn settle(&self) -> DiskResult<()> {
        if self.fresh.read().newest.len() < self.fresh_limit { Ok(()) } else { self.move_fresh() }
    }

    fn move_fresh(&self) -> DiskResult<()> {
        let _moving = self.moving.lock();
        let moved = {
            let mut fresh = self.fresh.write();
            // Those of a failed attempt are older.
            if fresh.moved.is_empty() {
                fresh.moved = Arc::new(std::mem::take(&mut fresh.newest));
            }
            Arc::clone(&fresh.moved)
        };
        self.merge(&moved)?;
        let mut fresh = self.fresh.write();
        fresh.bytes -= moved.values().flatten().map(|at| u64::from(at.length)).sum::<u64>();
        fresh.moved = Arc::default();
        fresh.changes += 1;
        Ok(())
    }

    /// Merges entries into the blocks in sled.
    pub(super) fn merge(&self, places: &Places) -> DiskResult<()> {
        let mut ahead = places.iter().peekable();
        while let Some((first, _)) = ahead.peek() {
            let (name, block) = self.block_of(first)?;
            let mut merged = entries(&block).collect::<DiskResult<BTreeMap<&[u8], Locator>>>()?;
            let belongs = |key: &[u8]| name.strip_prefix(&[BLOCK]).is_none_or(|last| key <= last);
            while let Some((key, at)) = ahead.next_if(|(key, _)| belongs(key)) {
                let before = match at {
                    Some(at) => merged.insert(key, *at),
                    None => merged.remove(&**key),
                };
                at.iter().for_each(|at| self.digest.add(key, *at));
                before.iter().for_each(|before| self.digest.take(key, *before));
            }
            self.write(&name, &merged)?;
        }
        Ok(())
    }

    /// Writes the entries of a block anew, as several where they are too many. The lower ones come first, so
    /// that a reader finds each entry meanwhile.
    fn write(&self, name: &[u8], places: &BTreeMap<&[u8], Locator>) -> DiskResult<()> {
        let bytes: usize = places.keys().map(|key| ENTRY_HEAD + key.len()).sum();
        let piece_bytes = bytes.div_ceil(bytes.div_ceil(BLOCK_BYTES).max(1));
        let (mut piece, mut written) = (Vec::new(), 0);
        for (key, at) in places {
            let length = u16::try_from(key.len()).expect("a record file has keys of at most 64 KiB");
            piece.extend_from_slice(&length.to_be_bytes());
            piece.extend_from_slice(key);
            piece.extend_from_slice(&at.to_bytes());
            written += ENTRY_HEAD + key.len();
            if piece.len() >= piece_bytes && written < bytes {
                self.guarded(|| self.db().insert(block_name(key), std::mem::take(&mut piece)))?;
                self.splits.fetch_add(1, Ordering::SeqCst);
            }
        }
        self.guarded(
            || if piece.is_empty() { self.db().remove(name) } else { self.db().insert(name, piece) },
        )?;
        Ok(())
    }

    /// The block that a key belongs to: its name, and its entries.
    fn block_of(&self, key: &[u8]) -> DiskResult<(IVec, IVec)> {
        loop {
            let splits = self.splits.load(Ordering::SeqCst);
            let block = self.guarded(|| self.db().range(block_name(key)..).next().transpose())?;
            // sled may have passed the place of a lower part before it was there, and met the rest after it.
            if splits == self.splits.load(Ordering::SeqCst) {
                return Ok(block.unwrap_or_else(|| (LAST_BLOCK.into(), IVec::default())));
            }
        }
    }

    /// Size of the indexed records in bytes. Of a record that was replaced lately, the earlier one may count.
    pub(super) fn live_bytes(&self) -> u64 {
        self.digest.bytes() + self.fresh.read().bytes
    }

    /// The entries from a key on, in key order.
    pub(super) fn range(
        &self,
        from: Bound<Vec<u8>>,
    ) -> impl Iterator<Item = DiskResult<(Vec<u8>, Locator)>> + '_ {
        let mut cursor = IndexCursor::new(from);
        iter::from_fn(move || self.next(&mut cursor).transpose())
    }

    /// The next entry ahead of a cursor.
    pub(super) fn next(&self, cursor: &mut IndexCursor) -> DiskResult<Option<(Vec<u8>, Locator)>> {
        // While this is locked, no fresh entry ends to be one, whether or not sled has it already.
        let fresh = self.fresh.read();
        loop {
            if cursor.read_at != Some(fresh.changes) {
                self.read_ahead(&fresh, cursor)?;
                cursor.read_at = Some(fresh.changes);
            }
            if let Some((key, at)) = cursor.ahead.next() {
                cursor.from = after(&key);
                return Ok(Some((key.into_vec(), at)));
            }
            let Some(rest) = cursor.rest.take() else { return Ok(None) };
            (cursor.from, cursor.read_at) = (rest, None);
        }
    }

    fn read_ahead(&self, fresh: &Fresh, cursor: &mut IndexCursor) -> DiskResult<()> {
        let (name, block) = self.block_of(&cursor.from)?;
        let mut end = name.strip_prefix(&[BLOCK]).map(Box::from);
        let mut found = BTreeMap::new();
        for entry in entries(&block) {
            let (key, at) = entry?;
            if key >= &*cursor.from {
                found.insert(key.into(), at);
            }
            if found.len() == READ_AT_ONCE {
                end = Some(key.into());
                break;
            }
        }
        let end = fresh.lay_over(&mut found, &cursor.from, end);
        cursor.rest = end.map(|end| after(&end));
        cursor.ahead = found.into_iter();
        Ok(())
    }

    /// The last key with a prefix.
    pub(super) fn last(&self, prefix: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        let named = block_name(prefix);
        let block = self.guarded(|| self.db().scan_prefix(named).keys().next_back().transpose())?;
        // Few keys come after this block. There may be none, and then any may be the last.
        for from in block.iter().map(|name| name[1..].to_vec()).chain([prefix.to_vec()]) {
            let has_prefix = |met: &DiskResult<(Vec<u8>, Locator)>| {
                met.as_ref().map_or(true, |(key, _)| key.starts_with(prefix))
            };
            let mut ahead = self.range(Bound::Included(from)).take_while(has_prefix);
            let last = ahead.try_fold(None, |_, met| met.map(|(key, _)| Some(key)))?;
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    /// Closes the index, so that it can be opened again. No other method may be called afterwards.
    pub(super) fn close(&mut self) -> DiskResult<()> {
        while self.db.is_some() && !self.fresh.read().is_empty() {
            self.move_fresh()?;
        }
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

    fn guarded<T>(&self, work: impl FnOnce() -> sled::Result<T>) -> DiskResult<T> {
        guarded(&self.volume, work)
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

fn block_name(last: &[u8]) -> Vec<u8> {
    [&[BLOCK], last].concat()
}

/// Bytes of an entry in a block beside its key.
const ENTRY_HEAD: usize = 18;

type Entry<'a> = (&'a [u8], Locator);

/// The entries of a block.
fn entries(mut block: &[u8]) -> impl Iterator<Item = DiskResult<Entry<'_>>> {
    iter::from_fn(move || {
        if block.is_empty() {
            return None;
        }
        let entry = entry(block);
        block = entry.map_or(&[], |(_, rest)| rest);
        let broken = || DiskError("the index has an entry that is not a place of a record".to_owned());
        Some(entry.map(|(entry, _)| entry).ok_or_else(broken))
    })
}

/// The first entry of a block, and the rest.
fn entry(block: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (length, rest) = block.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    let (at, rest) = rest.split_first_chunk::<16>()?;
    Some(((key, Locator::parse(at)?), rest))
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
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn options(volume: &Path) -> IndexOptions<'_> {
        IndexOptions { volume, cache_bytes: 1 << 20 }
    }

    fn filled(volume: &Path) -> VolumeIndex {
        let index = VolumeIndex::make(options(volume)).unwrap();
        for at in 0..100_u64 {
            index.set(&at.to_be_bytes(), Some(Locator { file: 1, at, length: 7 }));
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
        let listed = format!("offerd index 1 live 700\n{}\n", files.rsplit_once('\n').unwrap().0);
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

    #[derive(Debug, Clone)]
    enum Step {
        Set(Vec<u8>, u64),
        Remove(Vec<u8>),
        Move,
        Reopen,
        Walk,
    }

    /// Few keys, of which six fill a block.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        let head = vec(prop_oneof![Just(0), Just(7), Just(0xff)], 0..4);
        (head, any::<bool>()).prop_map(|(head, is_long)| [head, vec![0; 600 * usize::from(is_long)]].concat())
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (key(), 0..99_u64).prop_map(|(key, at)| Step::Set(key, at)),
            3 => key().prop_map(Step::Remove),
            2 => Just(Step::Move),
            1 => Just(Step::Reopen),
            5 => Just(Step::Walk),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(40) })]

        /// Whatever part of it sled has. A walk that goes on meets each change ahead.
        #[test]
        fn it_answers_as_a_map(steps in vec(step(), 0..120), asked in key()) {
            let directory = tempfile::tempdir().unwrap();
            let volume = directory.path();
            let mut index = VolumeIndex::make(options(volume)).unwrap();
            let mut map = BTreeMap::new();
            let (mut cursor, mut from) = (IndexCursor::new(Bound::Unbounded), Bound::Unbounded);
            for step in steps {
                match step {
                    Step::Set(key, at) => {
                        let at = Locator { file: 1, at, length: 7 };
                        index.set(&key, Some(at));
                        map.insert(key, at);
                    }
                    Step::Remove(key) => {
                        index.set(&key, None);
                        map.remove(&key);
                    }
                    Step::Move => index.move_fresh().unwrap(),
                    Step::Reopen => {
                        index.close().unwrap();
                        drop(index);
                        index = VolumeIndex::open_closed(options(volume)).unwrap().expect("it was closed");
                        prop_assert_eq!(index.live_bytes(), 7 * map.len() as u64);
                        (cursor, from) = (IndexCursor::new(from.clone()), from);
                    }
                    Step::Walk => {
                        let next = index.next(&mut cursor).unwrap();
                        let ahead = map.range::<Vec<u8>, _>((from.as_ref(), Bound::Unbounded)).next();
                        prop_assert_eq!(next.as_ref().map(|(key, at)| (key, at)), ahead);
                        from = next.map_or(from, |(key, _)| Bound::Excluded(key));
                    }
                }
                prop_assert_eq!(index.get(&asked).unwrap(), map.get(&asked).copied());
                let last = map.keys().rfind(|key| key.starts_with(&asked));
                prop_assert_eq!(index.last(&asked).unwrap(), last.cloned());
            }
            let all: Vec<_> = index.range(Bound::Unbounded).map(Result::unwrap).collect();
            prop_assert_eq!(all, map.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn while_entries_are_moved_each_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let index = filled(directory.path());
        index.move_fresh().unwrap();
        for at in (0..20_000_u64).filter(|at| at % 3 > 0) {
            index.set(&at.to_be_bytes(), Some(Locator { file: 2, at, length: 7 }));
        }
        let count = || index.range(Bound::Unbounded).map(Result::unwrap).count();
        let all = count();
        thread::scope(|threads| {
            let moved = threads.spawn(|| index.move_fresh().unwrap());
            while !moved.is_finished() {
                assert_eq!(count(), all);
                assert_eq!(index.get(&19_999_u64.to_be_bytes()).unwrap().map(|place| place.file), Some(2));
            }
        });
        assert_eq!((count(), index.digest.entries()), (all, all as u64));
        index.hold().unwrap();
    }
}
