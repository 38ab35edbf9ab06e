//! Stalls: detects a disk that does not answer. An atomic shows every thread the writer's step and its start.
//!
//! Time counts as the watching thread sees it: while the process is stopped, nothing runs and no disk is late.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use std::{io, mem, thread};

use parking_lot::Mutex;
use tokio::sync::watch;

use super::health::FailureLatch;
use offerd_base::telemetry::metrics::{STORE_STALLED, STORE_STALLS};
use offerd_base::worded;

/// Checks within the time that a step may take.
const LOOKS: u32 = 5;

/// The most time that counts from one look to the next, in times of the planned.
const STRETCH: u32 = 2;

const SELDOM: Duration = Duration::from_millis(250);

/// An index step of this many stall limits has failed: it does not wait for the disk, or waits for ever.
const INDEX_STALLS: u32 = 20;

/// Number of values in the low digits of the atomic: 0 for no step, or one more than the step.
const DISTINCT: u64 = 16;

worded! {
    pub(super) enum WriterStep;
    /// Its name in messages.
    fn words;
    Read "a read of stored records";
    Journal "a journal write";
    /// Begins the next file of the journal, once the record files are synced so far.
    Roll "starting a journal file";
    Append "a record file write";
    /// Waits for readers to finish.
    Readers "a read in progress";
    Index "an index write";
    Keys "a key file write";
    /// Begins or removes a record file.
    Begin "starting a record file";
    Database "a commit";
}

