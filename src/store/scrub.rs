//! The scrub: all record files are read through now and then, slowly, so that damage is found before somebody asks for what it took.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use std::{io, thread};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::{records::Records, volume_number::Number, volumes::volume::note_damage};

/// The least pause; shorter ones add up until they are worth one.
const PAUSE: Duration = Duration::from_millis(20);

/// How kind the thread is to others, from 0 to 19.
const NICENESS: i32 = 19;

/// Begins to read the files of a store through, on a thread of its own, at a rate of bytes a second and again an interval after each
/// end, and goes on until what is returned is dropped.
pub(super) fn begin(records: &Arc<Records>, interval: Duration, rate: u64) -> io::Result<Sender<()>> {
    let (sender, gone) = bounded(0);
    let records = Arc::downgrade(records);
    let run = move || {
        // Where it may not be kinder than others, it is slow all the same.
        let _ = rustix::process::setpriority_process(None, NICENESS);
        let mut pace = Pace { rate: rate.max(1), begun: Instant::now(), read: 0, gone };
        while pace.all(&records).is_continue() && !pace.is_over_after(interval) {}
    };
    thread::Builder::new().name("store-scrub".to_owned()).spawn(run)?;
    Ok(sender)
}

/// How far it is, against how far it may be.
struct Pace {
    rate: u64,
    begun: Instant,
    read: u64,
    gone: Receiver<()>,
}

impl Pace {
    /// Reads every file once.
    fn all(&mut self, records: &Weak<Records>) -> ControlFlow<()> {
        (self.begun, self.read) = (Instant::now(), 0);
        let numbers = records.upgrade().map_or_else(Vec::new, |records| records.volumes().numbers());
        for number in numbers {
            let Some(records) = records.upgrade() else { return ControlFlow::Break(()) };
            self.volume(number, records)?;
        }
        tracing::debug!(bytes = self.read, "read all files of the store through");
        ControlFlow::Continue(())
    }

    /// Reads the files of a volume. The store itself is not held meanwhile, so that it can be closed.
    fn volume(&mut self, number: Number, records: Arc<Records>) -> ControlFlow<()> {
        records.note_gone(number);
        let files = records.volumes().record_files(number);
        let damages = records.volumes().damages.clone();
        drop(records);
        for (name, file) in files {
            note_damage(&file, (number, &name), &damages, |entry| {
                self.has_read(u64::from(entry.locator.length))
            })?;
            damages.save();
        }
        ControlFlow::Continue(())
    }

    /// Waits where it is ahead of its rate.
    fn has_read(&mut self, bytes: u64) -> ControlFlow<()> {
        self.read += bytes;
        let due = Duration::from_secs_f64(self.read as f64 / self.rate as f64);
        let ahead = due.saturating_sub(self.begun.elapsed());
        match ahead >= PAUSE && self.is_over_after(ahead) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Waits. True if the store is gone.
    fn is_over_after(&self, pause: Duration) -> bool {
        self.gone.recv_timeout(pause) != Err(RecvTimeoutError::Timeout)
    }
}
