//! What asks came to, in figures: those of the last asks of a seat, or of all that the stored tables tell of.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::ask::EndedAsk;
use super::survival::{Ending, Observed, Survival};

/// Ended asks, counted by how they ended and after how many microseconds. It grows with the times that are told apart, not with the
/// asks: the stored tables tell milliseconds, of which a timeout has few.
#[derive(Debug, Clone, Default)]
pub struct AskTally(BTreeMap<(Option<Ending>, u32), u64>);

/// What asks came to.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// Asks that have ended.
    pub asked: u64,
    /// Those that were answered in time.
    pub answered: u64,
    /// Those that were answered with offers.
    pub offered: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that ran out of time.
    pub timed_out: u64,
    /// Share of the asks that were answered.
    pub answer_rate: Option<f64>,
    /// Share of the answers that held offers.
    pub offer_rate: Option<f64>,
    /// Time within which half of the asks are answered, those counted that ran out of it; `None` where that is later than anybody has
    /// waited.
    #[serde(serialize_with = "seconds")]
    pub p50: Option<Duration>,
    /// Time within which 95 of a hundred are.
    #[serde(serialize_with = "seconds")]
    pub p95: Option<Duration>,
    /// Time within which 99 of a hundred are.
    #[serde(serialize_with = "seconds")]
    pub p99: Option<Duration>,
    /// The longest that an answer was waited for.
    #[serde(serialize_with = "seconds")]
    pub seen_to: Option<Duration>,
}

impl FromIterator<EndedAsk> for AskTally {
    fn from_iter<A: IntoIterator<Item = EndedAsk>>(asks: A) -> Self {
        let mut tally = Self::default();
        asks.into_iter().for_each(|ask| tally.count(ask));
        tally
    }
}

impl AskTally {
    /// Counts an ask.
    pub fn count(&mut self, ask: EndedAsk) {
        *self.0.entry((ask.end, ask.elapsed_us)).or_default() += 1;
    }

    /// Whether none is counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The figures, as far as the asks themselves tell them.
    pub fn summary(&self) -> Summary {
        self.summary_of(&self.survival([]))
    }

    /// The figures, where this is known of how the asks ended as time went by.
    pub fn summary_of(&self, survival: &Survival) -> Summary {
        let of = |end: Ending| self.times(end).map(|(_, count)| count).sum::<u64>();
        let (offered, declined) = (of(Ending::Offered), of(Ending::Declined));
        let (failed, timed_out) = (of(Ending::Failed), of(Ending::TimedOut));
        let answered = offered + declined;
        let asked = answered + failed + timed_out;
        let micros = |micros: u32| Duration::from_micros(u64::from(micros));
        let within = |share: f64| survival.answered_within(share).map(micros);
        Summary {
            asked,
            answered,
            offered,
            failed,
            timed_out,
            answer_rate: (asked > 0).then(|| answered as f64 / asked as f64),
            offer_rate: (answered > 0).then(|| offered as f64 / answered as f64),
            p50: within(0.5),
            p95: within(0.95),
            p99: within(0.99),
            seen_to: (answered + timed_out > 0).then(|| micros(survival.seen_to_us)),
        }
    }

    /// How the asks ended as time went by, with what became of those of them that were watched for `beyond` their time.
    pub fn survival(&self, beyond: impl IntoIterator<Item = Observed>) -> Survival {
        let asks = self.0.iter().filter_map(|((end, micros), count)| {
            // One that came later is counted among those that timed out.
            Some(Observed { from_us: None, to_us: *micros, end: (*end)?, count: *count })
        });
        asks.chain(beyond).collect()
    }

    /// The times after which asks ended so, each with how many did.
    fn times(&self, end: Ending) -> impl Iterator<Item = (u32, u64)> {
        self.0.range((Some(end), 0)..=(Some(end), u32::MAX)).map(|((_, micros), count)| (*micros, *count))
    }
}

/// Writes a time, if there is one, as seconds.
pub(super) fn seconds<S: Serializer>(
    time: &(impl Into<Option<Duration>> + Copy),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (*time).into().map(|time| time.as_secs_f64()).serialize(serializer)
}
