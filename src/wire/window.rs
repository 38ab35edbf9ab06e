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
    /// The latest slices with calls, by number from the origin.
    slices: Vec<(u128, CallTally)>,
    origin: Option<Instant>,
}

impl CallWindow {
    pub(super) fn new(length: Duration) -> Self {
        let slice = (length / SLICES as u32).max(Duration::from_millis(1));
        Self { slice, slices: Vec::with_capacity(SLICES), origin: None }
    }

    pub(super) fn add(&mut self, now: Instant, ok: bool) {
        self.origin.get_or_insert(now);
        let number = self.number(now);
        self.slices.retain(|(old, _)| is_recent(*old, number));
        if self.slices.last().is_none_or(|(newest, _)| *newest < number) {
            self.slices.push((number, CallTally::default()));
        }
        // A call that is judged late counts in the newest slice.
        if let Some((_, slice)) = self.slices.last_mut() {
            slice.calls += 1;
            slice.failed += u32::from(!ok);
        }
    }

    pub(super) fn tally(&self, now: Instant) -> CallTally {
        let number = self.number(now);
        let recent = self.slices.iter().filter(|(old, _)| is_recent(*old, number));
        recent.fold(CallTally::default(), |sum, (_, slice)| CallTally {
            calls: sum.calls + slice.calls,
            failed: sum.failed + slice.failed,
        })
    }

    pub(super) fn clear(&mut self) {
        self.slices.clear();
    }

    fn number(&self, now: Instant) -> u128 {
        let passed = self.origin.map(|origin| now.saturating_duration_since(origin));
        passed.unwrap_or_default().as_nanos() / self.slice.as_nanos()
    }
}

fn is_recent(old: u128, number: u128) -> bool {
    old + SLICES as u128 > number
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
