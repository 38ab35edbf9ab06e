//! A store of before there were record files, up to format 3: sled held the records themselves, the base in the store's own
//! directory, each volume in `volumes/N`. It is read to be [migrated](super::migration), and written where an older
//! [backup](super::backup) is restored.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{
    broken::{BrokenRecord, ReadError},
    changes::Change,
    disk::{self, DiskError, DiskResult},
    error::StoreError,
    frame::{Frame, Reason},
    journal::{Journal, Replay, Version},
    options::StoreOptions,
    raw::RawValues,
    trees::Tree,
    volume_number::{BASE, Begins, Number},
};

/// The last format that was kept so.
pub(super) const LAST_FORMAT: u32 = 3;

/// How often a held lock is tried again.
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// Where the format was kept.
pub(super) const FORMAT_KEY: &[u8] = b"format";

/// Where it was kept when volumes begin, before their numbers.
pub(super) const VOLUME_KEY: &[u8] = b"volume";

/// A store of an older format that is open.
pub(super) struct Older {
    store: PathBuf,
    lock_wait: Duration,
    databases: BTreeMap<Number, sled::Db>,
}

impl RawValues for Older {
    fn raw(&self, key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        for database in self.databases.values() {
            if let Some(raw) = database.get(key)? {
                return Ok(Some(raw.to_vec()));
            }
        }
        Ok(None)
    }
}

impl Older {
    /// Whether there is one, and no newer.
    pub(super) fn exists(store: &Path) -> bool {
        store.join("db").exists() && !store.join("manifest").exists() && !store.join("manifest.copy").exists()
    }

    /// Opens one, and gives it what its journal still holds.
    pub(super) fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let mut older = Self::begin(options)?;
        older.format()?;
        let directory = Journal::directory(&options.path);
        let replay =
            Replay::of(directory.clone()).map_err(|source| StoreError::Io { path: directory, source })?;
        replay.apply(Version::One, |changes| older.apply(changes)).map_err(ReadError::from)?;
        for (number, _) in older.volumes()? {
            older.database(number).map_err(ReadError::from)?;
        }
        Ok(older)
    }

    /// Opens one or makes it, as its files are.
    pub(super) fn begin(options: &StoreOptions) -> Result<Self, StoreError> {
        let store = options.path.clone();
        let base = open_sled(&store, options.lock_wait).map_err(|error| match error {
            locked if is_lock(&locked) => StoreError::Locked { path: store.clone() },
            other => StoreError::Disk(other.to_string()),
        })?;
        Ok(Self { store, lock_wait: options.lock_wait, databases: [(BASE, base)].into() })
    }

    /// The format that it says it has; `None` where it is new and still empty.
    pub(super) fn format(&self) -> Result<Option<u32>, StoreError> {
        let foreign = || StoreError::Foreign { path: self.store.clone() };
        let base = &self.databases[&BASE];
        let raw = base
            .get(Tree::Meta.sled_key(FORMAT_KEY))
            .map_err(|error| ReadError::from(DiskError::from(error)))?;
        let Some(raw) = raw else {
            return if base.is_empty() { Ok(None) } else { Err(foreign()) };
        };
        let payload = match Frame::open(&raw) {
            Ok(Frame::Whole(payload)) => payload,
            Ok(Frame::Split(_)) => return Err(foreign()),
            Err(reason) => {
                let broken = BrokenRecord::new(Tree::Meta, FORMAT_KEY, reason);
                return Err(StoreError::Read(ReadError::Broken(broken)));
            }
        };
        match <[u8; 4]>::try_from(payload).map(u32::from_be_bytes) {
            Ok(found @ 1..=LAST_FORMAT) => Ok(Some(found)),
            Ok(0) | Err(_) => Err(foreign()),
            Ok(found) => Err(StoreError::Newer { found, known: LAST_FORMAT }),
        }
    }

    /// The dated volumes that there are, and when they begin.
    pub(super) fn volumes(&self) -> Result<Vec<(Number, Begins)>, StoreError> {
        let prefix = Tree::Meta.sled_key(VOLUME_KEY);
        let mut volumes = Vec::new();
        for entry in self.databases[&BASE].scan_prefix(&prefix) {
            let (key, raw) = entry.map_err(|error| ReadError::from(DiskError::from(error)))?;
            let payload = match Frame::open(&raw) {
                Ok(Frame::Whole(payload)) => Ok(payload),
                Ok(Frame::Split(_)) => Err(Reason::Short),
                Err(reason) => Err(reason),
            };
            let number = key[prefix.len()..].try_into().map(Number::from_be_bytes).map_err(|_| Reason::Short);
            let begins = payload.and_then(|payload| begins(payload).ok_or(Reason::Short));
            match number.and_then(|number| Ok((number, begins?))) {
                Ok(volume) => volumes.push(volume),
                Err(reason) => {
                    let broken = BrokenRecord::new(Tree::Meta, &key[1..], reason);
                    return Err(StoreError::Read(ReadError::Broken(broken)));
                }
            }
        }
        Ok(volumes)
    }

    /// Every record of the base or of a volume, as it lies there, in the order of the keys.
    pub(super) fn records(&self, number: Number) -> impl Iterator<Item = DiskResult<(Vec<u8>, Vec<u8>)>> {
        let database = self.databases.get(&number).map(|database| database.iter());
        database.into_iter().flatten().map(|entry| {
            let (key, value) = entry?;
            Ok((key.to_vec(), value.to_vec()))
        })
    }

    /// The directory of the store.
    pub(super) fn path(&self) -> &Path {
        &self.store
    }

    /// About how many bytes its files have.
    pub(super) fn bytes(&self) -> u64 {
        self.databases.values().filter_map(|database| database.size_on_disk().ok()).sum()
    }

    /// Applies changes, each in its volume.
    pub(super) fn apply(&mut self, changes: Vec<Change>) -> DiskResult<()> {
        for Change { volume, key, value } in changes {
            let database = self.database(volume)?;
            match value {
                Some(raw) => database.insert(key, raw)?,
                None => database.remove(key)?,
            };
        }
        Ok(())
    }

    fn database(&mut self, number: Number) -> DiskResult<&sled::Db> {
        if !self.databases.contains_key(&number) {
            let path = self.store.join("volumes").join(number.to_string());
            self.databases.insert(number, open_sled(&path, self.lock_wait)?);
        }
        Ok(&self.databases[&number])
    }
}

