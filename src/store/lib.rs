//! The store: everything that must outlive the process, and the only crate that knows sled.
//!
//! # Two engines
//! Callers see the same on both: guarded commits over trees, reads, scans, feeds in order of arrival,
//! sealing. An `engine` keeps raw values under keys: the file engine described here, or `postgres` for
//! [`StoreOptions::database`]. `group` decides the outcome of each commit. A read may block on both.
//!
//! # How a commit becomes durable
//! 1. A [`Commit`] holds guards and writes, over any number of [trees](TREES). [`Store::commit`] puts it into
//!    a bounded queue before it returns; a full queue is [`CommitError::Busy`] at once.
//! 2. The writer takes the queued commits, up to [`StoreOptions::group`], and checks each guard against the
//!    stored records overlaid with the group's earlier writes: of two with the same guard one wins (promise
//!    S5 of `tests/it/promises.rs`, as all such numbers).
//! 3. A record appended to a feed gets an arrival time later than any earlier one, also after a restart or
//!    when the clock steps back (S6).
//! 4. The group is appended to the journal (`journal`) and synced. From here it is durable, all of it or
//!    nothing.
//! 5. The group is appended to the record files (`record_file`) of each volume (`volumes`), then entered into
//!    their indexes (`index`), in memory. Readers are locked out only during the second, so they see the
//!    whole group or nothing. Then every commit of the group is answered, refused ones included (S1).
//! 6. If a write or a sync fails, no commit of the group is acknowledged and the store is
//!    [`StoreHealth::Failed`] (L4). If only a stored record cannot be read, the commits are tried one by one,
//!    and those that need it are refused.
//! 7. In the background, checkpoints (`checkpoint`) sync the record files, recycle full journal segments, and
//!    bring the indexes to sled. The next start replays from the journal what a crash kept from the record
//!    files (`recovery`).
//!
//! # The source of truth
//! The journal and the record files: append-only, checksummed, and synced before anything relies on them. The
//! `manifest` lists the files that must exist. Everything sled writes can be rebuilt.
//!
//! Volume 0, the *base*, holds keys, tokens, users and records without a time; each other volume holds the
//! records of a span of time.
//!
//! A disk that stops answering is detected within [`StoreOptions::stall_after`] (`stall`).
//! [`disk_wait`](Store::disk_wait) measures how long commits wait for the disk.
//!
//! # What reads guarantee
//! Each value carries a version and a checksum ([`BrokenReason`] lists the faults). A broken record is counted,
//! logged once without its value, and is an error of that one record: [`Store::get`] returns it,
//! [`Store::scan`] skips it. The same holds for a payload that does not decode exactly. Reads take no lock
//! that is held over a disk write; they wait briefly while indexes take in a group.
//!
//! # What a thief of the disk learns
//! Nothing about a person. This crate [seals](sealing) personal data on its way to the disk.
//!
//! # Other parts
//! [`drop_before`](Store::drop_before) drops data past its retention, volume by volume; in a database
//! [`expire_before`](Store::expire_before) removes it record by record. [`backup`] copies the store as of one
//! instant. [`salvage`] makes a sound store from a damaged one. [`copy`] moves a store into a database, and
//! back. A store of another [`FORMAT`] is refused before anything is written.
//!
//! # Layers
//! A file or folder uses only those in the rows below it or to its left. `lib.rs` uses every row; only the
//! rows `registry` and `by Store` use its `Store`. `testing`, for tests, is above all.
//!
//! ```text
//! salvaging  backup  salvage
//! registry   the folder: kept for callers, through a Store, as any caller would
//! by Store   nodes  retention  expiry  ephemeral
//! care       check  scrub  staging  new_files  copy
//! start      recovery  open
//!            postgres, the other engine, stands beside the rows from start to volumes
//! writing    checkpoint  writer
//! reading    records
//! volumes    index  volumes
//! surface    topics  engine  scan  group  committer  completion_queue  queue  record_locks
//!            shared by both engines, from here down
//! files      record_file  index_digest  journal  space  manifest  raw  sealing  error  options  owner  lock
//! words      codec  disk  clock  health  stall  user  cluster  progress  volume_number  arrival_clock
//!            arrival  frame  trees  broken  commit  changes  write_observer  damage  damages
//! ```
//!
//! # Deliberately absent
//! No type of the model below `registry`: there, payloads are bytes. No retry of a failed sync. No type of
//! sled in a signature.

