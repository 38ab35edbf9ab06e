//! An ask that has ended: how, and how long that took. Whoever counts asks counts these.

use std::time::Duration;

use crate::rate_table::outcome::Outcome;
use offerd_base::partner_health::Ending;

/// An ask that has ended, in eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedAsk {
    /// How long it took, microseconds; an hour at most, and all that is longer than `u32::MAX` as long as that.
    pub elapsed_us: u32,
    /// How it ended in its time; `None` of an answer that came later, which has been counted as timed out before.
    pub end: Option<Ending>,
    /// Whether its lead is a test.
    pub test: bool,
}

impl EndedAsk {
    /// The ask that came to an outcome, in its time; `None` when the seat was not asked after all.
    pub fn in_time(outcome: &Outcome, elapsed: Duration, test: bool) -> Option<Self> {
        if !outcome.was_asked() {
            return None;
        }
        let end = match outcome {
            Outcome::Offers(_) => Ending::Offered,
            Outcome::NoOffers(_) => Ending::Declined,
            Outcome::Failed(_) => Ending::Failed,
            Outcome::TimedOut => Ending::TimedOut,
        };
        Some(Self { elapsed_us: micros(elapsed), end: Some(end), test })
    }

    /// How it ended, where health is judged: by live leads only.
    pub(super) fn live_ending(self) -> Option<Ending> {
        self.end.filter(|_| !self.test)
    }

    /// What there is still to count of an ask that has timed out before; `None` when it has not been answered since.
    pub fn late(outcome: &Outcome, elapsed: Duration, test: bool) -> Option<Self> {
        let ask = Self::in_time(outcome, elapsed, test)?;
        matches!(ask.end, Some(Ending::Offered | Ending::Declined)).then_some(Self { end: None, ..ask })
    }
}

/// A time as it is kept of an ask.
pub(in crate::matching) fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}
