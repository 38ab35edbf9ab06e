//! Adaptive timeouts: shortened so far that only a chosen share of answers is lost.
//!
//! The timeout is the time within which all but the chosen share of recent asks ended. A timed-out ask takes
//! for ever, so once more asks time out than the share allows, the full timeout applies again.

use std::collections::VecDeque;
use std::time::Duration;

use super::ask::EndedAsk;
use offerd_base::partner_health::EndingKind;
use offerd_partners::declared::AdaptiveTimeout;

const ASKS_ENOUGH: usize = 200;

const ASKS_BETWEEN: usize = 50;

/// The duration of a timed-out ask, microseconds.
const FOR_EVER: u32 = u32::MAX;

/// A seat's estimated timeout, which is some asks old.
#[derive(Debug, Default)]
pub(super) struct TimeoutEstimate {
    age: usize,
    /// The full timeout, and how many of the latest asks ended under it: those cut at another one do not count.
    whole: Option<Duration>,
    under_it: usize,
    /// The time within which all but the allowed share ended, if known.
    enough: Option<Duration>,
}

impl TimeoutEstimate {
    pub(super) fn age(&mut self, asks: usize) {
        self.age += asks;
        self.under_it += asks;
    }

    pub(super) fn timeout(
        &mut self,
        asks: &VecDeque<EndedAsk>,
        rule: AdaptiveTimeout,
        whole: Duration,
    ) -> Duration {
        if self.whole.is_some_and(|earlier| earlier != whole) {
            *self = Self::default();
        }
        self.whole = Some(whole);
        if self.age >= ASKS_BETWEEN {
            (self.age, self.enough) = (0, enough_for(self.times(asks), rule.false_timeouts));
        }
        let ceiling = rule.ceiling.unwrap_or(whole).min(whole);
        // Never longer than the full timeout, whatever floor and ceiling are.
        self.enough.map_or(whole, |enough| enough.clamp(rule.floor.min(ceiling), ceiling))
    }

    /// Why the timeout is the full one; `None` if it is not.
    pub(super) fn why_full(&self, asks: &VecDeque<EndedAsk>, rule: AdaptiveTimeout) -> Option<String> {
        let ended = self.times(asks).len();
        match (self.enough, self.whole?) {
            (None, _) if ended < ASKS_ENOUGH => Some(format!(
                "not shortened yet: of {ASKS_ENOUGH} live asks under this timeout, {ended} have ended"
            )),
            (None, _) => Some("not shortened yet: the next asks do it".to_owned()),
            (Some(enough), whole) if enough >= whole => Some(format!(
                "not shortened: more than {} % of its last live asks ran out of time, or a shorter one would cut them",
                rule.false_timeouts * 100.0
            )),
            _ => None,
        }
    }

    fn times(&self, asks: &VecDeque<EndedAsk>) -> Vec<u32> {
        asks.iter().rev().take(self.under_it).filter_map(took).collect()
    }
}

/// The time within which all but a share (at most half) of the asks ended; `None` with too few asks.
fn enough_for(mut times: Vec<u32>, share: f64) -> Option<Duration> {
    if times.len() < ASKS_ENOUGH {
        return None;
    }
    let in_time = times.len() - (times.len() as f64 * share).floor() as usize;
    let (_, enough, _) = times.select_nth_unstable(in_time - 1);
    Some(Duration::from_millis(u64::from(*enough / 1000)))
}

/// The time that an ask's answer took; `None` for tests and failures.
fn took(ask: &EndedAsk) -> Option<u32> {
    match ask.end {
        _ if ask.test => None,
        Some(EndingKind::Offered | EndingKind::Declined) => Some(ask.elapsed_us),
        Some(EndingKind::TimedOut) => Some(FOR_EVER),
        Some(EndingKind::Failed) | None => None,
    }
}
