//! Adaptive timeouts: shortened to where only a chosen share of answers would be lost.
//!
//! A time-out counts as an answer that would have taken for ever. The timeout is the time within which all but the chosen share of
//! the last asks ended, so it never shortens itself further: once more asks run out of time than may, the time that was waited for
//! them is not enough, and the whole timeout holds again. Tests, and what failed, say nothing of how long answers take.

use std::time::Duration;

use super::ask::EndedAsk;
use offerd_base::partner_health::Ending;
use offerd_partners::declared::AdaptiveTimeout;

/// Fewest asks that say anything.
const ASKS_ENOUGH: usize = 200;

/// Asks between which a timeout stays the same.
const ASKS_BETWEEN: usize = 50;

/// What an ask that ran out of time took, microseconds.
const FOR_EVER: u32 = u32::MAX;

/// The time that is enough for a seat, as of some asks ago.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// Asks since it was made.
    pub(super) age: usize,
    /// The time that is enough for all but the allowed share, once that is known.
    enough: Option<Duration>,
}

impl Estimate {
    /// How long a seat is waited for that ended these asks last, and whose whole timeout is `whole`.
    pub(super) fn timeout<'a>(
        &mut self,
        asks: impl IntoIterator<Item = &'a EndedAsk>,
        rule: AdaptiveTimeout,
        whole: Duration,
    ) -> Duration {
        if self.age >= ASKS_BETWEEN {
            *self = Self { age: 0, enough: enough_for(asks, rule.false_timeouts) };
        }
        let ceiling = rule.ceiling.unwrap_or(whole).min(whole);
        // It only ever shortens, whatever floor and ceiling say.
        self.enough.map_or(whole, |enough| enough.clamp(rule.floor.min(ceiling), ceiling))
    }
}

/// The time, in whole milliseconds, within which all but a share of the asks ended, half of them at most; `None` when there are too
/// few.
fn enough_for<'a>(asks: impl IntoIterator<Item = &'a EndedAsk>, share: f64) -> Option<Duration> {
    let mut times: Vec<u32> = asks.into_iter().filter_map(took).collect();
    if times.len() < ASKS_ENOUGH {
        return None;
    }
    let in_time = times.len() - (times.len() as f64 * share).floor() as usize;
    let (_, enough, _) = times.select_nth_unstable(in_time - 1);
    Some(Duration::from_millis(u64::from(*enough / 1000)))
}

/// How long the answer to an ask took, if that says anything.
fn took(ask: &EndedAsk) -> Option<u32> {
    match ask.end {
        _ if ask.test => None,
        Some(Ending::Offered | Ending::Declined) => Some(ask.elapsed_us),
        Some(Ending::TimedOut) => Some(FOR_EVER),
        Some(Ending::Failed) | None => None,
    }
}
