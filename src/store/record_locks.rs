//! Record locks: serialise read-modify-write changes of a record, in order of arrival. With a guard alone,
//! some of several concurrent changes could starve. Each process has its own locks: a change that loses its
//! guard to another process is retried until its deadline.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, gauge};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

use crate::{CommitError, Tree};
use offerd_base::telemetry::metrics::{STORE_CHANGES_IN_LINE, STORE_CHANGES_REFUSED};

type LockKey = (Tree, Vec<u8>);

/// The waiters for the locked records. Their number bounds the memory: an unlocked record takes none.
#[derive(Debug)]
pub(super) struct RecordLocks {
    most: usize,
    /// Whether other processes change the same records.
    is_shared: bool,
    /// The length of each line, and the one permit that is granted in order of request.
    lines: Mutex<HashMap<LockKey, (usize, Arc<Semaphore>)>>,
}

/// The lock of one record, passed to the next waiter on drop.
#[derive(Debug)]
#[must_use = "the next has its turn once this is dropped"]
pub struct RecordLock {
    tries: u32,
    /// Deadline of the change, if other processes change the same records.
    until: Option<Instant>,
    // Dropped before the place in line, whose removal would free the line with its head holding the permit.
    _turn: OwnedSemaphorePermit,
    _in_line: LockQueuePlace,
}

/// A place in a line, given up on drop.
#[derive(Debug)]
struct LockQueuePlace {
    locks: Arc<RecordLocks>,
    place: LockKey,
}

/// Attempts if no other process changes the record: one given up as late may still be written.
const TRIES: u32 = 4;

/// Longest backoff after losing a change to another process, in ms; the first is at most 1 ms.
const LONGEST_PAUSE_MS: u64 = 64;

impl RecordLock {
    /// Whether to try, first or again. Allows a few attempts or, if other processes change the record too,
    /// attempts until the deadline with jittered backoff, so that no two collide for ever.
    pub async fn should_try(&mut self) -> bool {
        let tried = self.tries;
        self.tries += 1;
        match self.until {
            _ if tried == 0 => true,
            None => tried < TRIES,
            Some(until) => {
                let longest_ms = (1_u64 << (tried - 1).min(16)).min(LONGEST_PAUSE_MS);
                sleep(Duration::from_micros(fastrand::u64(..=longest_ms * 1000))).await;
                Instant::now() < until
            }
        }
    }
}

impl RecordLocks {
    /// Locks with at most `most` holders and waiters for each record.
    pub(super) fn new(most: usize, is_shared: bool) -> Arc<Self> {
        Arc::new(Self { most, is_shared, lines: Mutex::default() })
    }

    /// Waits at most `longest`. Granted in the order of the first polls; [`CommitError::Crowded`] is counted.
    pub(super) async fn take(
        self: &Arc<Self>,
        longest: Duration,
        tree: Tree,
        key: &[u8],
    ) -> Result<RecordLock, CommitError> {
        let refused = |reason| {
            counter!(STORE_CHANGES_REFUSED, "tree" => tree.name(), "reason" => reason).increment(1);
            CommitError::Crowded
        };
        let (turn, in_line) = self.enter((tree, key.to_vec())).ok_or_else(|| refused("full"))?;
        let until = Instant::now() + longest;
        let turn = timeout_at(until, turn.acquire_owned()).await.map_err(|_| refused("late"))?;
        let turn = turn.map_err(|_| CommitError::Closed)?;
        Ok(RecordLock { tries: 0, until: self.is_shared.then_some(until), _turn: turn, _in_line: in_line })
    }

    fn enter(self: &Arc<Self>, place: LockKey) -> Option<(Arc<Semaphore>, LockQueuePlace)> {
        let mut lines = self.lines.lock();
        let (length, turn) = lines.entry(place.clone()).or_insert_with(|| (0, Arc::new(Semaphore::new(1))));
        // A new line always has room for one.
        if *length >= self.most.max(1) {
            return None;
        }
        *length += 1;
        gauge!(STORE_CHANGES_IN_LINE).increment(1.0);
        Some((Arc::clone(turn), LockQueuePlace { locks: Arc::clone(self), place }))
    }

    /// Whether no lock is held or awaited.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.lines.lock().is_empty()
    }
}

impl Drop for LockQueuePlace {
    fn drop(&mut self) {
        let mut lines = self.locks.lines.lock();
        if let Some((length, _)) = lines.get_mut(&self.place) {
            *length -= 1;
            if *length == 0 {
                lines.remove(&self.place);
            }
        }
        gauge!(STORE_CHANGES_IN_LINE).decrement(1.0);
    }
}
