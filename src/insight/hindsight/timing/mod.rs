//! How long partners took, and the estimated effect of other timeouts, from the records of rate tables.
//! [`survival`](offerd_engine::matching::ask_statistics::survival) estimates the answers that timeouts cut
//! off, by a sample of asks watched beyond their timeout ([`offerd_engine::matching::late_asks`]). The sample
//! is in memory: without a daemon there are no estimates for longer timeouts.
//!
//! A seat is measured by the asks of live leads, or if it has none, of test leads.

mod other_timeouts;
#[cfg(test)]
mod tests;
mod waits;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::other_timeouts::OtherTimeout;
use self::other_timeouts::other_timeouts;
use self::waits::{Wait, Waits};
use offerd_engine::matching::Configuration;
use offerd_engine::matching::ask_statistics::survival::EndingKind;
use offerd_engine::matching::ask_statistics::{AskStatistics, AskTally, EndedAsk};
use offerd_engine::matching::late_asks::LateAsk;
use offerd_engine::records::reading::AnswerContext;
use offerd_engine::records::{Records, reading};
use offerd_model::ProductType;
use offerd_partners::Seat;
use offerd_store::ReadError;

/// The response times of a seat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatTiming {
    /// The partner's key.
    pub partner: String,
    /// The seat's product type.
    pub product_type: ProductType,
    /// Whether it is measured by test leads, since no live lead has asked it.
    pub tests: bool,
    /// The timeout in its file; `None` if the seat has left the book.
    pub timeout_ms: Option<u64>,
    /// The present adaptive timeout; `None` if its file does not enable that, or no daemon runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapted_timeout_ms: Option<u64>,
    /// Why an adaptive timeout is the full one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_full: Option<String>,
    /// Asks that have ended.
    pub asked: u64,
    /// Answers, with or without offers.
    pub answered: u64,
    /// Answers with offers.
    pub offered: u64,
    /// Asks that failed.
    pub failed: u64,
    /// Asks that timed out.
    pub timed_out: u64,
    /// The timed-out asks whose answers were still watched for.
    pub watched: u64,
    /// The median response time of all asks in milliseconds; `None` beyond the longest watch.
    pub p50_ms: Option<u64>,
    /// The 95th percentile.
    pub p95_ms: Option<u64>,
    /// The 99th percentile.
    pub p99_ms: Option<u64>,
    /// The longest time an answer was watched for, in milliseconds; a percentile that is `None` is longer.
    pub seen_to_ms: Option<u64>,
    /// The estimated effect of other timeouts; empty for a seat that answers at once or has left the book.
    pub timeouts: Vec<OtherTimeout>,
}

#[derive(Debug, Default)]
struct SeatAsks {
    tally: AskTally,
    waits: Waits,
}

type LiveAndTestAsks = [SeatAsks; 2];

#[derive(Debug, Default)]
struct TableAsks {
    table: Uuid,
    asks: Vec<TimedAsk>,
    /// When each seat, asked or not, had its outcome, in milliseconds since the lead's arrival.
    done: Vec<u64>,
}

#[derive(Debug)]
struct TimedAsk {
    seat: TimedSeat,
    ask: EndedAsk,
    /// Milliseconds since the lead's arrival.
    after_ms: u64,
    waited_ms: u64,
    /// Its index in `done`.
    place: usize,
}

type TimedSeat = (String, ProductType);

/// Measures each seat since a time in Unix milliseconds. Reads all tables since. Skips damaged records.
///
/// # Errors
/// The store cannot be read.
pub fn timings(
    records: &Records,
    configuration: &Configuration,
    statistics: &AskStatistics,
    since: i64,
) -> Result<Vec<SeatTiming>, ReadError> {
    let mut seats: BTreeMap<TimedSeat, LiveAndTestAsks> = BTreeMap::new();
    let mut of_table = TableAsks::default();
    reading::each_answer(records, since, |told| {
        if told.head.uuid != of_table.table {
            std::mem::take(&mut of_table).count(&mut seats);
            of_table.table = told.head.uuid;
        }
        of_table.note(&told);
    })?;
    of_table.count(&mut seats);

    let timing = |((partner, product_type), asks): (TimedSeat, LiveAndTestAsks)| {
        let seat = configuration.book.seat_of(&partner, product_type);
        let late = seat.and_then(|seat| configuration.clients.of(seat)).map(|client| client.late());
        let tests = asks[0].tally.is_empty();
        let mut late = late.unwrap_or_default();
        late.retain(|ask| ask.at >= since && ask.test == tests);
        let of_asks = &asks[usize::from(tests)];
        let timing = of_asks.timing(seat.map(|seat| &**seat), &late, configuration.rules.matching.deadline);
        let adapted = seat.and_then(|seat| seat.adaptive_timeout.map(|_| statistics.timeout(seat)));
        let why_full = seat.and_then(|seat| statistics.why_full(seat));
        SeatTiming {
            partner,
            product_type,
            tests,
            adapted_timeout_ms: adapted.map(millis),
            why_full,
            ..timing
        }
    };
    Ok(seats.into_iter().map(timing).collect())
}

impl TableAsks {
    fn note(&mut self, told: &AnswerContext<'_>) {
        let AnswerContext { head, seat, after_ms, elapsed_ms, outcome, .. } = *told;
        let (place, waited_ms) = (self.done.len(), told.waited_ms());
        self.done.push(after_ms + elapsed_ms);
        let ask = EndedAsk::in_time(outcome, Duration::from_millis(waited_ms), head.test);
        let seat = (seat.key.clone(), seat.product_type);
        self.asks.extend(ask.map(|ask| TimedAsk { seat, ask, after_ms, waited_ms, place }));
    }

    fn count(self, seats: &mut BTreeMap<TimedSeat, LiveAndTestAsks>) {
        let done = self.done;
        for TimedAsk { seat, ask, after_ms, waited_ms, place } in self.asks {
            let others = done.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, done)| *done);
            let asks = &mut seats.entry(seat).or_default()[usize::from(ask.test)];
            asks.tally.count(ask);
            let (others, ended) = (others.max().unwrap_or(0), ask.end != Some(EndingKind::TimedOut));
            asks.waits.count(Wait { others, after: after_ms, elapsed: waited_ms, ended });
        }
    }
}

impl SeatAsks {
    /// The figures without the seat's identity; `seat` is `None` if it has left the book.
    fn timing(&self, seat: Option<&Seat>, late: &[LateAsk], deadline: Duration) -> SeatTiming {
        let survival = self.tally.survival(late.iter().map(LateAsk::observed));
        let summary = self.tally.summary_of(&survival);
        let waited_for = seat.filter(|seat| !seat.answers_at_once());
        let timeouts = waited_for.map(|seat| other_timeouts(&survival, &self.waits, seat.timeout, deadline));
        SeatTiming {
            partner: String::new(),
            product_type: ProductType::Other,
            tests: false,
            timeout_ms: seat.map(|seat| millis(seat.timeout)),
            adapted_timeout_ms: None,
            why_full: None,
            asked: summary.asked,
            answered: summary.answered,
            offered: summary.offered,
            failed: summary.failed,
            timed_out: summary.timed_out,
            watched: late.len() as u64,
            p50_ms: summary.p50.map(millis),
            p95_ms: summary.p95.map(millis),
            p99_ms: summary.p99.map(millis),
            seen_to_ms: summary.seen_to.map(millis),
            timeouts: timeouts.unwrap_or_default(),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