mod arrival;
mod arrival_clock;
pub mod backup;
mod broken;
#[cfg(test)]
#[path = "../../tests/it/kit/cases.rs"]
mod cases;
mod changes;
mod check;
mod checkpoint;
mod clock;
mod cluster;
pub mod codec;
mod commit;
mod committer;
mod completion_queue;
pub mod copy;
mod damage;
mod damages;
mod disk;
mod engine;
mod ephemeral;
mod error;
mod expiry;
mod frame;
mod group;
mod health;
mod index;
mod index_digest;
mod journal;
#[cfg(test)]
#[path = "../../tests/it/kit/line.rs"]
mod line;
mod lock;
mod manifest;
mod new_files;
mod nodes;
mod open;
mod options;
mod owner;
mod postgres;
mod progress;
mod queue;
mod raw;
mod record_file;
mod record_locks;
mod records;
mod recovery;
pub mod registry;
mod retention;
pub mod salvage;
mod scan;
mod scrub;
pub mod sealing;
mod space;
pub mod staging;
mod stall;
#[cfg(any(test, feature = "test"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod topics;
mod trees;
mod user;
mod volume_number;
mod volumes;
mod write_observer;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{fmt, io, thread};

use chrono::Utc;
use crossbeam_channel::Sender;
use futures_util::future::join_all;
use serde::de::DeserializeOwned;
use uuid::Uuid;

pub use self::arrival::FeedKey;
pub use self::arrival_clock::{ClockLimits, ClockStatus};
pub use self::broken::{BrokenRecord, ReadError, ReadResult, unless_broken};
pub use self::check::CheckReport;
pub use self::clock::Clock;
pub use self::cluster::{DatabaseStatus, NodeRow};
pub use self::codec::CodecError;
pub use self::commit::{Commit, CommitError};
pub use self::completion_queue::answer_commits_here;
pub use self::damage::{DamageKind, FileDamage, Neighbour};
#[doc(hidden)]
pub use self::disk::SyncFault;
pub use self::error::StoreError;
pub use self::expiry::Expired;
pub use self::frame::{BrokenReason, VALUE_LIMIT};
pub use self::health::StoreHealth;
pub use self::index::wait_closed;
pub use self::journal::START_BYTES;
pub use self::manifest::FORMAT;
pub use self::options::{StoreOptions, suppression_key_file};
pub use self::postgres::DatabaseFigures;
pub use self::progress::{PhaseProgress, ProgressCallback};
pub use self::record_locks::RecordLock;
pub use self::registry::{
    audit, contacts, entities, identities, opt_outs, partner_keys, pauses, suppressions, tokens, users,
};
pub use self::retention::{Dropped, RetentionError};
pub use self::scan::Scan;
pub use self::sealing::{MasterKey, MasterKeyError, SealingError};
pub use self::space::{DISK_FULL, SpaceFault, has_ballast, unusable};
pub use self::topics::Topic;
pub use self::trees::{Seal, TREES, Tree, TreeRow, VolumeSelector};
pub use self::user::User;
pub use self::volumes::VolumeSpan;

use self::arrival::{Arrivals, LAST_ARRIVAL};
use self::arrival_clock::ArrivalClock;
use self::backup::{Backup, BackupError};
use self::changes::RecordChange;
use self::cluster::Cluster;
use self::commit::CommitResult;
use self::damages::Damages;
use self::disk::{DiskError, DiskResult};
use self::engine::{OwnedKeys, StoreBackend};
use self::error::io_error;
use self::frame::{framed, unframed};
use self::health::FailureLatch;
use self::lock::Lock;
use self::open::OpenedFiles;
use self::postgres::Database;
use self::queue::CommitQueue;
use self::raw::{RawRecord, read_clear};
use self::record_locks::RecordLocks;
use self::records::StoredRecords;
use self::sealing::data_key;
use self::sealing::key_file::KeyFile;
use self::sealing::key_place::KeyPlace as _;
use self::space::DiskSpace;
use self::stall::Stalls;
use self::topics::Topics;
use self::volume_number::{BASE, VolumeNumber, VolumeStart, directory_of};
use self::volumes::Volumes;
use offerd_base::config::PostgresSettings;

/// Pause before a change that could not be taken in is retried.
const TAKEN_IN_AGAIN: Duration = Duration::from_millis(250);

