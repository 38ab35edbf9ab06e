//! Checkpoints: the record files are synced, and the journal's full segments are needed no more.
//!
//! A thread of its own does it, while the writer goes on. It is asked for each segment that is full; when it falls
//! [`BEHIND`] by some, the writer waits, so that a start after a crash never has much to read. After it, volumes that are worked on no more
//! are closed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{journal::Closed, records::Records};
use offerd_base::telemetry::metrics::STORE_CHECKPOINT_SECONDS;

/// How many full segments may wait.
const BEHIND: usize = 4;

/// Where full segments go.
pub(super) struct Checkpoints {
    records: Arc<Records>,
    thread: Option<(Sender<Closed>, JoinHandle<()>)>,
}

impl Checkpoints {
    /// Made while the writer waits, on its own thread.
    pub(super) fn inline(records: Arc<Records>) -> Self {
        Self { records, thread: None }
    }

    /// Gives them a thread of their own.
    pub(super) fn begin_thread(&mut self) -> std::io::Result<()> {
        let (sender, full) = bounded(BEHIND);
        let records = Arc::clone(&self.records);
        let run = move || run(&records, &full);
        let handle = thread::Builder::new().name("store-checkpoint".to_owned()).spawn(run)?;
        self.thread = Some((sender, handle));
        Ok(())
    }

    /// Takes a full segment, of which the record files were given everything.
    pub(super) fn take(&self, full: Closed) -> Result<(), String> {
        match &self.thread {
            Some((sender, _)) => sender.send(full).map_err(|_| "the checkpoints ended".to_owned()),
            None => checkpoint(&self.records, [full]),
        }
    }

    /// Ends them, when the last one is made.
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

fn run(records: &Records, full: &Receiver<Closed>) {
    while let Ok(first) = full.recv() {
        let waiting: Vec<Closed> = [first].into_iter().chain(full.try_iter()).collect();
        let made = catch_unwind(AssertUnwindSafe(|| checkpoint(records, waiting)));
        if let Err(reason) = made.unwrap_or_else(|_| Err("a checkpoint panicked".to_owned())) {
            records.latch().fail_for_good(&reason);
            return;
        }
    }
}

fn checkpoint(records: &Records, full: impl IntoIterator<Item = Closed>) -> Result<(), String> {
    let began = Instant::now();
    records.volumes().make_durable().map_err(|error| error.to_string())?;
    full.into_iter().try_for_each(Closed::retire).map_err(|error| error.to_string())?;
    metrics::histogram!(STORE_CHECKPOINT_SECONDS).record(began.elapsed());
    records.volumes().close_idle().map_err(|error| error.to_string())
}
