//! Recent results of each seat's asks, and what follows from them: the adaptive timeout, the [`AskSummary`],
//! and the seat's health ([`offerd_base::partner_health`]). A busy seat takes 16 KiB for its asks, up to 20
//! KiB for its health, and as much for failures, until the daemon stops.
//!
//! Every engine thread records asks, so finding a seat takes no lock, and each seat has its own.

mod adaptive_timeout;
mod ask;
mod summary;
pub mod survival;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use chrono::Utc;
use metrics::{Counter, Histogram, counter, gauge, histogram};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::Instant;
use tracing::warn;
use uuid::Uuid;

use self::adaptive_timeout::TimeoutEstimate;
pub use self::ask::EndedAsk;
pub(super) use self::ask::micros;
use self::summary::seconds;
pub use self::summary::{AskSummary, AskTally};
use super::failure_log::FailureLog;
use crate::rate_table::outcome::{AskResult, Cause, Outcome};
use crate::records::Records;
use crate::records::reading::{self, AnswerContext};
use offerd_base::partner_health::{AskHistory, EndingKind, Health, Judgement};
use offerd_base::telemetry::metrics::{PARTNER_ANSWER_SECONDS, PARTNER_HEALTH, PARTNER_OUTCOMES};
use offerd_model::ProductType;
use offerd_partners::{Book, RecordedSeat, Seat};

const ASKS_KEPT: usize = 2000;

/// Most of them that people see, all since the start.
pub const ASKS_SHOWN: usize = 1000;

/// Failures kept per seat.
pub const TROUBLES_KEPT: usize = 50;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The statistics of all seats.
#[derive(Debug)]
pub struct AskStatistics {
    /// Keyed by partner. The map is replaced when a partner is first asked.
    partners: ArcSwap<HashMap<String, Arc<PartnerStatistics>>>,
    /// Origin of the times by which health is judged.
    begun: Instant,
    /// Failures, for the log.
    pub failures: FailureLog,
}

impl Default for AskStatistics {
    fn default() -> Self {
        Self { partners: ArcSwap::default(), begun: Instant::now(), failures: FailureLog::default() }
    }
}

type PartnerStatistics = [Mutex<SeatStatistic>; ProductType::ALL.len()];

#[derive(Debug, Default)]
struct SeatStatistic {
    asks: VecDeque<EndedAsk>,
    /// How many of the newest people see: not restored ones, since stored tables have less exact times.
    shown: usize,
    troubles: VecDeque<FailedAsk>,
    enough: TimeoutEstimate,
    history: AskHistory,
    /// Time from ask to outcome. Registered on first use and then held, to avoid look-ups.
    answer_seconds: Option<Histogram>,
    /// By outcome word. Seats in the book export 0 from the start: a first value of 1 would show no increase.
    outcomes: BTreeMap<&'static str, Counter>,
}

/// An ask that ended without a usable answer.
#[derive(Debug, Clone, Serialize)]
pub struct FailedAsk {
    /// When, Unix milliseconds.
    pub at: i64,
    /// The rate table.
    pub rate_table: Uuid,
    /// The word of the outcome.
    pub outcome: &'static str,
    /// The cause; quotes nothing of what was sent or answered.
    pub cause: Option<Cause>,
    /// Duration, serialized in seconds.
    #[serde(serialize_with = "seconds")]
    pub elapsed: Duration,
}

/// An ended ask to record.
#[derive(Debug, Clone, Copy)]
pub struct AskObservation<'n> {
    /// The rate table.
    pub rate_table: Uuid,
    /// Whether its lead is a test.
    pub test: bool,
    /// The result of the ask.
    pub result: &'n AskResult,
    /// Its duration.
    pub elapsed: Duration,
    /// Whether it ended after its budget.
    pub late: bool,
}