/// Opens the closed volumes on a background thread, youngest first, so that no later reader waits for it.
fn open_volumes(shared: &Arc<StoreInner>) -> io::Result<()> {
    let Some(files) = &shared.files else { return Ok(()) };
    let (numbers, shared) = (files.records.volumes().numbers(), Arc::downgrade(shared));
    let open = move || {
        for number in numbers.into_iter().rev() {
            let Some(shared) = shared.upgrade() else { return };
            let Some(files) = &shared.files else { return };
            if let Err(error) = files.records.volumes().volume(number) {
                tracing::error!(volume = number, %error, "cannot open a volume of the store");
            }
        }
    };
    thread::Builder::new().name("store-volumes".to_owned()).spawn(open).map(drop)
}

/// A handle on the open store. Clones share it; dropping the last one closes the store. sled releases the
/// lock a moment later; a new open waits for that ([`StoreOptions::lock_wait`]).
#[derive(Clone)]
pub struct Store {
    shared: Arc<StoreInner>,
}

struct StoreInner {
    /// The directory of the store; with a database, this process's own directory.
    path: PathBuf,
    // Declared before the records, so that the writer ends before sled is closed.
    queue: CommitQueue,
    /// Of a store in files of this machine.
    files: Option<FilesBacking>,
    /// Of a store in a database, with the lock on this process's directory.
    database: Option<(Arc<Database>, Option<Lock>)>,
    engine: Arc<dyn StoreBackend>,
    latch: Arc<FailureLatch>,
    stalls: Arc<Stalls>,
    clock: Arc<ArrivalClock>,
    record_locks: Arc<RecordLocks>,
    topics: Arc<Topics>,
    cluster: Arc<Cluster>,
}

struct FilesBacking {
    records: Arc<StoredRecords>,
    space: DiskSpace,
    /// Stops the scrubber when dropped, if there is one.
    _scrubbing: Option<Sender<()>>,
}

impl StoreInner {
    fn close(&self) -> Result<(), StoreError> {
        if self.files.is_some() {
            space::free_ballast(&self.path);
        }
        self.queue.close()
    }

    fn in_files(options: &StoreOptions, has_threads: bool) -> Result<Self, StoreError> {
        copy::refuse_claimed(&options.path)?;
        let is_new = !open::exists(&options.path);
        let opened = open::open(options).or_else(|error| {
            let is_full = error.may_be_full_disk() && space::free_ballast(&options.path);
            if is_full { open::open(options) } else { Err(error) }
        });
        let OpenedFiles { records, mut committer, clock } = opened?;
        if is_new && options.suppression_key.as_ref().is_some_and(|key| key.exists()) {
            let (key, list) = registry::suppressions::new_beside_key(Utc::now().timestamp_millis());
            committer.execute_all(&[Commit::new().put(Tree::Suppressions, key, list)])?;
        }
        if options.reserve_bytes > 0 {
            space::take_ballast(&options.path, options.reserve_bytes);
        }
        copy::refuse_unfinished(&*records)?;
        let io = |source| io_error(&options.path, source);
        let space = DiskSpace::new(options.path.clone(), options.reserve_bytes, options.space_fault.clone());
        if has_threads {
            committer.writer.checkpoints.begin_thread().map_err(io)?;
        }
        let scrubs = has_threads && !options.scrub_interval.is_zero();
        let scrub = || scrub::begin(&records, options.scrub_interval, options.scrub_rate);
        let scrubbing = scrubs.then(scrub).transpose().map_err(io)?;
        let engine = Arc::<StoredRecords>::clone(&records);
        let topics = Arc::clone(&records.topics);
        let record_locks = RecordLocks::new(options.changes_per_record, false);
        let (latch, stalls) = (Arc::clone(&committer.latch), Arc::clone(&committer.stalls));
        let queue = CommitQueue::new(committer, options, has_threads).map_err(io)?;
        let (path, cluster) = (options.path.clone(), Arc::new(Cluster::alone()));
        let (files, database) = (Some(FilesBacking { records, space, _scrubbing: scrubbing }), None);
        Ok(Self { path, queue, files, database, engine, latch, stalls, clock, record_locks, topics, cluster })
    }

