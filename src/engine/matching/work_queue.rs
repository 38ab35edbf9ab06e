//! A queue of work for one task, which is started later.

use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Work that is taken in order.
#[derive(Debug)]
pub struct WorkQueue<T> {
    added: UnboundedSender<T>,
    /// Held until its task starts.
    waiting: Mutex<Option<UnboundedReceiver<T>>>,
}

impl<T> Default for WorkQueue<T> {
    fn default() -> Self {
        let (added, waiting) = unbounded_channel();
        Self { added, waiting: Mutex::new(Some(waiting)) }
    }
}

impl<T> WorkQueue<T> {
    /// Adds work.
    pub fn add(&self, work: T) {
        // Without a receiver, the daemon is stopping.
        let _ = self.added.send(work);
    }

    /// The receiving end, for the one task that does the work.
    pub fn receiver(&self) -> Option<UnboundedReceiver<T>> {
        self.waiting.lock().take()
    }
}
