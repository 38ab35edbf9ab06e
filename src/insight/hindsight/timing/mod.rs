//! How long partners took, told from the records of rate tables, and what another timeout would have meant: what a timeout is tuned
//! by.
//!
//! Nothing is written for it. A table's head tells when it was made, its answers when each seat was asked, when its answer came
//! and what it was, so the figures reach as far back as the tables do, over restarts. What an answer would have been that was
//! not waited for is estimated ([`survival`](offerd_engine::matching::ask_statistics::survival)), with what became of a sample of those
//! that were watched for beyond their time ([`offerd_engine::matching::late_asks`]): these are kept in memory, so a stopped
//! daemon knows nothing of timeouts that are longer than the one there was.
//!
//! A seat that live leads have asked is told by them alone, and one that only tests have asked by the tests.

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
use offerd_engine::matching::ask_statistics::survival::Ending;
use offerd_engine::matching::ask_statistics::{AskStatistics, AskTally, EndedAsk};
use offerd_engine::matching::late_asks::LateAsk;
use offerd_engine::records::reading::Told;
use offerd_engine::records::{Records, reading};
use offerd_model::ProductType;
use offerd_partners::Seat;
use offerd_store::ReadError;

/// How a seat has answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatTiming {
    /// Key of the partner.
    pub partner: String,
    /// What it was asked about.
    pub product_type: ProductType,
    /// Whether the asks are those of tests, since live leads have not asked it.
    pub tests: bool,
    /// Its timeout as its file has it; `None` when it has left the panel.
    pub timeout_ms: Option<u64>,
    /// What it has been shortened to by now; `None` when its file does not ask for that, or no daemon runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapted_timeout_ms: Option<u64>,
    /// How often it was asked, and the ask has ended.
    pub asked: u64,
    /// How often it answered, with offers or without.
    pub answered: u64,
    /// How often with offers.
    pub offered: u64,
    /// How often it failed.
    pub failed: u64,
    /// How often its time ran out.
    pub timed_out: u64,
    /// Those of them whose answer was waited for all the same.
    pub watched: u64,
    /// Time within which half of the asks are answered, milliseconds, those counted that ran out of time; `None` where that is
    /// later than anybody has waited.
    pub p50_ms: Option<u64>,
    /// Time within which 95 of a hundred are.
    pub p95_ms: Option<u64>,
    /// Time within which 99 of a hundred are.
    pub p99_ms: Option<u64>,
    /// The longest that an answer was waited for, milliseconds: a time that is `None` is longer.
    pub seen_to_ms: Option<u64>,
    /// What other timeouts would win, lose and cost; nothing of a seat that answers at once, or has left the panel.
    pub timeouts: Vec<OtherTimeout>,
}

/// The asks of one seat, of live leads or of tests.
#[derive(Debug, Default)]
struct SeatAsks {
    tally: AskTally,
    waits: Waits,
}

/// The asks of one seat: those of live leads, those of tests.
type OfSeat = [SeatAsks; 2];

/// The asks of one table, as they are read.
#[derive(Debug, Default)]
struct TableAsks {
    table: Uuid,
    asks: Vec<Asked>,
    /// When each seat had its outcome, that was asked or not, milliseconds from the lead's arrival.
    done: Vec<u64>,
}

/// An ask of a table.
#[derive(Debug)]
struct Asked {
    seat: SeatKey,
    ask: EndedAsk,
    /// Milliseconds from the lead's arrival.
    after_ms: u64,
    waited_ms: u64,
    /// Its place in `done`.
    place: usize,
}

type SeatKey = (String, ProductType);

/// How each seat has answered since a time in Unix milliseconds, and what other timeouts would have meant. Reads the tables made
/// since, so it may take a while. A broken record counts nothing.
///
/// # Errors
/// That the store cannot be read.
pub fn timings(
    records: &Records,
    configuration: &Configuration,
    statistics: &AskStatistics,
    since: i64,
) -> Result<Vec<SeatTiming>, ReadError> {
    let mut seats: BTreeMap<SeatKey, OfSeat> = BTreeMap::new();
    let mut of_table = TableAsks::default();
    reading::each_answer(records, since, |told| {
        if told.head.uuid != of_table.table {
            std::mem::take(&mut of_table).count(&mut seats);
            of_table.table = told.head.uuid;
        }
        of_table.note(&told);
    })?;
    of_table.count(&mut seats);

    let timing = |((partner, product_type), asks): (SeatKey, OfSeat)| {
        let seat = configuration.book.seat_of(&partner, product_type);
        let late = seat.and_then(|seat| configuration.clients.of(seat)).map(|client| client.late());
        let tests = asks[0].tally.is_empty();
        let mut late = late.unwrap_or_default();
        late.retain(|ask| ask.at >= since && ask.test == tests);
        let of_asks = &asks[usize::from(tests)];
        let timing = of_asks.timing(seat.map(|seat| &**seat), &late, configuration.rules.matching.deadline);
        let adapted = seat.and_then(|seat| seat.adaptive_timeout.map(|_| statistics.timeout(seat)));
        SeatTiming { partner, product_type, tests, adapted_timeout_ms: adapted.map(millis), ..timing }
    };
    Ok(seats.into_iter().map(timing).collect())
}

impl TableAsks {
    fn note(&mut self, told: &Told<'_>) {
        let Told { head, seat, after_ms, elapsed_ms, outcome, .. } = *told;
        let (place, waited_ms) = (self.done.len(), told.waited_ms());
        self.done.push(after_ms + elapsed_ms);
        let ask = EndedAsk::in_time(outcome, Duration::from_millis(waited_ms), head.test);
        let seat = (seat.key.clone(), seat.product_type);
        self.asks.extend(ask.map(|ask| Asked { seat, ask, after_ms, waited_ms, place }));
    }

    /// Counts the asks, once all of the table is known.
    fn count(self, seats: &mut BTreeMap<SeatKey, OfSeat>) {
        let done = self.done;
        for Asked { seat, ask, after_ms, waited_ms, place } in self.asks {
            let others = done.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, done)| *done);
            let asks = &mut seats.entry(seat).or_default()[usize::from(ask.test)];
            asks.tally.count(ask);
            asks.waits.count(Wait {
                others: others.max().unwrap_or(0),
                after: after_ms,
                elapsed: waited_ms,
                ended: ask.end != Some(Ending::TimedOut),
            });
        }
    }
}

impl SeatAsks {
    /// The figures, but for whose they are; `seat` is nobody's who has left the panel.
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