    fn in_database(
        options: &StoreOptions,
        database: &PostgresSettings,
        has_threads: bool,
    ) -> Result<Self, StoreError> {
        let io = |source| io_error(&options.path, source);
        let mut lock = None;
        if has_threads {
            disk::make_directory(&options.path).map_err(io)?;
            lock = Some(Lock::take(&options.path, options.lock_wait)?);
        }
        let opened = postgres::open(options, database)?;
        let postgres::OpenedDatabase { database, committer, clock, topics, cluster } = opened;
        copy::refuse_unfinished(&*database).or_else(|refused| postgres::leave(&database, refused))?;
        let engine = Arc::<Database>::clone(&database);
        let record_locks = RecordLocks::new(options.changes_per_record, true);
        let (latch, stalls) = (Arc::clone(&committer.latch), Arc::clone(&committer.stalls));
        let queue = CommitQueue::new(committer, options, has_threads).map_err(io)?;
        let (path, files, database) = (options.path.clone(), None, Some((database, lock)));
        Ok(Self { path, queue, files, database, engine, latch, stalls, clock, record_locks, topics, cluster })
    }
}

impl Store {
    /// Opens the store, or creates it durably. Once this returns, all that was acknowledged is readable.
    pub fn open(options: StoreOptions) -> Result<Self, StoreError> {
        Self::open_as(&options, true)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.shared.path
    }

    fn open_as(options: &StoreOptions, has_threads: bool) -> Result<Self, StoreError> {
        let shared = Arc::new(match &options.database {
            Some(database) => StoreInner::in_database(options, database, has_threads)?,
            None => StoreInner::in_files(options, has_threads)?,
        });
        if has_threads {
            let watched = stall::watch(&shared.stalls, &shared.latch);
            let begun = watched.and_then(|()| open_volumes(&shared));
            begun.map_err(|source| io_error(&options.path, source))?;
        }
        Ok(Self { shared })
    }

    /// Figures of the database in these options; `None` if it has no tables yet or none is named.
    ///
    /// # Errors
    /// The database cannot be queried, or holds an unfinished copy.
    pub fn database_figures(options: &StoreOptions) -> Result<Option<DatabaseFigures>, StoreError> {
        let Some(database) = &options.database else { return Ok(None) };
        let figures = postgres::figures(database)?;
        if figures.as_ref().is_some_and(|figures| figures.version == figures.known) {
            copy::refuse_unfinished_in(database)?;
        }
        Ok(figures)
    }

    /// A fault in a database's settings, found without connecting: the key of the setting, and the message.
    pub fn database_fault(database: &PostgresSettings) -> Option<(&'static str, String)> {
        postgres::fault(database)
    }

    /// Opens the store without a writer thread: [`commit`](Self::commit) does all its work before it returns,
    /// with the same code. For tests under a paused clock, which would otherwise run ahead of the writer.
    pub fn open_inline(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_inline_with(&StoreOptions::new(path.as_ref()))
    }

    /// Like [`open_inline`](Self::open_inline), with the caller's clock and limits.
    pub fn open_inline_with(options: &StoreOptions) -> Result<Self, StoreError> {
        Self::open_as(options, false)
    }

    /// Queues a commit and returns a future of its outcome; dropping the future does not cancel it. Commits
    /// are written in the order they were queued.
    ///
    /// Once the future resolves to `Ok`, all writes survive a kill and a power cut. After a kill before that,
    /// either all of them exist or none.
    pub fn commit(&self, commit: Commit) -> impl Future<Output = Result<(), CommitError>> + Send + use<> {
        self.shared.queue.submit(commit)
    }

    /// Like [`commit`](Self::commit), but fails with [`CommitError::Late`]: at once while the disk is
    /// stalled, or after `longest`; in that case it may still be written later.
    pub async fn commit_within(&self, longest: Duration, commit: Commit) -> Result<(), CommitError> {
        if self.is_stalled() {
            return Err(CommitError::Late);
        }
        let outcome = tokio::time::timeout(longest, self.commit(commit)).await;
        outcome.unwrap_or(Err(CommitError::Late))
    }

    /// Takes the record lock of a record, waiting at most `longest`: hold it to read the record, change it
    /// and commit the result. Waiters are served in order of arrival.
    ///
    /// # Errors
    /// [`CommitError::Crowded`] when the line of waiters is full or the wait exceeds `longest`;
    /// [`CommitError::Late`] while the disk is stalled.
    pub async fn lock_record(
        &self,
        longest: Duration,
        tree: Tree,
        key: impl AsRef<[u8]>,
    ) -> Result<RecordLock, CommitError> {
        if self.is_stalled() {
            return Err(CommitError::Late);
        }
        self.shared.record_locks.take(longest, tree, key.as_ref()).await
    }

