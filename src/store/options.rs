//! Options for opening a store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::arrival_clock::ClockLimits;
use super::clock::Clock;
use super::disk::SyncFault;
use super::space::SpaceFault;
use offerd_base::config::{PostgresSettings, StoreSettings};

/// The place of the store and its resources. Every limit of the store is set here.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The directory; created with mode 0700 if missing.
    pub path: PathBuf,
    /// The database that holds the records instead; the directory then holds this process's lock, id and run
    /// file, and a master key is looked for beside it.
    pub database: Option<PostgresSettings>,
    /// The file with the master key; if none, [`MasterKey::find`](super::MasterKey::find) searches for it.
    pub master_key_file: Option<PathBuf>,
    /// Commits that may wait for the writer; one more is `Busy`.
    pub queue: usize,
    /// Changes of one record that may wait for each other; one more is `Crowded`.
    pub changes_per_record: usize,
    /// Most commits that one sync makes durable.
    pub group: usize,
    /// Memory for the page caches of the indexes, in bytes.
    pub cache_bytes: u64,
    /// Size of a volume after which the next is begun.
    pub volume_bytes: u64,
    /// Time a volume is written to before the next is begun.
    pub volume_age: Duration,
    /// Free disk space below which new leads are refused.
    pub reserve_bytes: u64,
    /// How long to wait for a lock still held by another process, or by a store just dropped.
    pub lock_wait: Duration,
    /// Time limit for closing.
    pub close_bound: Duration,
    /// Pause before a failed disk is tried again.
    pub mend_interval: Duration,
    /// Pause between two scrubs of all record files; zero disables them.
    pub scrub_interval: Duration,
    /// Read rate of the scrub, in bytes a second.
    pub scrub_rate: u64,
    /// Time limit of a disk step of the writer; past it the store is [stalled](super::StoreHealth::Stalled).
    pub stall_after: Duration,
    /// The clock behind arrival times.
    pub clock: Clock,
    /// Limits within which that clock is trusted.
    pub clock_limits: ClockLimits,
    /// Where the suppression key would be: a new store beside one asks no partner until that is confirmed.
    pub suppression_key: Option<PathBuf>,
    /// Lets tests fail the disk.
    #[doc(hidden)]
    pub sync_fault: SyncFault,
    /// Lets tests fill the disk.
    #[doc(hidden)]
    pub space_fault: SpaceFault,
}

impl StoreOptions {
    /// The defaults, for the store in `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            database: None,
            master_key_file: None,
            suppression_key: None,
            queue: 4096,
            changes_per_record: 1024,
            group: 512,
            cache_bytes: 128 * 1024 * 1024,
            volume_bytes: 256 * 1024 * 1024,
            volume_age: Duration::from_secs(30 * 24 * 3600),
            reserve_bytes: 0,
            lock_wait: Duration::from_secs(1),
            close_bound: Duration::from_secs(10),
            mend_interval: Duration::from_secs(1),
            scrub_interval: Duration::ZERO,
            scrub_rate: 8 * 1024 * 1024,
            stall_after: Duration::from_secs(1),
            clock: Clock::system(),
            clock_limits: ClockLimits::default(),
            sync_fault: SyncFault::default(),
            space_fault: SpaceFault::default(),
        }
    }
}

/// The file of the key of opt-outs: as placed by the operator, or else beside the store.
pub fn suppression_key_file(placed: Option<&Path>, store: &Path) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(".suppression-key");
    placed.map_or_else(|| store.with_file_name(name), Path::to_owned)
}

impl From<&StoreSettings> for StoreOptions {
    fn from(settings: &StoreSettings) -> Self {
        let StoreSettings { path, master_key_file, queue, group, cache_bytes, .. } = settings.clone();
        let suppression_key = suppression_key_file(settings.suppression_key_file.as_deref(), &path);
        let StoreSettings { clock_jump: jump, clock_hold: hold, clock_gap: gap, .. } = *settings;
        Self {
            database: settings.database().cloned(),
            master_key_file,
            suppression_key: Some(suppression_key),
            queue,
            changes_per_record: settings.changes_per_record,
            group,
            cache_bytes,
            reserve_bytes: settings.reserve_bytes,
            volume_bytes: settings.volume_bytes,
            volume_age: settings.volume_age,
            clock_limits: ClockLimits { jump, hold, gap },
            stall_after: settings.stall_after,
            scrub_interval: settings.scrub_interval,
            scrub_rate: settings.scrub_rate,
            ..Self::new(path)
        }
    }
}
