//! An ended ask with its result and duration, the unit of all ask statistics.

use std::time::Duration;

use crate::rate_table::outcome::{AskFailure, Outcome};
use offerd_base::partner_health::EndingKind;

/// An ended ask, in eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedAsk {
    /// Duration in microseconds, capped at `u32::MAX` (over an hour).
    pub elapsed_us: u32,
    /// The result; `None` for a late answer, whose ask was already counted as timed out.
    pub end: Option<EndingKind>,
    /// Whether its lead is a test.
    pub test: bool,
}

impl EndedAsk {
    /// An ask that ended with an outcome in time; `None` when the seat was not asked, or when a restart hides
    /// how it answered.
    pub fn in_time(outcome: &Outcome, elapsed: Duration, test: bool) -> Option<Self> {
        let is_known = outcome.was_asked() && *outcome != Outcome::Failed(AskFailure::Unsure);
        is_known.then(|| Self { elapsed_us: micros(elapsed), end: Some(outcome.ending()), test })
    }

    pub(super) fn live_ending(self) -> Option<EndingKind> {
        self.end.filter(|_| !self.test)
    }

    /// A late answer to an ask already counted as timed out; `None` if it is no answer.
    pub fn late(outcome: &Outcome, elapsed: Duration, test: bool) -> Option<Self> {
        let ask = Self::in_time(outcome, elapsed, test)?;
        matches!(ask.end, Some(EndingKind::Offered | EndingKind::Declined))
            .then_some(Self { end: None, ..ask })
    }
}

pub(in crate::matching) fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}