    /// Commits each of these on its own, and waits for all of them.
    ///
    /// # Errors
    /// The first failure, in their order, that `passes` does not accept.
    pub async fn commit_all(&self, commits: Vec<Commit>, passes: fn(&CommitError) -> bool) -> CommitResult {
        let outcomes = join_all(commits.into_iter().map(|commit| self.commit(commit))).await;
        let failed = outcomes.into_iter().filter_map(Result::err).find(|failure| !passes(failure));
        failed.map_or(Ok(()), Err)
    }

    /// Removes records in order, in small commits that do not delay others. Stops at the first failure.
    pub async fn remove_all(&self, tree: Tree, keys: &[Vec<u8>]) -> Result<(), CommitError> {
        for some in keys.chunks(retention::AT_ONCE) {
            let add_removal = |commit: Commit, key: &Vec<u8>| commit.remove(tree, key);
            self.commit(some.iter().fold(Commit::new(), add_removal)).await?;
        }
        Ok(())
    }

    /// Whether the disk is stalled, so that commits wait.
    pub fn is_stalled(&self) -> bool {
        self.shared.stalls.stall().is_some()
    }

    /// Waits until the disk stalls.
    pub async fn until_stalled(&self) {
        self.shared.stalls.until_stalled().await;
    }

    /// Waits until only a new process can continue, and returns the reason. One caller waits at a time.
    pub async fn until_lost(&self) -> String {
        self.shared.latch.until_lost().await
    }

    /// Set once the store has failed for good. For callers that must not block on the store.
    pub fn lost(&self) -> Arc<AtomicBool> {
        self.shared.latch.lost()
    }

    /// An upper bound on how long a commit acknowledged just now waited for the disk: the last two groups.
    pub fn disk_wait(&self) -> Duration {
        self.shared.queue.disk_wait()
    }

    /// The payload of one record. It is on the disk already, even where its commit is not acknowledged yet.
    pub fn get(&self, tree: Tree, key: impl AsRef<[u8]>) -> ReadResult<Option<Vec<u8>>> {
        self.shared.engine.get(tree, key.as_ref())
    }

    /// One record written by [`codec::encode`], with the guarantees of [`get`](Self::get).
    pub fn read<T: DeserializeOwned>(&self, tree: Tree, key: impl AsRef<[u8]>) -> ReadResult<Option<T>> {
        let payload = self.get(tree, key.as_ref())?;
        payload.map(|payload| self.decode(tree, key.as_ref(), &payload)).transpose()
    }

    /// One record written by [`codec::encode_json`], with the guarantees of [`get`](Self::get).
    pub fn read_json<T: DeserializeOwned>(&self, tree: Tree, key: impl AsRef<[u8]>) -> ReadResult<Option<T>> {
        let payload = self.get(tree, key.as_ref())?;
        payload.map(|payload| self.decode_json(tree, key.as_ref(), &payload)).transpose()
    }

    /// Decodes the payload of a record. One that does not decode exactly counts as a broken record.
    pub fn decode<T: DeserializeOwned>(&self, tree: Tree, key: &[u8], payload: &[u8]) -> ReadResult<T> {
        codec::decode(payload).map_err(|error| self.undecoded(tree, key, error))
    }

    /// Like [`decode`](Self::decode), for a record that is JSON.
    pub fn decode_json<T: DeserializeOwned>(&self, tree: Tree, key: &[u8], payload: &[u8]) -> ReadResult<T> {
        codec::decode_json(payload).map_err(|error| self.undecoded(tree, key, error))
    }

    /// Counts a record that its reader cannot decode, and logs it once.
    pub fn undecoded(&self, tree: Tree, key: &[u8], error: CodecError) -> ReadError {
        let broken = BrokenRecord::new(tree, key, BrokenReason::Payload(error));
        self.shared.engine.reported().note(&broken);
        ReadError::Broken(broken)
    }

    /// Keys and payloads of the records whose key begins with `prefix`, in key order, with the guarantees of
    /// [`get`](Self::get). The only error is [`ReadError::Disk`]: broken records are reported and skipped.
    pub fn scan(&self, tree: Tree, prefix: impl AsRef<[u8]>) -> Scan {
        self.scan_from(tree, prefix.as_ref(), prefix.as_ref())
    }

    /// Like [`scan`](Self::scan), from the key `start` on, inclusive.
    pub fn scan_from(&self, tree: Tree, start: impl AsRef<[u8]>, prefix: impl AsRef<[u8]>) -> Scan {
        Scan::new(Arc::clone(&self.shared.engine), tree, start.as_ref(), prefix.as_ref())
    }

