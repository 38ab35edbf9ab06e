//! Timeouts that follow how fast partners answer: shortened to where only a chosen share of answers would be lost.
//!
//! Of each seat whose file asks for it, the times of the last asks are kept; a time-out counts as an answer that would have
//! taken for ever. The timeout is the time within which all but the chosen share ended, so it never shortens itself
//! further: once more asks run out of time than may, the time that was waited for them is not enough, and the whole
//! timeout holds again. At the start the times are read from the stored tables.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::texts::Texts;
use super::timing;
use crate::model::ProductType;
use crate::partners::partner::AdaptiveTimeout;
use crate::partners::{Book, Seat, SeatText};
use crate::rate_table::outcome::Outcome;
use crate::store::Store;

/// Asks that are looked back at.
const ASKS_KEPT: usize = 2000;

/// Fewest asks that say anything.
const ASKS_ENOUGH: usize = 200;

/// Asks between which a timeout stays the same.
const ASKS_BETWEEN: usize = 50;

/// How far back stored tables are read at the start, milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What an ask that ran out of time took.
const FOR_EVER: u32 = u32::MAX;

/// The paces of all seats.
#[derive(Debug, Default)]
pub struct Paces(Mutex<HashMap<(String, ProductType), Pace>>);

/// How fast one seat has answered lately.
#[derive(Debug, Default)]
struct Pace {
    /// Milliseconds, oldest first.
    recent: VecDeque<u32>,
    /// Asks since the timeout was made.
    since: usize,
    /// The time that is enough for all but the allowed share, once that is known.
    enough: Option<Duration>,
}

impl Paces {
    /// The paces that the stored tables of the last day tell, where the book asks for them.
    pub fn recalled(store: &Store, texts: &Texts, book: &Book, now: i64) -> Self {
        let paces = Self::default();
        if book.seats().iter().any(|seat| seat.adaptive_timeout.is_some()) {
            timing::each_answer(store, texts, now - DAY_MS, |head, seat, elapsed_ms, outcome| {
                paces.note(head.test, seat, Duration::from_millis(elapsed_ms), outcome);
            });
        }
        paces
    }

    /// Notes how an ask ended. Tests, and what failed, say nothing of how long answers take.
    pub fn note(&self, test: bool, seat: &SeatText, elapsed: Duration, outcome: &Outcome) {
        let millis = match outcome {
            _ if test => return,
            Outcome::TimedOut => FOR_EVER,
            outcome if outcome.decision().is_none() => return,
            _ => u32::try_from(elapsed.as_millis()).unwrap_or(FOR_EVER),
        };
        let mut paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paces.entry((seat.key.clone(), seat.product_type)).or_default().note(millis);
    }

    /// How long a seat is waited for.
    pub fn timeout(&self, seat: &Seat) -> Duration {
        let Some(rule) = seat.adaptive_timeout else { return seat.timeout };
        let mut paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pace = paces.get_mut(&(seat.identity.key.clone(), seat.product_type));
        pace.map_or(seat.timeout, |pace| pace.timeout(rule, seat.timeout))
    }
}

impl Pace {
    fn note(&mut self, millis: u32) {
        if self.recent.len() == ASKS_KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(millis);
        self.since += 1;
    }

    fn timeout(&mut self, rule: AdaptiveTimeout, whole: Duration) -> Duration {
        if self.recent.len() < ASKS_ENOUGH {
            return whole;
        }
        if self.enough.is_none() || self.since >= ASKS_BETWEEN {
            self.since = 0;
            self.enough = Some(self.enough_for(rule.false_timeouts));
        }
        let ceiling = rule.ceiling.min(whole);
        // It only ever shortens, whatever floor and ceiling say.
        self.enough.map_or(whole, |enough| enough.clamp(rule.floor.min(ceiling), ceiling))
    }

    /// The time within which all but a share of the asks ended.
    fn enough_for(&self, share: f64) -> Duration {
        let mut times: Vec<u32> = self.recent.iter().copied().collect();
        let late = (times.len() as f64 * share).floor() as usize;
        let last_kept = times.len() - 1 - late.min(times.len() - 1);
        let (_, enough, _) = times.select_nth_unstable(last_kept);
        Duration::from_millis(u64::from(*enough))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: Duration = Duration::from_secs(10);

    fn rule() -> AdaptiveTimeout {
        AdaptiveTimeout { false_timeouts: 0.01, floor: Duration::from_millis(500), ceiling: WHOLE }
    }

    #[test]
    fn a_fast_partner_is_waited_for_as_long_as_all_but_one_in_a_hundred_take() {
        let mut pace = Pace::default();
        for nth in 0..1000 {
            pace.note(if nth % 100 == 0 { 9000 } else { 1000 + nth });
        }
        let timeout = pace.timeout(rule(), WHOLE);
        assert_eq!(timeout, Duration::from_millis(1999));
    }

    #[test]
    fn too_few_asks_say_nothing() {
        let mut pace = Pace::default();
        (1..ASKS_ENOUGH).for_each(|_| pace.note(5));
        assert_eq!(pace.timeout(rule(), WHOLE), WHOLE);
    }

    #[test]
    fn more_time_outs_than_may_be_bring_the_whole_timeout_back() {
        let mut pace = Pace::default();
        (0..980).for_each(|_| pace.note(600));
        assert_eq!(pace.timeout(rule(), WHOLE), Duration::from_millis(600));
        (0..60).for_each(|_| pace.note(FOR_EVER));
        assert_eq!(pace.timeout(rule(), WHOLE), WHOLE);
    }

    proptest! {
        #[test]
        fn it_only_ever_shortens_and_never_below_the_floor(
            times in prop::collection::vec(prop_oneof![0_u32..20_000, Just(FOR_EVER)], 0..600),
            share in 0.0..0.5,
            floor in 0_u64..20_000,
            ceiling in 0_u64..20_000,
        ) {
            let mut pace = Pace::default();
            times.iter().for_each(|time| pace.note(*time));
            let (floor, ceiling) = (Duration::from_millis(floor), Duration::from_millis(ceiling));
            let timeout = pace.timeout(AdaptiveTimeout { false_timeouts: share, floor, ceiling }, WHOLE);
            prop_assert!(timeout <= WHOLE);
            prop_assert!(times.len() < ASKS_ENOUGH || timeout >= floor.min(ceiling).min(WHOLE));
        }
    }
}
