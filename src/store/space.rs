//! Free disk space. New leads are refused before the disk is full: an index cannot recover from that.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::FallocateFlags;

use super::journal::START_BYTES;
use offerd_base::telemetry::metrics::STORE_FREE_BYTES;

/// Marks a full disk in the system's errors, also when they are passed on as text.
pub const DISK_FULL: &str = "(os error 28)";

/// Maximum age of a cached disk check.
const FRESH: Duration = Duration::from_millis(500);

/// The message for an unusable path: for a full disk with the remedy, otherwise the system's error.
pub fn unusable(path: &Path, error: &dyn std::fmt::Display) -> String {
    let (shown, told) = (path.display(), error.to_string());
    if !told.contains(DISK_FULL) {
        return format!("`{shown}` cannot be read or written: {told}");
    }
    // A file that was begun may be gone again.
    let free = path.ancestors().chain([Path::new(".")]).find_map(free_bytes);
    let free = free.map_or_else(String::new, |free| format!(", {} KiB are free", free / 1024));
    format!(
        "`{shown}` cannot be written: its disk is full {DISK_FULL}{free}; make room there, or name a place on another disk"
    )
}

fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// A file beside the records that only holds room: on a full disk, a start and a stop use its bytes.
const BALLAST: &str = "ballast";

/// Takes the room for the next start on a full disk, if there is enough beyond the reserve.
pub(super) fn take_ballast(store: &Path, reserve_bytes: u64) {
    let path = store.join(BALLAST);
    let has_room = || free_bytes(store).is_some_and(|free| free >= reserve_bytes + START_BYTES);
    if has_ballast(store) || !has_room() {
        return;
    }
    let taken = File::create(&path).and_then(|file| {
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, START_BYTES)?;
        Ok(())
    });
    if let Err(error) = taken {
        tracing::warn!(%error, "no room could be set aside for a start on a full disk");
        let _ = fs::remove_file(&path);
    }
}

/// Whether a start on a full disk has its room.
pub fn has_ballast(store: &Path) -> bool {
    store.join(BALLAST).metadata().is_ok_and(|ballast| ballast.len() >= START_BYTES)
}

/// Frees the room that was taken if the disk is full; whether it did.
pub(super) fn free_ballast(store: &Path) -> bool {
    let is_full = free_bytes(store).is_some_and(|free| free < START_BYTES);
    is_full && fs::remove_file(store.join(BALLAST)).is_ok()
}

/// Lets a test fill the disk of a store, and empty it again.
#[doc(hidden)]
#[derive(Debug, Clone, Default)]
pub struct SpaceFault(Arc<AtomicBool>);

impl SpaceFault {
    /// Makes the disk full from now on, or not.
    pub fn set(&self, full: bool) {
        self.0.store(full, Ordering::SeqCst);
    }
}

#[derive(Debug)]
pub(super) struct DiskSpace {
    path: PathBuf,
    reserve_bytes: u64,
    fault: SpaceFault,
    /// When the disk was looked at last, and whether it was short of room.
    seen: Mutex<Option<(Instant, bool)>>,
}

impl DiskSpace {
    pub(super) fn new(path: PathBuf, reserve_bytes: u64, fault: SpaceFault) -> Self {
        Self { path, reserve_bytes, fault, seen: Mutex::new(None) }
    }

    /// Whether less than the reserve is free. A disk that cannot be queried counts as having room.
    pub(super) fn is_short(&self) -> bool {
        if self.fault.0.load(Ordering::SeqCst) {
            return true;
        }
        let mut seen = self.seen.lock();
        if let Some((_, short)) = seen.filter(|(at, _)| at.elapsed() < FRESH) {
            return short;
        }
        let free = free_bytes(&self.path);
        let short = free.is_some_and(|free| free < self.reserve_bytes);
        if let Some(free) = free {
            metrics::gauge!(STORE_FREE_BYTES).set(free as f64);
        }
        match (seen.is_some_and(|(_, short)| short), short) {
            (false, true) => tracing::error!(
                free_bytes = free,
                reserve_bytes = self.reserve_bytes,
                "the disk of the store is nearly full: offerd refuses new leads until there is room"
            ),
            (true, false) => tracing::info!(free_bytes = free, "the disk of the store has room again"),
            _ => {}
        }
        *seen = Some((Instant::now(), short));
        short
    }

    pub(super) fn told(&self) -> String {
        let reserve = self.reserve_bytes;
        format!("less than `store.reserve_bytes` ({reserve}) is free on the disk of `store.path`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_that_with_what_is_free_and_what_to_do() {
        let full = std::io::Error::from_raw_os_error(28);
        let told = unusable(Path::new("/proc/no/such"), &format!("record file 1 cannot be written: {full}"));
        let wanted =
            "`/proc/no/such` cannot be written: its disk is full (os error 28), 0 KiB are free; make room";
        assert!(told.starts_with(wanted), "{told}");
        let other = unusable(Path::new("x"), &std::io::Error::from_raw_os_error(5));
        assert_eq!(other, "`x` cannot be read or written: Input/output error (os error 5)");
    }

    #[test]
    fn it_is_short_when_less_than_the_reserve_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let space = |reserve| DiskSpace::new(directory.path().to_owned(), reserve, SpaceFault::default());
        assert!(!space(1).is_short());
        assert!(space(u64::MAX).is_short());
        assert!(!DiskSpace::new("/not/there".into(), u64::MAX, SpaceFault::default()).is_short());
    }
}