const STEPS: [WriterStep; 9] = {
    use WriterStep::{Append, Begin, Database, Index, Journal, Keys, Read, Readers, Roll};
    [Read, Journal, Roll, Append, Readers, Index, Keys, Begin, Database]
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stall {
    step: WriterStep,
    lasts: Duration,
}

impl Stall {
    pub(super) fn told(self) -> String {
        let who = if self.is_of_disk() { "disk" } else { "database" };
        format!("the {who} has not finished {} for {} s", self.step.words(), self.lasts.as_secs())
    }

    /// Whether it counts in the metrics, which are of the disk. A silent database makes a node not ready.
    fn is_of_disk(self) -> bool {
        self.step != WriterStep::Database
    }
}

#[derive(Debug)]
pub(super) struct Stalls {
    looked: Mutex<Instant>,
    /// Microseconds that the process has run, as seen by the looks.
    ran: AtomicU64,
    /// The duration from which a step counts as a stall.
    pub(super) after: Duration,
    /// `ran` at the start of the step times [`DISTINCT`], plus the step; 0 while the writer is idle.
    at: AtomicU64,
    /// Whether a stall has been logged; wakes those waiting for one.
    shown: watch::Sender<bool>,
}

impl Stalls {
    pub(super) fn new(after: Duration) -> Self {
        let (looked, shown) = (Mutex::new(Instant::now()), watch::Sender::new(false));
        Self { looked, ran: AtomicU64::new(0), after, at: AtomicU64::new(0), shown }
    }

    /// The writer begins a step, which ends the one before.
    pub(super) fn step(&self, step: WriterStep) {
        let micros = self.ran.load(Ordering::Acquire);
        self.note(micros.saturating_mul(DISTINCT) | (step as u64 + 1));
    }

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

    pub(super) fn stall(&self) -> Option<Stall> {
        self.stall_at(self.at.load(Ordering::Acquire))
    }

    fn stall_at(&self, at: u64) -> Option<Stall> {
        let step = STEPS.into_iter().find(|step| *step as u64 + 1 == at % DISTINCT)?;
        let ran = self.ran.load(Ordering::Acquire);
        let lasts = Duration::from_micros(ran.saturating_sub(at / DISTINCT));
        (lasts >= self.after).then_some(Stall { step, lasts })
    }

    /// Counts the time since the last look, and logs the part in which the process did not run.
    fn tick(&self, now: Instant) {
        let since = now.saturating_duration_since(mem::replace(&mut self.looked.lock(), now));
        let ran = since.min(self.every() * STRETCH);
        self.ran.fetch_add(u64::try_from(ran.as_micros()).unwrap_or(0), Ordering::AcqRel);
        let stopped = since - ran;
        if stopped >= self.after.max(SELDOM) {
            tracing::warn!(?stopped, "the process did not run: it was stopped, or the machine was suspended");
        }
    }

    fn every(&self) -> Duration {
        (self.after / LOOKS).clamp(Duration::from_millis(1), SELDOM)
    }

    pub(super) async fn until_stalled(&self) {
        let mut shown = self.shown.subscribe();
        while self.stall().is_none() {
            if shown.changed().await.is_err() {
                return;
            }
        }
    }

    /// Logs a stall once, and exports its duration; a long index write fails the store for good.
    fn look(&self, latch: &FailureLatch) {
        match self.stall() {
            Some(stall) => {
                self.begins(stall);
                if stall.is_of_disk() {
                    metrics::gauge!(STORE_STALLED).set(stall.lasts.as_secs_f64());
                }
                if stall.step == WriterStep::Index && stall.lasts > self.after * INDEX_STALLS {
                    latch.fail_for_good(&stall.told());
                }
            }
            // The writer returned while the stall was being logged.
            None => _ = self.has_ended(),
        }
    }

    fn begins(&self, stall: Stall) {
        if self.shown.send_if_modified(|shown| !mem::replace(shown, true)) {
            if stall.is_of_disk() {
                metrics::counter!(STORE_STALLS).increment(1);
            }
            tracing::error!(
                reason = stall.told(),
                "the store does not answer: offerd refuses new leads until it does"
            );
        }
    }

    fn ends(&self, stall: Stall) {
        if self.has_ended() {
            let lasted_ms = u64::try_from(stall.lasts.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(lasted_ms, "the store answers again: offerd accepts leads");
        }
    }

    /// Records the end of a stall; returns whether one was logged.
    fn has_ended(&self) -> bool {
        let has_ended = self.shown.send_if_modified(|shown| mem::replace(shown, false));
        if has_ended {
            metrics::gauge!(STORE_STALLED).set(0.0);
        }
        has_ended
    }
}

pub(super) fn watch(stalls: &Arc<Stalls>, latch: &Arc<FailureLatch>) -> io::Result<()> {
    let every = stalls.every();
    *stalls.looked.lock() = Instant::now();
    let (stalls, latch) = (Arc::downgrade(stalls), Arc::downgrade(latch));
    metrics::gauge!(STORE_STALLED).set(0.0);
    let looking = move || {
        while let Some((stalls, latch)) = Weak::upgrade(&stalls).zip(Weak::upgrade(&latch)) {
            stalls.tick(Instant::now());
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
        stalls.step(WriterStep::Journal);
        assert_eq!(stalls.stall().map(|stall| stall.step), Some(WriterStep::Journal));
        stalls.step(WriterStep::Begin);
        let told = stalls.stall().expect("it takes longer than no time").told();
        assert_eq!(told, "the disk has not finished starting a record file for 0 s");
        stalls.step(WriterStep::Database);
        let stall = stalls.stall().expect("it takes longer than no time");
        assert!(!stall.is_of_disk() && stall.told().starts_with("the database has not"));
        stalls.done();
        assert_eq!(stalls.stall(), None);
        let patient = Stalls::new(Duration::from_secs(3600));
        patient.step(WriterStep::Index);
        assert_eq!(patient.stall(), None);
    }

    /// SIGSTOP of the process, or a machine that sleeps, is no fault of the disk.
    #[test]
    fn time_in_which_the_process_does_not_run_is_no_stall() {
        let stalls = Stalls::new(Duration::from_secs(1));
        let mut now = *stalls.looked.lock();
        let mut look_after = |time| {
            now += time;
            stalls.tick(now);
            stalls.stall().is_some()
        };
        stalls.step(WriterStep::Journal);
        assert!(!look_after(Duration::from_secs(60)), "it was stopped");
        let looks = (0..10).map(|_| look_after(Duration::from_millis(200)));
        assert_eq!(looks.filter(|is_stall| *is_stall).count(), 8, "it runs, and the disk hangs");
    }

    #[tokio::test]
    async fn who_waits_for_a_stall_is_told_by_who_looks() {
        let (stalls, latch) = (Arc::new(Stalls::new(Duration::from_millis(1))), Arc::default());
        watch(&stalls, &latch).unwrap();
        stalls.step(WriterStep::Keys);
        stalls.until_stalled().await;
        assert!(latch.failure().is_none(), "a disk may come back");
        stalls.step(WriterStep::Index);
        latch.until_lost().await;
        assert!(latch.failure().expect("it is lost").for_good, "an index that never ends does not");
    }
}
