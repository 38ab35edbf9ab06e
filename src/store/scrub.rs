//! The scrub: reads all files slowly at intervals, to find damage before a reader does.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use std::{io, thread};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::records::StoredRecords;
use super::volume_number::VolumeNumber;
use super::volumes::volume::note_damage;

/// The least pause; shorter ones are accumulated.
const PAUSE: Duration = Duration::from_millis(20);

const NICENESS: i32 = 19;

/// Starts a background thread that reads all files of a store, at a rate in bytes a second, and again an
/// interval after each end, until the returned sender is dropped.
pub(super) fn begin(records: &Arc<StoredRecords>, interval: Duration, rate: u64) -> io::Result<Sender<()>> {
    let (sender, gone) = bounded(0);
    let records = Arc::downgrade(records);
    let run = move || {
        // Without permission for that it is slow all the same.
        let _ = rustix::process::setpriority_process(None, NICENESS);
        let mut scrub = Scrub { rate: rate.max(1), begun: Instant::now(), read: 0, gone };
        while scrub.read_all(&records).is_continue() && !scrub.is_over_after(interval) {}
    };
    thread::Builder::new().name("store-scrub".to_owned()).spawn(run)?;
    Ok(sender)
}

struct Scrub {
    rate: u64,
    begun: Instant,
    read: u64,
    gone: Receiver<()>,
}

impl Scrub {
    fn read_all(&mut self, records: &Weak<StoredRecords>) -> ControlFlow<()> {
        (self.begun, self.read) = (Instant::now(), 0);
        let numbers = records.upgrade().map_or_else(Vec::new, |records| {
            records.rewrite_lost_files();
            records.volumes().numbers()
        });
        for number in numbers {
            let Some(records) = records.upgrade() else { return ControlFlow::Break(()) };
            self.read_volume(number, records)?;
        }
        tracing::debug!(bytes = self.read, "checked all files of the store");
        ControlFlow::Continue(())
    }

    /// Reads the files of a volume. Holds no reference to the store meanwhile, so that it can be closed.
    fn read_volume(&mut self, number: VolumeNumber, records: Arc<StoredRecords>) -> ControlFlow<()> {
        records.note_gone(number);
        let files = records.volumes().record_files(number);
        let damages = records.volumes().damages.clone();
        drop(records);
        for (name, file) in files {
            note_damage(&file, (number, &name), &damages, |entry| {
                self.throttle(u64::from(entry.locator.length))
            })?;
            damages.save();
        }
        ControlFlow::Continue(())
    }

    /// Waits if it is ahead of its rate.
    fn throttle(&mut self, bytes: u64) -> ControlFlow<()> {
        self.read += bytes;
        let due = Duration::from_secs_f64(self.read as f64 / self.rate as f64);
        let ahead = due.saturating_sub(self.begun.elapsed());
        match ahead >= PAUSE && self.is_over_after(ahead) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn is_over_after(&self, pause: Duration) -> bool {
        self.gone.recv_timeout(pause) != Err(RecvTimeoutError::Timeout)
    }
}
