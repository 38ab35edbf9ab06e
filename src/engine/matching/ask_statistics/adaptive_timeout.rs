//! Adaptive timeouts: shortened so far that only a chosen share of answers is lost.
//!
//! The timeout is the time within which all but the chosen share of recent asks ended. A timed-out ask takes
//! for ever, so once more asks time out than the share allows, the full timeout applies again.

use std::collections::VecDeque;
use std::time::Duration;

use super::ask::EndedAsk;
use offerd_base::partner_health::AskEnding;
use offerd_partners::declared::AdaptiveTimeout;

const ASKS_ENOUGH: usize = 200;

const ASKS_BETWEEN: usize = 50;

/// The duration of a timed-out ask, microseconds.
const FOR_EVER: u32 = u32::MAX;

/// A seat's estimated timeout, which is some asks old.
#[derive(Debug, Default)]
pub(super) struct TimeoutEstimate {
    pub(super) age: usize,
    /// The time within which all but the allowed share ended, if known.
    enough: Option<Duration>,
}

impl TimeoutEstimate {
    pub(super) fn timeout(
        &mut self,
        asks: &VecDeque<EndedAsk>,
        rule: AdaptiveTimeout,
        whole: Duration,
    ) -> Duration {
        if self.age >= ASKS_BETWEEN {
            *self = Self { age: 0, enough: enough_for(asks, rule.false_timeouts) };
        }
        let ceiling = rule.ceiling.unwrap_or(whole).min(whole);
        // Never longer than the full timeout, whatever floor and ceiling are.
        self.enough.map_or(whole, |enough| enough.clamp(rule.floor.min(ceiling), ceiling))
    }
}

/// The time within which all but a share (at most half) of the asks ended; `None` with too few asks.
fn enough_for(asks: &VecDeque<EndedAsk>, share: f64) -> Option<Duration> {
    let mut times: Vec<u32> = asks.iter().filter_map(took).collect();
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
        Some(AskEnding::Offered | AskEnding::Declined) => Some(ask.elapsed_us),
        Some(AskEnding::TimedOut) => Some(FOR_EVER),
        Some(AskEnding::Failed) | None => None,
    }
}
