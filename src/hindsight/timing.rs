//! How long partners took, told from the records of rate tables: what a timeout is tuned by.
//!
//! Nothing is written for it. A table's head tells when it was made, its answers when they came and what they were, so the
//! figures reach as far back as the tables do, over restarts. They count from the moment a lead was taken in (or second
//! look began), so a millisecond or two of our own is in them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::matching::ask_statistics::{AskStatistics, AskTally, EndedAsk};
use crate::model::ProductType;
use crate::partners::Book;
use crate::records::{Records, reading};

/// The shorter timeouts that are looked at, in percent of the one there is.
const SHORTER_PERCENT: [u32; 3] = [75, 50, 25];

/// How a seat has answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatTiming {
    /// Key of the partner.
    pub partner: String,
    /// What it was asked about.
    pub product_type: ProductType,
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
    /// How often its time ran out: what a longer timeout could have won at most.
    pub timed_out: u64,
    /// Time within which half of its answers came, milliseconds; `None` without any.
    pub p50_ms: Option<u64>,
    /// Time within which 95 of a hundred came.
    pub p95_ms: Option<u64>,
    /// Time within which 99 of a hundred came.
    pub p99_ms: Option<u64>,
    /// What shorter timeouts would have lost.
    pub shorter: Vec<Shorter>,
}

/// A shorter timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shorter {
    /// The timeout, milliseconds.
    pub timeout_ms: u64,
    /// Answers with offers that came later than that.
    pub lost: u64,
}

/// How each seat has answered since a time in Unix milliseconds, and what its timeout has been shortened to. Reads the tables made
/// since, so it may take a while. A record that cannot be read counts nothing.
pub fn timings(records: &Records, book: &Book, statistics: &AskStatistics, since: i64) -> Vec<SeatTiming> {
    let mut tallies: BTreeMap<(String, ProductType), AskTally> = BTreeMap::new();
    reading::each_answer(records, since, |head, seat, elapsed_ms, outcome| {
        let tally = tallies.entry((seat.key.clone(), seat.product_type)).or_default();
        let ask = EndedAsk::in_time(outcome, Duration::from_millis(elapsed_ms), head.test);
        ask.into_iter().for_each(|ask| tally.count(ask));
    });
    let timing = |((partner, product_type), tally): ((String, ProductType), AskTally)| {
        let mut seats = book.seats().iter();
        let seat = seats.find(|seat| seat.identity.key == partner && seat.product_type == product_type);
        let timeout = seat.map(|seat| seat.timeout);
        let adapted = seat.and_then(|seat| seat.adaptive_timeout.map(|_| statistics.timeout(seat)));
        let adapted_timeout_ms = adapted.map(millis);
        SeatTiming { adapted_timeout_ms, ..SeatTiming::of(partner, product_type, timeout, &tally) }
    };
    tallies.into_iter().map(timing).collect()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl SeatTiming {
    fn of(partner: String, product_type: ProductType, timeout: Option<Duration>, tally: &AskTally) -> Self {
        let summary = tally.summary();
        let shorter = timeout.into_iter().flat_map(|timeout| {
            SHORTER_PERCENT.map(|percent| {
                let shorter = timeout * percent / 100;
                Shorter { timeout_ms: millis(shorter), lost: tally.lost_by(shorter) }
            })
        });
        Self {
            partner,
            product_type,
            timeout_ms: timeout.map(millis),
            adapted_timeout_ms: None,
            asked: summary.asked,
            answered: summary.answered,
            offered: summary.offered,
            failed: summary.failed,
            timed_out: summary.timed_out,
            p50_ms: summary.p50.map(millis),
            p95_ms: summary.p95.map(millis),
            p99_ms: summary.p99.map(millis),
            shorter: shorter.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::ask_statistics::End;

    fn ask(elapsed_ms: u32, end: End) -> EndedAsk {
        EndedAsk { elapsed_us: elapsed_ms * 1000, end, test: false }
    }

    #[test]
    fn a_seat_is_told_by_its_answers() {
        let mut tally: AskTally = (1..=100).map(|nth| ask(nth * 10, End::Offered)).collect();
        [ask(5, End::Declined), ask(1000, End::TimedOut)].into_iter().for_each(|ask| tally.count(ask));
        let timeout = Some(Duration::from_secs(1));
        let timing = SeatTiming::of("bank".to_owned(), ProductType::Loan, timeout, &tally);
        assert_eq!((timing.asked, timing.answered, timing.offered, timing.timed_out), (102, 101, 100, 1));
        assert_eq!((timing.p50_ms, timing.p95_ms, timing.p99_ms), (Some(500), Some(950), Some(990)));
        let shorter: Vec<(u64, u64)> =
            timing.shorter.iter().map(|shorter| (shorter.timeout_ms, shorter.lost)).collect();
        assert_eq!(shorter, [(750, 25), (500, 50), (250, 75)]);
    }

    #[test]
    fn a_seat_that_has_never_answered_has_no_times() {
        let tally = [ask(1000, End::TimedOut)].into_iter().collect();
        let timing = SeatTiming::of("bank".to_owned(), ProductType::Loan, None, &tally);
        assert_eq!((timing.asked, timing.p50_ms, timing.shorter), (1, None, Vec::new()));
    }
}
