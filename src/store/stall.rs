//! Stalls: a disk that does not answer. The writer notes each step before it takes it, in an atomic, so that everybody else knows
//! how long it has been at it, whatever hangs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use std::{io, mem, thread};

use tokio::sync::watch;

use super::health::FailureLatch;
use offerd_base::telemetry::metrics::{STORE_STALLED, STORE_STALLS};

/// Looks within the time that a step may take.
const LOOKS: u32 = 5;

/// The longest time between two looks.
const SELDOM: Duration = Duration::from_millis(250);

/// An index that takes so many times as long as a step may has failed: it is not the disk that it waits for, or a disk for ever.
const INDEX_STALLS: u32 = 20;

/// How many steps can be distinguished in the low digits of what is noted.
const DISTINCT: u64 = 16;

/// What the writer does with the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It reads what guards ask for.
    Read = 1,
    /// It writes the journal.
    Journal = 2,
    /// It begins the next file of the journal, when the record files are synced so far.
    Roll = 3,
    /// It appends to the record files.
    Append = 4,
    /// It waits until nobody reads.
    Readers = 8,
    /// It has the indexes find what was appended.
    Index = 5,
    /// It writes the file of the keys.
    Keys = 6,
    /// It begins or ends a record file.
    Begin = 7,
    /// It waits for the database.
    Database = 9,
}

/// Every step, and what does not end then, in words.
const STEPS: [(Step, &str); 9] = [
    (Step::Read, "a read of what is stored"),
    (Step::Journal, "a write of the journal"),
    (Step::Roll, "the beginning of a file of the journal"),
    (Step::Append, "a write of a record file"),
    (Step::Readers, "a read that is under way"),
    (Step::Index, "a write of an index"),
    (Step::Keys, "a write of the key file"),
    (Step::Begin, "the beginning of a record file"),
    (Step::Database, "a commit"),
];

/// A step that takes longer than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stall {
    step: Step,
    words: &'static str,
    lasts: Duration,
}

impl Stall {
    /// What is wrong, in words.
    pub(super) fn told(self) -> String {
        let Self { step, words, lasts } = self;
        let who = if step == Step::Database { "database" } else { "disk" };
        format!("the {who} has not finished {words} for {} s", lasts.as_secs())
    }
}

/// What the writer is at, and since when.
#[derive(Debug)]
pub(super) struct Stalls {
    opened: Instant,
    /// From when on a step that lasts is a stall.
    pub(super) after: Duration,
    /// Microseconds from `opened` times [`DISTINCT`], plus the step; 0 while the writer is at none.
    at: AtomicU64,
    /// Whether the log knows of a stall, and who waits for one.
    shown: watch::Sender<bool>,
}

impl Stalls {
    /// A step that takes this long is a stall.
    pub(super) fn new(after: Duration) -> Self {
        Self { opened: Instant::now(), after, at: AtomicU64::new(0), shown: watch::Sender::new(false) }
    }

    /// The writer begins a step, and is done with the one before.
    pub(super) fn step(&self, step: Step) {
        let micros = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.note(micros.saturating_mul(DISTINCT) | step as u64);
    }

    /// The writer is done.
    pub(super) fn done(&self) {
        self.note(0);
    }

    fn note(&self, at: u64) {
        let before = self.at.swap(at, Ordering::AcqRel);
        if let Some(stall) = self.stall_at(before) {
            self.begins(stall);
            self.ends(stall);
        }
    }

    /// The step that takes longer than it may, if one does.
    pub(super) fn stall(&self) -> Option<Stall> {
        self.stall_at(self.at.load(Ordering::Acquire))
    }

    fn stall_at(&self, at: u64) -> Option<Stall> {
        let (step, words) = STEPS.into_iter().find(|(step, _)| *step as u64 == at % DISTINCT)?;
        let lasts = self.opened.elapsed().saturating_sub(Duration::from_micros(at / DISTINCT));
        (lasts >= self.after).then_some(Stall { step, words, lasts })
    }

    /// Returns once there is a stall.
    pub(super) async fn until_stalled(&self) {
        let mut shown = self.shown.subscribe();
        while self.stall().is_none() {
            if shown.changed().await.is_err() {
                return;
            }
        }
    }

    /// Logs a stall once, and exports how long it lasts; a write of an index that goes on for too long fails the store for good.
    fn look(&self, latch: &FailureLatch) {
        match self.stall() {
            Some(stall) => {
                self.begins(stall);
                metrics::gauge!(STORE_STALLED).set(stall.lasts.as_secs_f64());
                if stall.step == Step::Index && stall.lasts > self.after * INDEX_STALLS {
                    latch.fail_for_good(&stall.told());
                }
            }
            // The writer came back while the stall was being logged.
            None => _ = self.has_ended(),
        }
    }

    fn begins(&self, stall: Stall) {
        if self.shown.send_if_modified(|shown| !mem::replace(shown, true)) {
            metrics::counter!(STORE_STALLS).increment(1);
            tracing::error!(
                reason = stall.told(),
                "the store does not answer: no new leads are taken in until it does"
            );
        }
    }

    fn ends(&self, stall: Stall) {
        if self.has_ended() {
            let lasted_ms = u64::try_from(stall.lasts.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(lasted_ms, "the store answers again: leads are taken in");
        }
    }

    /// Takes note that there is no stall any more; whether one was shown.
    fn has_ended(&self) -> bool {
        let has_ended = self.shown.send_if_modified(|shown| mem::replace(shown, false));
        if has_ended {
            metrics::gauge!(STORE_STALLED).set(0.0);
        }
        has_ended
    }
}

/// Looks for stalls on a thread of its own, until the store is gone.
pub(super) fn watch(stalls: &Arc<Stalls>, latch: &Arc<FailureLatch>) -> io::Result<()> {
    let every = (stalls.after / LOOKS).clamp(Duration::from_millis(1), SELDOM);
    let (stalls, latch) = (Arc::downgrade(stalls), Arc::downgrade(latch));
    metrics::gauge!(STORE_STALLED).set(0.0);
    let looking = move || {
        while let Some((stalls, latch)) = Weak::upgrade(&stalls).zip(Weak::upgrade(&latch)) {
            stalls.look(&latch);
            drop((stalls, latch));
            thread::park_timeout(every);
        }
    };
    thread::Builder::new().name("store-stalls".to_owned()).spawn(looking).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_stall_when_it_takes_longer_than_it_may_and_the_next_is_another() {
        let stalls = Stalls::new(Duration::ZERO);
        assert_eq!(stalls.stall(), None);
        stalls.step(Step::Journal);
        assert_eq!(stalls.stall().map(|stall| stall.step), Some(Step::Journal));
        stalls.step(Step::Begin);
        let told = stalls.stall().expect("it takes longer than no time").told();
        assert_eq!(told, "the disk has not finished the beginning of a record file for 0 s");
        stalls.done();
        assert_eq!(stalls.stall(), None);
        let patient = Stalls::new(Duration::from_secs(3600));
        patient.step(Step::Index);
        assert_eq!(patient.stall(), None);
    }

    #[tokio::test]
    async fn who_waits_for_a_stall_is_told_by_who_looks() {
        let (stalls, latch) = (Arc::new(Stalls::new(Duration::from_millis(1))), Arc::default());
        watch(&stalls, &latch).unwrap();
        stalls.step(Step::Keys);
        stalls.until_stalled().await;
        assert!(latch.failure().is_none(), "a disk may come back");
        stalls.step(Step::Index);
        latch.until_lost().await;
        assert!(latch.failure().expect("it is lost").for_good, "an index that never ends does not");
    }
}