/// A seat's recent behaviour since the start.
#[derive(Debug, Default)]
pub struct RecentAsks {
    /// The last asks, oldest first.
    pub asks: Vec<EndedAsk>,
    /// The last failures, oldest first.
    pub troubles: Vec<FailedAsk>,
}

impl AskStatistics {
    /// Restores the statistics from the last day's stored tables, if any seat has an adaptive timeout.
    pub fn recalled(records: &Records, book: &Book, now: i64) -> Self {
        let statistics = Self::default();
        if book.seats().iter().any(|seat| seat.adaptive_timeout.is_some()) {
            let recalled = reading::each_answer(records, now - DAY_MS, |told| {
                let AnswerContext { head, seat, elapsed_ms, outcome, .. } = told;
                let ask = EndedAsk::in_time(outcome, Duration::from_millis(elapsed_ms), head.test);
                statistics.with(&seat.key, seat.product_type, |own| ask.map(|ask| own.recall(ask)));
            });
            if let Err(failure) = recalled {
                warn!(%failure, "could not read all recent answers of partners");
            }
        }
        statistics
    }

    /// Exports the counters of every seat of a book, starting at 0.
    pub fn begin(&self, book: &Book) {
        for seat in book.seats() {
            self.with(&seat.identity.key, seat.product_type, |statistic| {
                Outcome::every_word().for_each(|word| statistic.counted(&seat.recorded, word, 0));
            });
        }
    }

    /// Records a partner's reply, in time or late.
    pub fn replied(&self, seat: &RecordedSeat, noted: AskObservation<'_>) {
        let at = self.begun.elapsed();
        self.with(&seat.key, seat.product_type, |statistic| {
            statistic.answer_seconds(seat).record(noted.elapsed.as_secs_f64());
            statistic.note(seat, noted, at);
        });
        self.tell(seat, noted);
    }

    /// Records an ask that ended without a reply.
    pub fn unanswered(&self, seat: &RecordedSeat, noted: AskObservation<'_>) {
        let at = self.begun.elapsed();
        self.with(&seat.key, seat.product_type, |statistic| statistic.note(seat, noted, at));
        self.tell(seat, noted);
    }

    fn tell(&self, seat: &RecordedSeat, AskObservation { rate_table, result, late, .. }: AskObservation<'_>) {
        if result.outcome.is_failure() && result.outcome.was_asked() && !late {
            let (word, cause) = (result.outcome.word(), result.cause.as_ref());
            self.failures.note(seat, rate_table, word, cause);
        }
    }

    /// Counts the outcome of a seat that was not asked after all.
    pub fn not_asked(&self, seat: &RecordedSeat, outcome: &'static str) {
        self.with(&seat.key, seat.product_type, |statistic| statistic.counted(seat, outcome, 1));
    }

    /// The timeout of a seat.
    pub fn timeout(&self, seat: &Seat) -> Duration {
        let Some(rule) = seat.adaptive_timeout else { return seat.timeout };
        self.with(&seat.identity.key, seat.product_type, |statistic| {
            statistic.enough.timeout(&statistic.asks, rule, seat.timeout)
        })
    }

    /// Why a seat with an adaptive timeout has the full one; `None` if it has not.
    pub fn why_full(&self, seat: &Seat) -> Option<String> {
        let rule = seat.adaptive_timeout?;
        self.with(&seat.identity.key, seat.product_type, |statistic| {
            statistic.enough.timeout(&statistic.asks, rule, seat.timeout);
            statistic.enough.why_full(&statistic.asks, rule)
        })
    }

    /// The health of a seat, from live leads only: test leads may ask for failures.
    pub fn judgement(&self, partner: &str, product_type: ProductType) -> Judgement {
        let at = self.begun.elapsed();
        self.with(partner, product_type, |statistic| statistic.history.judgement(at))
    }

