//! The limit of work in flight, derived from its queueing time: LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus,
//! which extends RFC 6817), with leads for segments.
//!
//! A window is as many acknowledgements as may be in flight. Its least queueing time counts. Once per window:
//!
//! - while work queues for less than three quarters of the target, the limit doubles (slow start);
//! - up to the target, it grows by one;
//! - beyond, it shrinks in proportion to the excess, at most by half.
//!
//! The limit grows only while it is reached. Slow start restarts below a quarter of the target. The draft's
//! slowdown, to measure the delay without a queue, is left out: the wait for the disk is measured.

use std::time::Duration;

/// Smallest limit: so little work hardly queues, and the disk batches it.
pub(super) const LEAST: usize = 16;

pub(super) const FIRST: usize = 32;

/// Shares of the target at which slow start ends, and below which it restarts.
const SLOW_START_ENDS: f64 = 0.75;
const SLOW_START_AGAIN: f64 = 0.25;

#[derive(Debug, Default)]
pub(super) struct Limit {
    target: Duration,
    most: f64,
    now: f64,
    slow_start: bool,
    window: LimitWindow,
    pub(super) queueing: Duration,
}

#[derive(Debug, Default)]
struct LimitWindow {
    nth: u64,
    acknowledged: usize,
    least: Option<Duration>,
    reached: bool,
}

impl Limit {
    pub(super) fn new(target: Duration, most: usize) -> Self {
        let most = most.max(1) as f64;
        Self { target, most, now: (FIRST as f64).min(most), slow_start: true, ..Self::default() }
    }

    pub(super) fn get(&self) -> usize {
        self.now as usize
    }

    pub(super) fn window(&self) -> u64 {
        self.window.nth
    }

    pub(super) fn reached(&mut self) {
        self.window.reached = true;
    }

    pub(super) fn acknowledged(&mut self, window: u64, queueing: Duration) {
        if window != self.window.nth {
            return;
        }
        self.window.acknowledged += 1;
        let least = self.window.least.map_or(queueing, |least| least.min(queueing));
        self.window.least = Some(least);
        if self.window.acknowledged < self.get() {
            return;
        }
        self.queueing = least;
        let step = self.step(least.as_secs_f64() / self.target.as_secs_f64());
        if step < 0.0 || self.window.reached {
            self.now = (self.now + step).min(self.most).max((LEAST as f64).min(self.most));
        }
        self.window = LimitWindow { nth: self.window.nth + 1, ..LimitWindow::default() };
    }

    /// The change of the limit for a queueing time of `share` of the target.
    fn step(&mut self, share: f64) -> f64 {
        self.slow_start = share < SLOW_START_AGAIN || self.slow_start && share < SLOW_START_ENDS;
        match () {
            () if self.slow_start => self.now,
            () if share <= 1.0 => 1.0,
            () => (1.0 - self.now * (share - 1.0)).max(-self.now / 2.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TARGET: Duration = Duration::from_millis(5);

    /// A window in which the limit is reached and all work queues for this long.
    fn window(limit: &mut Limit, queueing: Duration) -> usize {
        limit.reached();
        let nth = limit.window();
        while limit.window() == nth {
            limit.acknowledged(nth, queueing);
        }
        limit.get()
    }

    #[test]
    fn it_doubles_until_new_work_queues_then_grows_by_one_and_shrinks_by_the_excess() {
        let mut limit = Limit::new(TARGET, 1000);
        assert_eq!(limit.get(), FIRST);
        assert_eq!(window(&mut limit, TARGET / 2), 2 * FIRST);
        assert_eq!(window(&mut limit, TARGET * 4 / 5), 2 * FIRST + 1, "three quarters end slow start");
        assert_eq!(window(&mut limit, TARGET / 2), 2 * FIRST + 2, "for good");
        assert_eq!(window(&mut limit, TARGET * 5 / 4), 2 * FIRST + 2 - 16, "a quarter, and one more");
        assert_eq!(window(&mut limit, TARGET * 100), 25, "at most by half");
        assert_eq!(window(&mut limit, Duration::ZERO), 50, "and anew");
    }

    #[test]
    fn three_quarters_end_slow_start_and_a_quarter_does_not_begin_it_anew() {
        let mut limit = Limit::new(Duration::from_secs(4), 1000);
        assert_eq!(window(&mut limit, Duration::from_secs(3)), FIRST + 1);
        assert_eq!(window(&mut limit, Duration::from_secs(1)), FIRST + 2);
        assert_eq!(window(&mut limit, Duration::from_millis(999)), 2 * (FIRST + 2));
    }

    #[test]
    fn what_is_not_reached_does_not_grow_but_shrinks() {
        let mut limit = Limit::new(TARGET, 1000);
        (0..FIRST).for_each(|_| limit.acknowledged(0, Duration::ZERO));
        assert_eq!((limit.get(), limit.window()), (FIRST, 1));
        (0..FIRST).for_each(|_| limit.acknowledged(1, TARGET * 2));
        assert_eq!(limit.get(), LEAST, "half of what it began with");
    }

    #[test]
    fn a_peak_is_no_queue_and_what_was_let_in_before_a_change_tells_nothing_of_it() {
        let mut limit = Limit::new(TARGET, 1000);
        limit.reached();
        (1..FIRST).for_each(|_| limit.acknowledged(0, TARGET * 9));
        limit.acknowledged(0, Duration::ZERO);
        assert_eq!(limit.get(), 2 * FIRST, "one of the window did not queue");
        (0..1000).for_each(|_| limit.acknowledged(0, TARGET * 9));
        assert_eq!(limit.get(), 2 * FIRST);
    }

    proptest! {
        #[test]
        fn it_stays_within_its_bounds_and_at_most_doubles_or_halves(
            most in 1_usize..5000,
            windows in prop::collection::vec((0_u64..100_000, any::<bool>()), 1..60),
        ) {
            let mut limit = Limit::new(TARGET, most);
            for (micros, reached) in windows {
                let (before, nth) = (limit.get(), limit.window());
                if reached {
                    limit.reached();
                }
                while limit.window() == nth {
                    limit.acknowledged(nth, Duration::from_micros(micros));
                }
                let after = limit.get();
                prop_assert!((LEAST.min(most)..=most).contains(&after));
                prop_assert!(after <= 2 * before + 1 && after + 1 >= before / 2);
                prop_assert!(reached || after <= before);
                prop_assert!(Duration::from_micros(micros) > TARGET || after >= before);
            }
        }
    }
}
