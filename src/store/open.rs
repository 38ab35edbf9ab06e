//! The steps of opening: directory, sled with its lock, journal, format, volumes, last arrival.

use std::{
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    arrival::{Arrivals, FeedKey},
    arrival_clock::ArrivalClock,
    broken::{BrokenRecord, ReadError},
    commit::Commit,
    error::StoreError,
    frame::{Frame, Reason},
    health::FailureLatch,
    journal::{Journal, Replay},
    migration,
    options::StoreOptions,
    records::{Records, Scan},
    sealing::{MasterKey, Sealing, SealingError},
    trees::{TREES, Tree},
    volumes::{BASE, BASE_CACHE_SHARE, Begins, Kept, Number, Volumes, time_ms},
    writer::{Limits, Writer},
};

/// The format of the records this build writes. A store of an older one is rewritten when it is opened, if it must be.
pub const FORMAT: u32 = 3;

/// How often a held lock is tried again.
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// Where the format is kept.
pub(super) const FORMAT_KEY: &[u8] = b"format";

/// Where it is kept when volumes begin, before their numbers.
pub(super) const VOLUME_KEY: &[u8] = b"volume";

/// Where the arrival given out last is kept.
pub(super) const LAST_ARRIVAL: &[u8] = b"last_arrival";

/// A store that has been opened, before anything runs on it.
pub(super) struct Opened {
    pub(super) records: Arc<Records>,
    pub(super) writer: Writer,
    pub(super) latch: Arc<FailureLatch>,
    pub(super) clock: Arc<ArrivalClock>,
}

/// Opens the store, checks its format and makes a writer for it.
pub(super) fn open(options: &StoreOptions) -> Result<Opened, StoreError> {
    let master = MasterKey::find(options.master_key_file.as_deref(), &options.path)
        .map_err(|error| StoreError::Sealing(SealingError::MasterKey(error)))?;
    open_with(options, master)
}

/// Opens the store with this master key.
pub(super) fn open_with(options: &StoreOptions, master: Option<MasterKey>) -> Result<Opened, StoreError> {
    let path = &options.path;
    migration::finish_interrupted(path)?;
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|source| io_error(path, source))?;
    let db = open_base(options).map_err(|error| sled_error(path, error))?;
    read_format(&db, path)?;
    let volumes = Volumes::over(db.clone(), options).map_err(|source| io_error(path, source))?;
    let journal = replay(options, &volumes)?;
    let format = read_format(&db, path)?;
    if let Some(older) = format.filter(|format| migration::rewrites(*format)) {
        drop((volumes, journal));
        let master = migration::migrate(options, db, older, master)?;
        return open_with(options, Some(master));
    }
    volumes.settle(&listed(&db)?).map_err(|source| io_error(path, source))?;
    let sealing = Sealing::open(master, path, format.is_none()).map_err(StoreError::Sealing)?;
    let records = Arc::new(Records::new(volumes, sealing));
    let last_us = last_arrival_us(&records)?;
    let clock = Arc::new(ArrivalClock::after(last_us, options.clock.clone(), options.clock_limits));
    let arrivals = Arrivals::after(last_us, Arc::clone(&clock));
    note_latest(&records).map_err(ReadError::from)?;
    let latch = Arc::new(FailureLatch::default());
    let StoreOptions { volume_bytes, volume_age, mend_interval, .. } = *options;
    let limits = Limits { volume_bytes, volume_age, mend_interval };
    let mut writer = Writer::new(Arc::clone(&records), journal, arrivals, Arc::clone(&latch), limits);
    let mut first = Vec::new();
    if format != Some(FORMAT) {
        first.push(Commit::new().put(Tree::Meta, FORMAT_KEY, FORMAT.to_be_bytes()));
    }
    first.extend(records.sealing().unfinished().into_iter().map(Commit::rewrap));
    for outcome in writer.execute(&first) {
        outcome.map_err(|error| StoreError::Disk(error.to_string()))?;
    }
    if records.volumes().last().is_none() {
        writer.begin_volume().map_err(StoreError::Disk)?;
    }
    Ok(Opened { records, writer, latch, clock })
}

/// Gives sled what the journal still has for it, and begins the journal anew.
fn replay(options: &StoreOptions, volumes: &Volumes) -> Result<Journal, StoreError> {
    let directory = Journal::directory(&options.path);
    let io = |source| io_error(&directory, source);
    let replay = Replay::of(directory.clone()).map_err(io)?;
    let groups = replay.apply(|changes| volumes.apply(changes)).map_err(ReadError::from)?;
    if groups > 0 {
        volumes.make_durable().map_err(ReadError::from)?;
        tracing::info!(groups, "took in what the store's journal still held");
    }
    Journal::begin(replay, options.sync_fault.clone()).map_err(io)
}

/// The volumes that there are, and when they begin.
fn listed(db: &sled::Db) -> Result<Vec<(Number, Begins)>, StoreError> {
    let prefix = Tree::Meta.sled_key(VOLUME_KEY);
    let mut volumes = Vec::new();
    for entry in db.scan_prefix(&prefix) {
        let (sled_key, raw) = entry.map_err(ReadError::from)?;
        let payload = match Frame::open(&raw) {
            Ok(Frame::Whole(payload)) => Ok(payload),
            Ok(Frame::Split(_)) => Err(Reason::Short),
            Err(reason) => Err(reason),
        };
        let number =
            sled_key[prefix.len()..].try_into().map(Number::from_be_bytes).map_err(|_| Reason::Short);
        let begins = payload.and_then(|payload| Begins::parse(payload).ok_or(Reason::Short));
        match number.and_then(|number| Ok((number, begins?))) {
            Ok(volume) => volumes.push(volume),
            Err(reason) => {
                let broken = BrokenRecord::new(Tree::Meta, &sled_key[1..], reason);
                return Err(StoreError::Read(ReadError::Broken(broken)));
            }
        }
    }
    Ok(volumes)
}

