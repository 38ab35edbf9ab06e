//! How long partners took, told from the records of rate tables: what a timeout is tuned by.
//!
//! Nothing is written for it. A table's head tells when it was made, its answers when they came and what they were, so the
//! figures reach as far back as the tables do, over restarts. They count from the moment a lead was taken in (or second
//! look began), so a millisecond or two of our own is in them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use tracing::warn;
use uuid::Uuid;

use super::matchmaker::Unavailable;
use super::pace::Paces;
use super::reading;
use super::texts::Texts;
use crate::model::ProductType;
use crate::partners::{Book, Seat, SeatText};
use crate::rate_table::asks::Asks;
use crate::rate_table::outcome::{NoOfferReason, Outcome};
use crate::rate_table::record::TableHead;
use crate::store::{Store, Tree};

/// The shorter timeouts that are looked at, in percent of the one there is.
const SHORTER_PERCENT: [u64; 3] = [75, 50, 25];

/// Longest time that is told apart, milliseconds; a partner's timeout is at most an hour.
const LONGEST_MS: u64 = 3_600_000;

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

/// What was counted of one seat.
#[derive(Debug)]
struct Tally {
    failed: u64,
    timed_out: u64,
    answered: Histogram<u64>,
    offered: Histogram<u64>,
}

/// How each seat has answered since a time in Unix milliseconds. Reads the tables made since, so it may take a while. A
/// record that cannot be read counts nothing.
pub fn timings(store: &Store, texts: &Texts, book: &Book, since: i64) -> Vec<SeatTiming> {
    let mut tallies: BTreeMap<(String, ProductType), Tally> = BTreeMap::new();
    each_answer(store, texts, since, |_, seat, elapsed_ms, outcome| {
        tallies.entry((seat.key.clone(), seat.product_type)).or_default().count(outcome, elapsed_ms);
    });
    let told = tallies.into_iter().map(|((partner, product_type), tally)| {
        let timeout_ms = seat_of(book, &partner, product_type).map(|seat| millis(seat.timeout));
        tally.told(partner, product_type, timeout_ms)
    });
    told.collect()
}

/// Tells beside the timings what the timeouts have been shortened to.
pub fn adapted(timings: Vec<SeatTiming>, book: &Book, paces: &Paces) -> Vec<SeatTiming> {
    let told = timings.into_iter().map(|timing| {
        let seat = seat_of(book, &timing.partner, timing.product_type);
        let seat = seat.filter(|seat| seat.adaptive_timeout.is_some());
        SeatTiming { adapted_timeout_ms: seat.map(|seat| millis(paces.timeout(seat))), ..timing }
    });
    told.collect()
}

fn seat_of<'b>(book: &'b Book, partner: &str, product_type: ProductType) -> Option<&'b Seat> {
    let mut seats = book.seats().iter();
    let seat = seats.find(|seat| seat.identity.key == partner && seat.product_type == product_type);
    seat.map(|seat| &**seat)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Tells of each answer in the tables made since: in which, whose it is, after how many milliseconds it came, and what it was.
pub(super) fn each_answer(
    store: &Store,
    texts: &Texts,
    since: i64,
    mut tell: impl FnMut(&TableHead, &SeatText, u64, &Outcome),
) {
    let asks: HashMap<Uuid, Asks> = reading::made_since(store, Tree::Asks, since).collect();
    for (table, head) in reading::made_since::<TableHead>(store, Tree::RateTables, since) {
        if let Err(Unavailable) = of_table(store, texts, table, &head, asks.get(&table), &mut tell) {
            warn!(rate_table = %table, "the answers of a table could not be counted");
        }
    }
}

