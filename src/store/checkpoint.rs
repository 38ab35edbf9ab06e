//! Checkpoints: sync the record files, which makes full segments of the journal obsolete.
//!
//! A background thread makes them while the writer continues. When [`BEHIND`] segments are pending the writer
//! waits, so that recovery has a bounded amount to read, and indexes have a bounded part in memory alone. Then
//! it moves that part to sled where it is large, and closes volumes out of active use.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::journal::Closed;
use super::records::StoredRecords;
use offerd_base::telemetry::metrics::STORE_CHECKPOINT_SECONDS;

/// Full segments that may be pending.
const BEHIND: usize = 4;

pub(super) struct Checkpoints {
    pub(super) records: Arc<StoredRecords>,
    /// Without it, checkpoints are made on the writer's thread, which waits for them.
    pub(super) thread: Option<(Sender<Closed>, JoinHandle<()>)>,
}

impl Checkpoints {
    pub(super) fn begin_thread(&mut self) -> std::io::Result<()> {
        let (sender, full) = bounded(BEHIND);
        let records = Arc::clone(&self.records);
        let run = move || run(&records, &full);
        let handle = thread::Builder::new().name("store-checkpoint".to_owned()).spawn(run)?;
        self.thread = Some((sender, handle));
        Ok(())
    }

    /// Takes a full segment whose changes have all been appended to the record files.
    pub(super) fn take(&self, full: Closed) -> Result<(), String> {
        match &self.thread {
            Some((sender, _)) => sender.send(full).map_err(|_| "the checkpoints ended".to_owned()),
            None => checkpoint(&self.records, [full]),
        }
    }

    pub(super) fn end(&mut self) {
        if let Some((sender, handle)) = self.thread.take() {
            drop(sender);
            // A panic there fails the store, as the latch shows.
            let _ = handle.join();
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.end();
    }
}

fn run(records: &StoredRecords, full: &Receiver<Closed>) {
    while let Ok(first) = full.recv() {
        let waiting: Vec<Closed> = [first].into_iter().chain(full.try_iter()).collect();
        let made = catch_unwind(AssertUnwindSafe(|| checkpoint(records, waiting)));
        if let Err(reason) = made.unwrap_or_else(|_| Err("a checkpoint panicked".to_owned())) {
            records.latch().fail_for_good(&reason);
            return;
        }
    }
}

fn checkpoint(records: &StoredRecords, full: impl IntoIterator<Item = Closed>) -> Result<(), String> {
    let began = Instant::now();
    records.volumes().make_durable().map_err(|error| error.to_string())?;
    full.into_iter().try_for_each(Closed::retire).map_err(|error| error.to_string())?;
    metrics::histogram!(STORE_CHECKPOINT_SECONDS).record(began.elapsed());
    records.volumes().settle_indexes().map_err(|error| error.to_string())?;
    records.volumes().close_idle().map_err(|error| error.to_string())
}