/// Under which is kept when a volume begins.
pub(super) fn volume_key(number: Number) -> Vec<u8> {
    [VOLUME_KEY, &number.to_be_bytes()].concat()
}

/// Takes note of the latest time in the keys that there are. That in the feeds is the last arrival.
fn note_latest(records: &Records) -> sled::Result<()> {
    let volumes = records.volumes();
    let by_time = TREES.iter().filter(|row| row.kept == Kept::ByTime).map(|row| row.tree);
    for tree in by_time {
        for number in [Some(BASE), volumes.last().map(|(last, _)| last)].into_iter().flatten() {
            let Some(volume) = volumes.volume(number)? else { continue };
            if let Some(last) = volume.db().scan_prefix(tree.sled_key(&[])).next_back() {
                let (key, _) = last?;
                time_ms(tree, &key[1..]).into_iter().for_each(|ms| volumes.note_ms(ms));
            }
        }
    }
    Ok(())
}

/// Whether sled has been here.
pub(super) fn exists(path: &Path) -> bool {
    path.join("db").exists() || migration::is_interrupted(path)
}

/// The format that a store says it has; `None` where there is none, or a new one that has not told sled yet.
pub(super) fn format(options: &StoreOptions) -> Result<Option<u32>, StoreError> {
    if !options.path.join("db").exists() {
        return Ok(None);
    }
    let path = &options.path;
    read_format(&open_base(options).map_err(|error| sled_error(path, error))?, path)
}

/// Opens the base with its share of the memory for caches, which takes the store's lock.
pub(super) fn open_base(store: &StoreOptions) -> sled::Result<sled::Db> {
    open_sled(&StoreOptions { cache_bytes: store.cache_bytes / BASE_CACHE_SHARE, ..store.clone() })
}

/// Opens sled, which takes the lock.
///
/// A crash while sled writes a snapshot leaves a `snap.*.generating` that the next open takes for a snapshot and finds
/// corrupt. Without it sled recovers from its log, and nothing is lost. It is removed only then: before sled had the lock,
/// the file could have been another daemon's snapshot in the making.
pub(super) fn open_sled(options: &StoreOptions) -> sled::Result<sled::Db> {
    let path = &options.path;
    let config = sled::Config::new()
        .path(path)
        .use_compression(false)
        .cache_capacity(options.cache_bytes)
        // Checkpoints flush.
        .flush_every_ms(None);
    match wait_for_lock(&config, options.lock_wait) {
        Err(sled::Error::Corruption { .. }) if remove_unfinished_snapshots(path)? > 0 => {
            wait_for_lock(&config, options.lock_wait)
        }
        opened => opened,
    }
}

fn sled_error(path: &Path, error: sled::Error) -> StoreError {
    match error {
        locked if is_lock(&locked) => StoreError::Locked { path: path.to_owned() },
        other => StoreError::Disk(other.to_string()),
    }
}

/// Opens sled as soon as nobody else holds its lock, which may be a moment after the last handle on it was dropped: the
/// jobs that sled runs aside keep the file open until they are done.
fn wait_for_lock(config: &sled::Config, bound: Duration) -> sled::Result<sled::Db> {
    let began = Instant::now();
    loop {
        match config.open() {
            Err(error) if is_lock(&error) && began.elapsed() < bound => thread::park_timeout(LOCK_RETRY),
            opened => return opened,
        }
    }
}

/// sled tells of a lock by its text alone.
fn is_lock(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(io) if io.to_string().starts_with("could not acquire lock"))
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

/// The format the store says it has; `None` for a new store.
fn read_format(db: &sled::Db, path: &Path) -> Result<Option<u32>, StoreError> {
    let foreign = || StoreError::Foreign { path: path.to_owned() };
    let Some(raw) = db.get(Tree::Meta.sled_key(FORMAT_KEY)).map_err(ReadError::from)? else {
        return if db.is_empty() { Ok(None) } else { Err(foreign()) };
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
        Ok(0) => Err(foreign()),
        Ok(found) if found > FORMAT => Err(StoreError::Newer { found, known: FORMAT }),
        Ok(found) => Ok(Some(found)),
        Err(_) => Err(foreign()),
    }
}

/// The arrival given out last that is durable; from the feeds themselves when the record of it is broken.
pub(super) fn last_arrival_us(records: &Arc<Records>) -> Result<u64, StoreError> {
    match records.get(Tree::Meta, LAST_ARRIVAL) {
        Ok(None) => return Ok(0),
        Ok(Some(payload)) => {
            if let Ok(last) = <[u8; 8]>::try_from(payload.as_slice()) {
                return Ok(u64::from_be_bytes(last));
            }
        }
        Err(ReadError::Broken(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let mut last_us = 0;
    for record in Tree::FEEDS.into_iter().flat_map(|feed| Scan::new(Arc::clone(records), feed, &[], &[])) {
        let (key, _) = record?;
        last_us = FeedKey::parse(&key).map_or(last_us, |key| last_us.max(key.arrival_us));
    }
    Ok(last_us)
}

pub(super) fn io_error(path: &Path, source: std::io::Error) -> StoreError {
    StoreError::Io { path: PathBuf::from(path), source }
}