fn of_table(
    store: &Store,
    texts: &Texts,
    table: Uuid,
    head: &TableHead,
    asks: Option<&Asks>,
    tell: &mut impl FnMut(&TableHead, &SeatText, u64, &Outcome),
) -> Result<(), Unavailable> {
    for answers in reading::answers(store, table) {
        for answer in answers? {
            let seat = usize::from(answer.seat);
            let text = head.seats.get(seat).ok_or(Unavailable)?;
            let text = texts.seat(*text).map_err(|_| Unavailable)?;
            let asked_at = asks.and_then(|asks| asks.released_at(seat)).unwrap_or(head.created_at);
            let elapsed = u64::try_from(answer.at - asked_at).unwrap_or(0);
            tell(head, &text, elapsed, &answer.outcome);
        }
    }
    Ok(())
}

impl Default for Tally {
    fn default() -> Self {
        let histogram = || {
            let mut histogram =
                Histogram::new_with_max(LONGEST_MS, 2).expect("the bounds of the histogram are fixed");
            histogram.auto(false);
            histogram
        };
        Self { failed: 0, timed_out: 0, answered: histogram(), offered: histogram() }
    }
}

impl Tally {
    /// Counts an outcome, unless the seat was not asked at all.
    fn count(&mut self, outcome: &Outcome, elapsed_ms: u64) {
        use NoOfferReason::{Declined, Rejected};
        match outcome {
            Outcome::Offers(_) => {
                self.answered.saturating_record(elapsed_ms);
                self.offered.saturating_record(elapsed_ms);
            }
            Outcome::NoOffers(Declined | Rejected(_)) => self.answered.saturating_record(elapsed_ms),
            Outcome::NoOffers(_) => {}
            Outcome::Failed(_) => self.failed += 1,
            Outcome::TimedOut => self.timed_out += 1,
        }
    }

    fn told(&self, partner: String, product_type: ProductType, timeout_ms: Option<u64>) -> SeatTiming {
        let answered = self.answered.len();
        let quantile = |share: f64| (answered > 0).then(|| self.answered.value_at_quantile(share));
        let shorter = timeout_ms.into_iter().flat_map(|timeout| {
            SHORTER_PERCENT.map(|percent| {
                let timeout_ms = timeout * percent / 100;
                let kept = self.offered.count_between(0, timeout_ms);
                Shorter { timeout_ms, lost: self.offered.len() - kept }
            })
        });
        SeatTiming {
            partner,
            product_type,
            timeout_ms,
            adapted_timeout_ms: None,
            asked: answered + self.failed + self.timed_out,
            answered,
            offered: self.offered.len(),
            failed: self.failed,
            timed_out: self.timed_out,
            p50_ms: quantile(0.50),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            shorter: shorter.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_told_by_its_answers() {
        let mut tally = Tally::default();
        for elapsed in 1..=100 {
            tally.count(&Outcome::Offers(Vec::new()), elapsed * 10);
        }
        tally.count(&Outcome::NoOffers(NoOfferReason::Declined), 5);
        tally.count(&Outcome::NoOffers(NoOfferReason::NotNeeded), 5);
        tally.count(&Outcome::TimedOut, 1000);
        let told = tally.told("bank".to_owned(), ProductType::Loan, Some(1000));
        assert_eq!((told.asked, told.answered, told.offered, told.timed_out), (102, 101, 100, 1));
        let close = |found: Option<u64>, wanted: u64| {
            found.is_some_and(|found| found.abs_diff(wanted) <= wanted / 50)
        };
        assert!(close(told.p50_ms, 500) && close(told.p95_ms, 950) && close(told.p99_ms, 990), "{told:?}");
        let lost: Vec<u64> = told.shorter.iter().map(|shorter| shorter.lost).collect();
        assert!(
            lost[0].abs_diff(25) <= 1 && lost[1].abs_diff(50) <= 1 && lost[2].abs_diff(75) <= 1,
            "{lost:?}"
        );
    }

    #[test]
    fn a_seat_that_was_never_answered_has_no_times() {
        let mut tally = Tally::default();
        tally.count(&Outcome::TimedOut, 1000);
        let told = tally.told("bank".to_owned(), ProductType::Loan, None);
        assert_eq!((told.asked, told.p50_ms, told.shorter), (1, None, Vec::new()));
    }
}
