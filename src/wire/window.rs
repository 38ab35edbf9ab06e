//! A sliding window over the outcomes of recent calls.

use std::time::Duration;

use tokio::time::Instant;

/// Number of slices of a window; outdated calls are dropped slice by slice.
const SLICES: usize = 10;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CallTally {
    pub(super) calls: u32,
    pub(super) failed: u32,
}

impl CallTally {
    pub(super) fn failed_percent(self, percent: u8) -> bool {
        u64::from(self.failed) * 100 >= u64::from(self.calls) * u64::from(percent)
    }
}

#[derive(Debug, Clone)]
pub(super) struct CallWindow {
    slice: Duration,
    slices: [CallTally; SLICES],
    origin: Option<Instant>,
    /// Number of the newest slice, relative to the origin.
    newest: u128,
}

impl CallWindow {
    pub(super) fn new(length: Duration) -> Self {
        let slice = (length / SLICES as u32).max(Duration::from_millis(1));
        Self { slice, slices: [CallTally::default(); SLICES], origin: None, newest: 0 }
    }

    pub(super) fn add(&mut self, now: Instant, ok: bool) {
        let number = self.number(now);
        self.forget_before(number);
        let slice = &mut self.slices[(self.newest % SLICES as u128) as usize];
        slice.calls += 1;
        slice.failed += u32::from(!ok);
    }

    pub(super) fn tally(&self, now: Instant) -> CallTally {
        let mut window = self.clone();
        let number = window.number(now);
        window.forget_before(number);
        window.slices.iter().fold(CallTally::default(), |sum, slice| CallTally {
            calls: sum.calls + slice.calls,
            failed: sum.failed + slice.failed,
        })
    }

    pub(super) fn clear(&mut self) {
        self.slices = [CallTally::default(); SLICES];
    }

    fn number(&mut self, now: Instant) -> u128 {
        let origin = *self.origin.get_or_insert(now);
        now.saturating_duration_since(origin).as_nanos() / self.slice.as_nanos()
    }

    /// Advances the newest slice to `number`, never backwards.
    fn forget_before(&mut self, number: u128) {
        let passed = number.saturating_sub(self.newest).min(SLICES as u128);
        for step in 1..=passed {
            self.slices[((self.newest + step) % SLICES as u128) as usize] = CallTally::default();
        }
        if passed == SLICES as u128 {
            self.clear();
        }
        self.newest = self.newest.max(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_leave_the_window_as_they_entered() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut window = CallWindow::new(Duration::from_secs(10));
        window.add(at(0), false);
        window.add(at(5), true);
        window.add(at(5), false);
        assert_eq!(window.tally(at(9)), CallTally { calls: 3, failed: 2 });
        assert_eq!(window.tally(at(10)), CallTally { calls: 2, failed: 1 });
        assert_eq!(window.tally(at(14)), CallTally { calls: 2, failed: 1 });
        assert_eq!(window.tally(at(15)), CallTally::default());
        assert_eq!(window.tally(at(3_600)), CallTally::default());
        window.add(at(3_600), true);
        assert_eq!(window.tally(at(3_600)), CallTally { calls: 1, failed: 0 });
    }
}