    /// The records of a company's feed from an arrival on, in microseconds, with the list in each. A record
    /// that does not decode is reported and yields an empty list.
    pub fn feed_from<T: DeserializeOwned>(
        &self,
        feed: Tree,
        company: Uuid,
        from_us: u64,
    ) -> impl Iterator<Item = ReadResult<(FeedKey, Vec<T>)>> + use<T> {
        let start = FeedKey::first_at(company, from_us).to_bytes();
        self.listed(feed, self.scan_from(feed, start, company))
    }

    /// Like [`feed_from`](Self::feed_from), for the records of a feed that a scan yields.
    pub fn listed<T: DeserializeOwned>(
        &self,
        feed: Tree,
        scan: Scan,
    ) -> impl Iterator<Item = ReadResult<(FeedKey, Vec<T>)>> + use<T> {
        let store = self.clone();
        scan.read_by(move |key, payload| {
            Some((FeedKey::parse(&key)?, store.decode(feed, &key, &payload).unwrap_or_default()))
        })
    }

    /// Like [`scan_from`](Self::scan_from), for a tree that is [sealed by lead](Seal::Lead): records about
    /// other leads are skipped without being opened.
    pub fn scan_about(&self, lead: Uuid, tree: Tree, at: impl AsRef<[u8]>, prefix: impl AsRef<[u8]>) -> Scan {
        let mut scan = self.scan_from(tree, at, prefix);
        scan.about = Some(lead);
        scan
    }

    /// Like [`scan`](Self::scan), but yields each broken record as an error.
    pub fn scan_all(&self, tree: Tree, prefix: impl AsRef<[u8]>) -> Scan {
        self.scan(tree, prefix).naming_broken()
    }

    /// The leads of the records of a tree [sealed by lead](Seal::Lead), with the record keys, from `start`
    /// on. Includes records whose data key is destroyed, since it opens none; broken ones are skipped.
    pub fn owners(&self, tree: Tree, start: &[u8], prefix: &[u8]) -> OwnedKeys {
        self.shared.engine.owners(tree, start, prefix)
    }

    /// Groups leads by slot: those of one group can be [erased in one commit](Commit::erase_all).
    pub fn by_slot(&self, leads: impl IntoIterator<Item = Uuid>) -> Vec<Vec<Uuid>> {
        let slots = &self.shared.engine.sealing().slots;
        let mut by_slot = BTreeMap::<u16, Vec<Uuid>>::new();
        leads.into_iter().for_each(|lead| by_slot.entry(slots.slot_of(lead)).or_default().push(lead));
        by_slot.into_values().collect()
    }

    /// Reads every record and reports the broken ones. Takes as long as reading the whole store.
    pub fn check(&self) -> ReadResult<CheckReport> {
        let in_database = || check::check_records_of(&*self.shared.engine);
        self.shared.files.as_ref().map_or_else(in_database, |files| check::check(&files.records))
    }

    /// Begins a [backup], which contains everything acknowledged so far.
    ///
    /// # Errors
    /// Another backup is in progress, or the store is in a database.
    pub fn backup(&self) -> Result<Backup, BackupError> {
        let files = self.shared.files.as_ref().ok_or(BackupError::InDatabase)?;
        Backup::begin(Arc::clone(&files.records))
    }

    /// Whether a directory holds a store.
    pub fn exists(path: &Path) -> bool {
        open::exists(path)
    }

    /// The error for a store of another format in this directory, if it holds one. Opens nothing.
    pub fn format_fault(path: &Path) -> Option<StoreError> {
        open::format_fault(path)
    }

    /// Waits until the store takes commits again after its disk failed. One caller waits at a time.
    pub async fn until_mended(&self) {
        self.shared.latch.until_mended().await;
    }

    /// Total size of the store's files in bytes, without the journal and the keys; 0 with a database.
    pub fn bytes(&self) -> u64 {
        self.volumes_of_files().map_or(0, Volumes::bytes_on_disk)
    }

    /// The damage found in the store's files since it was opened.
    pub fn damages(&self) -> Vec<FileDamage> {
        self.volumes_of_files().map_or_else(Vec::new, |volumes| volumes.damages.all())
    }

