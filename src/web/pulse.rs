//! How late the process is: the signal by which load is shed.
//!
//! A beat is a task that wants to run every few milliseconds and notes how much later it did: the time that every ready
//! task waits for a thread just now. A short peak makes it late once; what CoDel calls a standing queue makes the least
//! of the last few delays large, and only that counts.
//!
//! What waits in a queue of its own is no task that is late: the process [heeds](Pulse::heed) the signal of whoever keeps it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use tokio::time::Instant;

/// Time between two beats.
const BEAT: Duration = Duration::from_millis(2);

/// Delays of which the least counts.
const REMEMBERED: usize = 3;

/// What a beat may be late for the timer's own coarseness.
const COARSENESS: Duration = Duration::from_millis(1);

/// How late the process is, over every thread that has a beat and every signal that is heeded.
#[derive(Debug)]
pub struct Pulse {
    begun: Instant,
    beats: RwLock<Vec<Arc<Beat>>>,
    signals: RwLock<Vec<Signal>>,
}

/// Tells how late something is that has no beat.
struct Signal(Box<dyn Fn() -> Duration + Send + Sync>);

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signal").field(&(self.0)()).finish()
    }
}

/// One thread's beat, in microseconds.
#[derive(Debug, Default)]
struct Beat {
    /// Least of the last delays.
    delay: AtomicU64,
    /// When the next is due, from the pulse's beginning.
    due: AtomicU64,
}

impl Pulse {
    /// A pulse without a beat or a signal, which is never late.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { begun: Instant::now(), beats: RwLock::default(), signals: RwLock::default() })
    }

    /// How long what is ready waits where it waits longest.
    pub fn delay(&self) -> Duration {
        let now = self.micros(Instant::now());
        let beats = self.beats.read().unwrap_or_else(PoisonError::into_inner);
        let delays = beats.iter().map(|beat| {
            // A thread that is stuck does not beat at all.
            let overdue = now.saturating_sub(beat.due.load(Ordering::Relaxed));
            let stuck = overdue.saturating_sub(BEAT.as_micros() as u64 * REMEMBERED as u64);
            beat.delay.load(Ordering::Relaxed).max(stuck)
        });
        let delay = Duration::from_micros(delays.max().unwrap_or_default());
        let signals = self.signals.read().unwrap_or_else(PoisonError::into_inner);
        signals.iter().map(|signal| (signal.0)()).fold(delay, Duration::max)
    }

    /// Has something be looked at that has no beat of its own; it tells how late it is.
    pub fn heed(&self, signal: impl Fn() -> Duration + Send + Sync + 'static) {
        self.signals.write().unwrap_or_else(PoisonError::into_inner).push(Signal(Box::new(signal)));
    }

    /// A beat, to be spawned on the thread or runtime that it is to watch. It ends with the pulse.
    pub fn beat(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static + use<> {
        let beat = Arc::new(Beat::default());
        beat.due.store(u64::MAX, Ordering::Relaxed);
        self.beats.write().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&beat));
        run(Arc::downgrade(self), beat)
    }

    /// A pulse that stays late, for tests of what it leads to.
    #[cfg(test)]
    pub(super) fn late(by: Duration) -> Arc<Self> {
        let pulse = Self::new();
        pulse.heed(move || by);
        pulse
    }

    fn micros(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.begun).as_micros() as u64
    }
}

async fn run(pulse: Weak<Pulse>, beat: Arc<Beat>) {
    let mut last = [0; REMEMBERED];
    for nth in (0..REMEMBERED).cycle() {
        let due = Instant::now() + BEAT;
        match pulse.upgrade() {
            Some(pulse) => beat.due.store(pulse.micros(due), Ordering::Relaxed),
            None => return,
        }
        tokio::time::sleep_until(due).await;
        let late = Instant::now().saturating_duration_since(due + COARSENESS);
        last[nth] = late.as_micros() as u64;
        beat.delay.store(last.iter().copied().min().unwrap_or_default(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a beat run once, `late` after it was due.
    async fn beat_late(late: Duration) {
        tokio::time::advance(BEAT + COARSENESS + late).await;
        tokio::task::yield_now().await;
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_stays_late_counts() {
        let pulse = Pulse::new();
        tokio::spawn(pulse.beat());
        tokio::task::yield_now().await;
        for _ in 0..REMEMBERED - 1 {
            beat_late(Duration::from_millis(30)).await;
        }
        assert_eq!(pulse.delay(), Duration::ZERO, "a peak is no overload");
        beat_late(Duration::from_millis(20)).await;
        assert!(pulse.delay() >= Duration::from_millis(19), "{:?}", pulse.delay());
        beat_late(Duration::ZERO).await;
        assert!(pulse.delay() < Duration::from_millis(2), "{:?}", pulse.delay());
    }

    #[test]
    fn what_is_heeded_counts_beside_the_beats() {
        let pulse = Pulse::new();
        assert_eq!(pulse.delay(), Duration::ZERO);
        for late_ms in [3, 7, 5] {
            pulse.heed(move || Duration::from_millis(late_ms));
        }
        assert_eq!(pulse.delay(), Duration::from_millis(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_thread_that_does_not_run_at_all_is_late() {
        let pulse = Pulse::new();
        let beat = tokio::spawn(pulse.beat());
        tokio::task::yield_now().await;
        beat.abort();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(pulse.delay() > Duration::from_millis(900), "{:?}", pulse.delay());
    }
}
