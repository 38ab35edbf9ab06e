//! How a store is opened.

use std::{path::PathBuf, time::Duration};

use super::{arrival_clock::ClockLimits, clock::Clock, disk::SyncFault, space::SpaceFault};
use offerd_base::config::{PostgresSettings, StoreSettings};

/// Where the store is and what it may use. Every limit of the store stands here.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The directory; made with mode 0700 when it is not there.
    pub path: PathBuf,
    /// The database that has the records instead; the directory then is only where a master key is looked for.
    pub database: Option<PostgresSettings>,
    /// The file with the master key. Without one it is looked for where [`MasterKey::find`](super::MasterKey::find) says.
    pub master_key_file: Option<PathBuf>,
    /// How many commits may wait for the writer; one more is `Busy`.
    pub queue: usize,
    /// How many changes of one record may wait for each other; one more is `Crowded`.
    pub changes_per_record: usize,
    /// How many commits one sync makes durable at most.
    pub group: usize,
    /// How much memory the indexes may use for pages.
    pub cache_bytes: u64,
    /// How long the files of a volume become before the next is begun.
    pub volume_bytes: u64,
    /// How long a volume is written to before the next is begun.
    pub volume_age: Duration,
    /// How much of the disk has to be free for new leads to be taken in.
    pub reserve_bytes: u64,
    /// How long to wait for a lock that another process, or a store just dropped, still holds.
    pub lock_wait: Duration,
    /// How long closing may take.
    pub close_bound: Duration,
    /// How long a failed disk is left alone before it is tried again.
    pub mend_interval: Duration,
    /// Time between two readings of all record files, for damage; zero for none.
    pub scrub_interval: Duration,
    /// How fast they are read, in bytes a second.
    pub scrub_rate: u64,
    /// How long the writer may be at one step on the disk; from then on the store is [stalled](super::Health::Stalled).
    pub stall_after: Duration,
    /// Where arrival times come from.
    pub clock: Clock,
    /// What of that clock is believed.
    pub clock_limits: ClockLimits,
    /// A way for tests to fail the disk.
    #[doc(hidden)]
    pub sync_fault: SyncFault,
    /// A way for tests to fill the disk.
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

impl From<&StoreSettings> for StoreOptions {
    fn from(settings: &StoreSettings) -> Self {
        let StoreSettings { path, master_key_file, queue, group, cache_bytes, .. } = settings.clone();
        let StoreSettings { clock_jump: jump, clock_hold: hold, clock_gap: gap, .. } = *settings;
        Self {
            database: settings.database().cloned(),
            master_key_file,
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