    /// A file of the base that is lost entirely, and with it access tokens and keys of leads.
    pub fn lost_base(&self) -> Option<FileDamage> {
        let is_lost = |what: &DamageKind| match what {
            DamageKind::Missing => true,
            DamageKind::CutShort { bytes, .. } => *bytes <= record_file::HEADING,
            _ => false,
        };
        let is_of_base = |damage: &FileDamage| damage.volume == Some(BASE);
        self.damages().into_iter().find(|damage| is_of_base(damage) && is_lost(&damage.what))
    }

    /// The number of places where leads may be unreadable, so far known.
    pub fn unreadable_places(&self) -> usize {
        const OF_LEADS: [Tree; 4] = [Tree::Leads, Tree::LeadKeys, Tree::Identities, Tree::LeadEvents];
        let damages = self.damages().iter().filter(|damage| damage.costs_records()).count();
        let broken = self.broken();
        let broken: u64 = OF_LEADS.iter().filter_map(|tree| broken.get(tree)).sum();
        damages.max(usize::try_from(broken).unwrap_or(usize::MAX))
    }

    /// Whether a record missing from a tree of the base may have been lost to damage.
    pub(crate) fn may_have_lost(&self, tree: Tree) -> bool {
        self.broken().contains_key(&tree) || self.is_base_damaged()
    }

    /// Whether the base may lack records: the disk cannot read all of it, damage to the base or the journal
    /// has cost some, or the list of its files is lost.
    pub fn is_base_damaged(&self) -> bool {
        // The journal held records of all volumes.
        let is_of_base = |damage: &FileDamage| damage.volume.is_none_or(|of| of == BASE);
        self.volumes_of_files().is_some_and(|volumes| volumes.base.is_distrusted())
            || self.damages().iter().any(|damage| damage.costs_records() && is_of_base(damage))
    }

    /// A counter that grows with each change of a topic, before that change is acknowledged; for changes by
    /// other processes on the store, within a quarter of a second.
    pub fn changes_of(&self, topic: Topic) -> u64 {
        self.shared.topics.count(topic)
    }

    /// Waits until the counter of a topic differs from `seen`, and returns it.
    pub async fn until_changed(&self, topic: Topic, seen: u64) -> u64 {
        self.shared.topics.until_changed(topic, seen).await
    }

