//! Turns: who changes a record of what it held before waits until those who came before have. A guard alone would have all but one of
//! them begin again each time, and of many at once some for ever. Where several processes share a store, each has lines of its own: who
//! loses its guard to another process tries again a moment later, for as long as it may wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, gauge};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

use super::commit::CommitError;
use super::trees::Tree;
use offerd_base::telemetry::metrics::{STORE_CHANGES_IN_LINE, STORE_CHANGES_REFUSED};

/// A tree, and the key of a record in it.
type Place = (Tree, Vec<u8>);

/// The lines in front of the records that are being changed. Their memory is bounded by what is waited for: of a record that nobody
/// changes nothing is kept.
#[derive(Debug)]
pub(super) struct Turns {
    most: usize,
    /// Whether other processes change the same records.
    is_shared: bool,
    lines: Mutex<HashMap<Place, Line>>,
}

/// Those who change one record.
#[derive(Debug)]
struct Line {
    length: usize,
    /// Of one permit, which goes round in the order in which it is asked for.
    turn: Arc<Semaphore>,
}

/// The turn to change one record, given to the next on drop.
#[derive(Debug)]
#[must_use = "the next has its turn once this is dropped"]
pub struct Turn {
    tries: u32,
    /// Until when whoever has the turn waits, where other processes change the same records.
    until: Option<Instant>,
    // The turn goes before the place, or the line would be forgotten while somebody is at its head.
    _turn: OwnedSemaphorePermit,
    _in_line: InLine,
}

/// Somebody in a line, who leaves it on drop.
#[derive(Debug)]
struct InLine {
    turns: Arc<Turns>,
    place: Place,
}

/// Times that a change is tried in its turn where no other process makes one: one that was given up as late may still be written
/// meanwhile.
const TRIES: u32 = 4;

/// Longest pause before a change is tried again that was lost to another process, in ms; the first is no longer than one.
const LONGEST_PAUSE_MS: u64 = 64;

impl Turn {
    /// Whether to try, again where that was asked for before: some times or, where other processes change the record too, for as
    /// long as the turn may be waited for, with pauses by chance so that no two meet for ever.
    pub async fn tries(&mut self) -> bool {
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

impl Turns {
    /// Of one record so many changes may be in line. `is_shared` says whether other processes change the same records.
    pub(super) fn new(most: usize, is_shared: bool) -> Arc<Self> {
        Arc::new(Self { most, is_shared, lines: Mutex::default() })
    }

    /// Waits for the turn to change a record, no longer than `longest`. Whoever asks first has it first, from when this is first polled.
    ///
    /// # Errors
    /// [`CommitError::Crowded`], counted.
    pub(super) async fn take(
        self: &Arc<Self>,
        longest: Duration,
        tree: Tree,
        key: &[u8],
    ) -> Result<Turn, CommitError> {
        let refused = |reason| {
            counter!(STORE_CHANGES_REFUSED, "tree" => tree.name(), "reason" => reason).increment(1);
            CommitError::Crowded
        };
        let (turn, in_line) = self.enter((tree, key.to_vec())).ok_or_else(|| refused("full"))?;
        let until = Instant::now() + longest;
        let turn = timeout_at(until, turn.acquire_owned()).await.map_err(|_| refused("late"))?;
        let turn = turn.map_err(|_| CommitError::Closed)?;
        Ok(Turn { tries: 0, until: self.is_shared.then_some(until), _turn: turn, _in_line: in_line })
    }

    fn enter(self: &Arc<Self>, place: Place) -> Option<(Arc<Semaphore>, InLine)> {
        let mut lines = self.lines.lock();
        let begun = || Line { length: 0, turn: Arc::new(Semaphore::new(1)) };
        let line = lines.entry(place.clone()).or_insert_with(begun);
        // One that is new has room for one, whatever the limit.
        if line.length >= self.most.max(1) {
            return None;
        }
        line.length += 1;
        gauge!(STORE_CHANGES_IN_LINE).increment(1.0);
        Some((Arc::clone(&line.turn), InLine { turns: Arc::clone(self), place }))
    }

    /// Whether nobody is in any line.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.lines.lock().is_empty()
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        let mut lines = self.turns.lines.lock();
        if let Some(line) = lines.get_mut(&self.place) {
            line.length -= 1;
            if line.length == 0 {
                lines.remove(&self.place);
            }
        }
        gauge!(STORE_CHANGES_IN_LINE).decrement(1.0);
    }
}
