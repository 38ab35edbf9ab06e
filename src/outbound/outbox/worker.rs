//! A background thread that never blocks a lead, nor a lead it.

use std::thread::{self, JoinHandle};

use tokio::runtime::Builder;
use tokio::sync::watch;
use tracing::error;

/// A thread that runs a future until it is stopped.
#[derive(Debug)]
pub struct Worker {
    name: &'static str,
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts the thread; the future is created on it.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start<W: Future<Output = ()>>(
        name: &'static str,
        work: impl FnOnce() -> W + Send + 'static,
    ) -> Result<Self, String> {
        let failed = |error| format!("could not start the thread of {name}: {error}");
        let (stop, mut stopping) = watch::channel(false);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = work() => {}
                    // A dropped sender also stops it.
                    _ = stopping.wait_for(|stop| *stop) => {}
                }
            });
            // Does not wait for blocking reads or name look-ups.
            runtime.shutdown_background();
        });
        Ok(Self { name, stop, thread: thread.map_err(failed)? })
    }

    /// Stops it at once. Deliveries in progress are repeated after the next start.
    pub fn stop(self) {
        self.stop.send_replace(true);
        if self.thread.join().is_err() {
            error!("the thread of {} panicked", self.name);
        }
    }
}