    /// Calls `take_in` after each change of a topic past `seen`, for ever. Retries a failed call.
    pub async fn follow<F, E>(&self, topic: Topic, seen: u64, take_in: impl Fn() -> F)
    where
        F: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let mut seen = seen;
        loop {
            seen = self.until_changed(topic, seen).await;
            let mut is_told = false;
            while let Err(failure) = take_in().await {
                if !is_told {
                    tracing::error!(?topic, %failure, "cannot load changed records; retrying until it \
                        succeeds");
                }
                is_told = true;
                tokio::time::sleep(TAKEN_IN_AGAIN).await;
            }
        }
    }

    /// The keys with a `prefix`, of unreadable records too. The only error is [`ReadError::Disk`].
    pub fn keys(&self, tree: Tree, prefix: impl AsRef<[u8]>) -> ReadResult<Vec<Vec<u8>>> {
        self.shared.engine.keys(tree, prefix.as_ref()).collect()
    }

    /// The number of records of a tree whose key begins with `prefix`, unreadable ones included. May block on
    /// the database. The only error is [`ReadError::Disk`].
    pub fn count(&self, tree: Tree, prefix: impl AsRef<[u8]>) -> ReadResult<u64> {
        self.shared.engine.count(tree, prefix.as_ref())
    }

    /// The number of unreadable records met since the store was opened, by tree.
    pub fn broken(&self) -> BTreeMap<Tree, u64> {
        self.shared.engine.reported().by_tree()
    }

    /// The number of unreadable records met since the store was opened.
    pub fn broken_records(&self) -> usize {
        usize::try_from(self.broken().into_values().sum::<u64>()).unwrap_or(usize::MAX)
    }

    /// The volumes by time, the oldest first. The last is the one that grows.
    pub fn volumes(&self) -> Vec<VolumeSpan> {
        self.volumes_of_files().map_or_else(Vec::new, Volumes::spans)
    }

    fn volumes_of_files(&self) -> Option<&Volumes> {
        Some(self.shared.files.as_ref()?.records.volumes())
    }

    /// Whether a lead was erased.
    pub fn is_erased(&self, lead: Uuid) -> ReadResult<bool> {
        Ok(matches!(self.kept_key(lead)?, Ok(Some(kept)) if data_key::is_destroyed(&kept)))
    }

    /// Whether a lead has a data key, which an erasure would destroy. An unreadable one counts.
    pub fn has_key(&self, lead: Uuid) -> ReadResult<bool> {
        let kept = self.kept_key(lead)?;
        Ok(kept.map_or(true, |kept| kept.is_some_and(|kept| !data_key::is_destroyed(&kept))))
    }

    fn kept_key(&self, lead: Uuid) -> DiskResult<RawRecord> {
        let engine = &*self.shared.engine;
        read_clear(engine, Tree::LeadKeys, &engine.sealing().slots.key_of(lead))
    }

    /// A keyed hash of a text, to look it up without storing it: not guessable from the store alone.
    pub fn blind(&self, purpose: &str, text: &[u8]) -> [u8; 32] {
        self.shared.engine.sealing().blind(purpose, text)
    }

    /// Seals the keys of the store with another master key; the records they seal stay as they are. Once this
    /// returns `Ok`, the store opens with the new key only; after a crash before that, with one of the two.
    /// Refused while other nodes are alive: they would have the old key.
    pub fn exchange_master_key(&self, new: MasterKey) -> Result<(), SealingError> {
        if let Some((database, _)) = &self.shared.database {
            let others = postgres::others(database)?;
            if !others.is_empty() {
                return Err(SealingError::OthersAlive(others));
            }
        }
        self.shared.engine.sealing().exchange_master_key(new)
    }

    /// The id of the master key that the files in this directory need, if they can be read. Opens nothing.
    pub fn sealed_with(path: &Path) -> Option<String> {
        KeyFile::of(path).sealed_with().ok()
    }

    /// The id of the master key, for messages.
    pub fn master_key_id(&self) -> String {
        self.shared.engine.sealing().master_key().id()
    }

    /// Whether the store takes commits, and with them new leads.
    pub fn health(&self) -> StoreHealth {
        let stall = self.shared.stalls.stall();
        let short = || Some(&self.shared.files.as_ref()?.space).filter(|space| space.is_short());
        match (self.shared.latch.health(), stall) {
            (StoreHealth::Sound, Some(stall)) => StoreHealth::Stalled(stall.told()),
            (StoreHealth::Sound, None) => match self.shared.cluster.silence() {
                Some(silence) => StoreHealth::Stalled(silence),
                None => short().map_or(StoreHealth::Sound, |space| StoreHealth::Short(space.told())),
            },
            (health, _) => health,
        }
    }

    /// A message while the database has not answered for a while; `None` for a store in files.
    pub fn database_silence(&self) -> Option<String> {
        self.shared.cluster.silence()
    }

    /// Whether reads fail because the database is lost; it is logged once.
    pub fn is_out_of_reach(&self) -> bool {
        self.shared.cluster.is_unread()
    }

    /// The clock for retention, counting and expiry by age. A clock set into the future makes no record old.
    pub fn clock(&self) -> Clock {
        let (clock, steady) = (Arc::clone(&self.shared.clock), Arc::clone(&self.shared.clock));
        Clock::with_steady(move || clock.earlier_us(), move || steady.now_us())
    }

    /// The time of [`clock`](Self::clock), in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        i64::try_from(self.shared.clock.earlier_us() / 1000).unwrap_or(i64::MAX)
    }

    /// The current arrival time, in Unix milliseconds: for ids whose time selects their volume.
    pub fn arrival_ms(&self) -> u64 {
        self.shared.clock.now_us() / 1000
    }

    /// The arrival time `age` ago, in microseconds since 1970: an earlier record is at least that old.
    pub fn aged_us(&self, age: Duration) -> u64 {
        self.shared.clock.aged_us(age)
    }

    /// The time before which no record will arrive any more, even after a crash, in microseconds since 1970.
    pub fn closed_us(&self) -> Result<u64, StoreError> {
        let in_database = || postgres::last_arrival_us(&*self.shared.engine);
        self.shared.files.as_ref().map_or_else(in_database, |files| open::last_arrival_us(&files.records))
    }

    /// The machine's clock compared with arrivals.
    pub fn clock_status(&self) -> ClockStatus {
        self.shared.clock.status()
    }

    /// Stops taking commits, writes the queued ones and stops the writer, within
    /// [`StoreOptions::close_bound`]. Blocks. Once this returns `Ok`, every commit ever queued has its
    /// answer. Reads still work; the lock is released once the last clone is dropped.
    pub fn close(&self) -> Result<(), StoreError> {
        self.shared.close()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("health", &self.health()).finish_non_exhaustive()
    }
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "store closed with a failure");
        }
    }
}
