//! What asks came to, in figures: those of the last asks of a seat, or of all that the stored tables tell of.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::ask::{End, EndedAsk, micros};

/// Ended asks, counted by how they ended and after how many microseconds. It grows with the times that are told apart, not with the
/// asks: the stored tables tell milliseconds, of which a timeout has few.
#[derive(Debug, Clone, Default)]
pub struct AskTally(BTreeMap<(End, u32), u64>);

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
    /// Time within which half of the answers came; written in seconds.
    #[serde(serialize_with = "seconds")]
    pub p50: Option<Duration>,
    /// Time within which 95 of a hundred came.
    #[serde(serialize_with = "seconds")]
    pub p95: Option<Duration>,
    /// Time within which 99 of a hundred came.
    #[serde(serialize_with = "seconds")]
    pub p99: Option<Duration>,
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

    /// The figures.
    pub fn summary(&self) -> Summary {
        let of = |end: End| self.times(end, 0).map(|(_, count)| count).sum::<u64>();
        let (offered, failed, timed_out) = (of(End::Offered), of(End::Failed), of(End::TimedOut));
        let mut answers: Vec<(u32, u64)> =
            self.times(End::Offered, 0).chain(self.times(End::Declined, 0)).collect();
        answers.sort_unstable();
        let answered = answers.iter().map(|(_, count)| count).sum();
        let asked = answered + failed + timed_out;
        Summary {
            asked,
            answered,
            offered,
            failed,
            timed_out,
            answer_rate: (asked > 0).then(|| answered as f64 / asked as f64),
            offer_rate: (answered > 0).then(|| offered as f64 / answered as f64),
            p50: percentile(&answers, answered, 50),
            p95: percentile(&answers, answered, 95),
            p99: percentile(&answers, answered, 99),
        }
    }

    /// Answers with offers that another timeout would have lost.
    pub fn lost_by(&self, timeout: Duration) -> u64 {
        let later = self.times(End::Offered, micros(timeout).saturating_add(1));
        later.map(|(_, count)| count).sum()
    }

    /// The times after which asks ended so, from one on, each with how many did.
    fn times(&self, end: End, from: u32) -> impl Iterator<Item = (u32, u64)> {
        self.0.range((end, from)..=(end, u32::MAX)).map(|((_, micros), count)| (*micros, *count))
    }
}

/// The time within which so many of a hundred answers came, by nearest rank.
fn percentile(answers: &[(u32, u64)], answered: u64, percent: u64) -> Option<Duration> {
    let rank = (answered * percent).div_ceil(100);
    let mut came = 0;
    let at_rank = answers.iter().find(|(_, count)| {
        came += count;
        came >= rank
    });
    at_rank.map(|(micros, _)| Duration::from_micros(u64::from(*micros)))
}

/// Writes a time, if there is one, as seconds.
pub(super) fn seconds<S: Serializer>(
    time: &(impl Into<Option<Duration>> + Copy),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (*time).into().map(|time| time.as_secs_f64()).serialize(serializer)
}