    /// Exports the health of every seat ever asked; those that left the book export as healthy.
    pub fn measure_health(&self, health: impl Fn(&str, ProductType) -> Option<Health>) {
        for (partner, seats) in &**self.partners.load() {
            for (product_type, seat) in ProductType::ALL.iter().zip(&**seats) {
                let judged = health(partner, *product_type);
                let known = || !seat.lock().outcomes.is_empty();
                if judged.is_some() || known() {
                    let badness = judged.map_or(0, Health::badness);
                    let labels = [("partner", partner.clone()), ("product_type", product_type.to_string())];
                    gauge!(PARTNER_HEALTH, &labels).set(f64::from(badness));
                }
            }
        }
    }

    /// A seat's recent behaviour since the start.
    pub fn lately(&self, partner: &str, product_type: ProductType) -> RecentAsks {
        self.with(partner, product_type, |SeatStatistic { asks, shown, troubles, .. }| {
            let asks = asks.range(asks.len() - *shown..).copied().collect();
            RecentAsks { asks, troubles: troubles.iter().cloned().collect() }
        })
    }

    fn with<T>(&self, partner: &str, product: ProductType, act: impl FnOnce(&mut SeatStatistic) -> T) -> T {
        let (known, begun) = (self.partners.load(), OnceCell::new());
        let seats = known.get(partner).unwrap_or_else(|| begun.get_or_init(|| self.begin_partner(partner)));
        act(&mut seats[usize::from(product.ordinal())].lock())
    }

    fn begin_partner(&self, partner: &str) -> Arc<PartnerStatistics> {
        self.partners.rcu(|known| {
            let mut known = HashMap::clone(known);
            known.entry(partner.to_owned()).or_default();
            known
        });
        Arc::clone(&self.partners.load()[partner])
    }
}

impl SeatStatistic {
    fn note(&mut self, seat: &RecordedSeat, noted: AskObservation<'_>, at: Duration) {
        let AskObservation { rate_table, test, result, elapsed, late } = noted;
        if !late {
            self.counted(seat, result.outcome.word(), 1);
        }
        let read = if late { EndedAsk::late } else { EndedAsk::in_time };
        let Some(ask) = read(&result.outcome, elapsed, test) else { return };
        self.keep(ask);
        if let Some(ending) = ask.live_ending() {
            self.history.note(at, ending, elapsed);
        }
        self.shown = ASKS_SHOWN.min(self.shown + 1);
        if let Some(EndingKind::Failed | EndingKind::TimedOut) = ask.end {
            let (at, outcome) = (Utc::now().timestamp_millis(), result.outcome.word());
            let trouble = FailedAsk { at, rate_table, outcome, cause: result.cause.clone(), elapsed };
            push(&mut self.troubles, TROUBLES_KEPT, trouble);
        }
    }

    fn answer_seconds(&mut self, seat: &RecordedSeat) -> &Histogram {
        self.answer_seconds.get_or_insert_with(|| {
            let (partner, product_type) = (seat.key.clone(), seat.product_type.as_str());
            histogram!(PARTNER_ANSWER_SECONDS, "partner" => partner, "product_type" => product_type)
        })
    }

    fn counted(&mut self, seat: &RecordedSeat, outcome: &'static str, more: u64) {
        let counted = self.outcomes.entry(outcome).or_insert_with(|| {
            let (partner, product_type) = (seat.key.clone(), seat.product_type.as_str());
            counter!(PARTNER_OUTCOMES, "partner" => partner, "product_type" => product_type, "outcome" => outcome)
        });
        counted.increment(more);
    }

    fn recall(&mut self, ask: EndedAsk) {
        self.keep(ask);
        if let Some(ending) = ask.live_ending() {
            self.history.recall(ending, Duration::from_micros(u64::from(ask.elapsed_us)));
        }
    }

    fn keep(&mut self, ask: EndedAsk) {
        push(&mut self.asks, ASKS_KEPT, ask);
        self.enough.age(1);
    }
}

pub(super) fn push<T>(ring: &mut VecDeque<T>, most: usize, value: T) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(value);
}