/// When a volume begins, as it was kept.
fn begins(bytes: &[u8]) -> Option<Begins> {
    let (span_ms, use_ms) = bytes.split_first_chunk()?;
    let use_ms = u64::from_be_bytes(use_ms.try_into().ok()?);
    Some(Begins { span_ms: u64::from_be_bytes(*span_ms), use_ms })
}

/// Opens sled, as soon as nobody else holds its lock.
///
/// A crash while sled wrote a snapshot has left a `snap.*.generating` that the next open takes for a snapshot and finds
/// corrupt. Without it sled recovers from its log, and nothing is lost.
fn open_sled(path: &Path, lock_wait: Duration) -> DiskResult<sled::Db> {
    disk::make_directory(path)?;
    let config = sled::Config::new().path(path).use_compression(false).flush_every_ms(None);
    let opened = || -> sled::Result<sled::Db> {
        let began = Instant::now();
        loop {
            match config.open() {
                Err(error) if is_lock(&DiskError(error.to_string())) && began.elapsed() < lock_wait => {
                    thread::park_timeout(LOCK_RETRY);
                }
                opened => return opened,
            }
        }
    };
    match opened() {
        Err(sled::Error::Corruption { .. }) if remove_unfinished_snapshots(path)? > 0 => Ok(opened()?),
        opened => Ok(opened?),
    }
}

/// sled's error over a lock is known by its text alone.
fn is_lock(error: &DiskError) -> bool {
    error.0.contains("could not acquire lock")
}

fn remove_unfinished_snapshots(path: &Path) -> std::io::Result<usize> {
    let mut removed = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(entry.path())?;
            tracing::warn!(file = name, "removed a snapshot that a crash left unfinished");
            removed += 1;
        }
    }
    Ok(removed)
}
