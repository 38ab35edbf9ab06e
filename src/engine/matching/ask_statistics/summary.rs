//! Aggregate figures of asks: of a seat's last asks, or of all stored tables.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::ask::EndedAsk;
use super::survival::{EndingKind, Observed, Survival};

/// Ended asks, counted by result and microseconds. Its size depends on the number of distinct durations.
#[derive(Debug, Clone, Default)]
pub struct AskTally(BTreeMap<(Option<EndingKind>, u32), u64>);

/// The figures.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AskSummary {
    /// Ended asks.
    pub asked: u64,
    /// Answered in time.
    pub answered: u64,
    /// Answered with offers.
    pub offered: u64,
    /// Failed.
    pub failed: u64,
    /// Timed out.
    pub timed_out: u64,
    /// Share of asks that were answered.
    pub answer_rate: Option<f64>,
    /// Share of answers with offers.
    pub offer_rate: Option<f64>,
    /// Median time to an answer, counting timed-out asks as unanswered; `None` beyond the longest wait.
    #[serde(serialize_with = "seconds")]
    pub p50: Option<Duration>,
    /// 95th percentile of the time to an answer.
    #[serde(serialize_with = "seconds")]
    pub p95: Option<Duration>,
    /// 99th percentile of the time to an answer.
    #[serde(serialize_with = "seconds")]
    pub p99: Option<Duration>,
    /// The longest wait for an answer.
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

    /// Whether no ask is counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The figures, from these asks alone.
    pub fn summary(&self) -> AskSummary {
        self.summary_of(&self.survival([]))
    }

    /// The figures, given the course of the asks over time.
    pub fn summary_of(&self, survival: &Survival) -> AskSummary {
        let of =
            |end| self.0.range((Some(end), 0)..=(Some(end), u32::MAX)).map(|(_, count)| count).sum::<u64>();
        let (offered, declined) = (of(EndingKind::Offered), of(EndingKind::Declined));
        let (failed, timed_out) = (of(EndingKind::Failed), of(EndingKind::TimedOut));
        let answered = offered + declined;
        let asked = answered + failed + timed_out;
        let micros = |micros: u32| Duration::from_micros(u64::from(micros));
        let within = |share: f64| survival.answered_within(share).map(micros);
        AskSummary {
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

    /// The course of the asks over time, with the ones that were watched `beyond` their budget.
    pub fn survival(&self, beyond: impl IntoIterator<Item = Observed>) -> Survival {
        let asks = self.0.iter().filter_map(|((end, micros), count)| {
            // A late answer is counted as a timed-out ask already.
            Some(Observed { from_us: None, to_us: *micros, end: (*end)?, count: *count })
        });
        asks.chain(beyond).collect()
    }
}

pub(super) fn seconds<S: Serializer>(
    time: &(impl Into<Option<Duration>> + Copy),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (*time).into().map(|time| time.as_secs_f64()).serialize(serializer)
}
