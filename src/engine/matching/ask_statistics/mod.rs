//! How the asks of each seat have ended lately: one statistic, and what follows from it.
//!
//! Of each seat the last asks are kept, with how they ended and how long they took, and its last failures with their cause. The
//! adaptive timeout follows from them, and the [`Summary`] that people are shown; how well the seat is, is judged by how they end
//! ([`offerd_base::partner_health`]). The same summary is made of the stored tables, as
//! far back as these reach (`hindsight::timing`).
//!
//! It takes 16 KiB of a seat that has been asked often (`ASKS_KEPT`, eight bytes each), 20 KiB more at most for its health, and as much again of one that has failed
//! often ([`TROUBLES_KEPT`], each with a bounded cause). A seat that has left the book keeps its own until the daemon ends.
//!
//! Every ask is noted, on every thread of the engine. So a seat is found without a lock, each has a lock of its own, and its metrics
//! are counted under the same one.

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

use self::adaptive_timeout::Estimate;
pub use self::ask::EndedAsk;
pub(super) use self::ask::micros;
use self::summary::seconds;
pub use self::summary::{AskTally, Summary};
use super::failure_log::FailureLog;
use crate::rate_table::cause::Cause;
use crate::rate_table::outcome::{AskEnd, Outcome};
use crate::records::Records;
use crate::records::reading::{self, Told};
use offerd_base::partner_health::{AskHistory, Ending, Health, Judgement};
use offerd_base::telemetry::metrics::{PARTNER_ANSWER_SECONDS, PARTNER_HEALTH, PARTNER_OUTCOMES};
use offerd_model::ProductType;
use offerd_partners::{Book, Seat, SeatTemplate};

/// Asks that are kept of a seat.
const ASKS_KEPT: usize = 2000;

/// Those of them, since the start, that people are shown.
pub const ASKS_SHOWN: usize = 1000;

/// Failures that are kept of a seat.
pub const TROUBLES_KEPT: usize = 50;

/// How far back stored tables are read at the start, milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The statistics of all seats.
#[derive(Debug)]
pub struct AskStatistics {
    /// By partner. The map is exchanged when a partner is asked for the first time.
    partners: ArcSwap<HashMap<String, Arc<OfPartner>>>,
    /// What times are told from where health is judged.
    begun: Instant,
    /// What failed, for the log.
    pub failures: FailureLog,
}

impl Default for AskStatistics {
    fn default() -> Self {
        Self { partners: ArcSwap::default(), begun: Instant::now(), failures: FailureLog::default() }
    }
}

/// The statistics of a partner's seats, by the ordinals of product types.
type OfPartner = [Mutex<SeatStatistic>; ProductType::ALL.len()];

/// How the asks of one seat have ended.
#[derive(Debug, Default)]
struct SeatStatistic {
    /// The last asks, oldest first.
    asks: VecDeque<EndedAsk>,
    /// How many of them, the newest, people are shown: none that was recalled, since a stored table tells times less exactly.
    shown: usize,
    /// The last failures, oldest first.
    troubles: VecDeque<Trouble>,
    /// What its timeout may be shortened to.
    enough: Estimate,
    /// How its asks of live leads ended by time.
    history: AskHistory,
    /// Time from ask to outcome. It is registered when it is first told, and held from then on, so that telling it takes no look-up.
    answer_seconds: Option<Histogram>,
    /// By the word for the outcome; there are few. Those of a seat in the book are told from the start on, as 0: of one that is
    /// first seen as 1 no growth is seen.
    outcomes: BTreeMap<&'static str, Counter>,
}

/// An ask that ended without an answer that could be used.
#[derive(Debug, Clone, Serialize)]
pub struct Trouble {
    /// When, Unix milliseconds.
    pub at: i64,
    /// Of which rate table.
    pub rate_table: Uuid,
    /// The word for the outcome.
    pub outcome: &'static str,
    /// Why, without a word of what was sent or answered.
    pub cause: Option<Cause>,
    /// How long it took; written in seconds.
    #[serde(serialize_with = "seconds")]
    pub elapsed: Duration,
}

/// The end of an ask as it is noted.
#[derive(Debug, Clone, Copy)]
pub struct Noted<'n> {
    /// Of which rate table.
    pub rate_table: Uuid,
    /// Whether its lead is a test.
    pub test: bool,
    /// How it ended.
    pub end: &'n AskEnd,
    /// How long it took.
    pub elapsed: Duration,
    /// Whether its time was over before.
    pub late: bool,
}

/// How a seat has behaved since the start, for people who look on.
#[derive(Debug, Default)]
pub struct Lately {
    /// Its last asks, oldest first.
    pub asks: Vec<EndedAsk>,
    /// Its last failures, oldest first.
    pub troubles: Vec<Trouble>,
}

impl AskStatistics {
    /// The statistics that the stored tables of the last day tell, where the book asks for adaptive timeouts.
    pub fn recalled(records: &Records, book: &Book, now: i64) -> Self {
        let statistics = Self::default();
        if book.seats().iter().any(|seat| seat.adaptive_timeout.is_some()) {
            let recalled = reading::each_answer(records, now - DAY_MS, |told| {
                let Told { head, seat, elapsed_ms, outcome, .. } = told;
                let ask = EndedAsk::in_time(outcome, Duration::from_millis(elapsed_ms), head.test);
                statistics
                    .with(&seat.key, seat.product_type, |statistic| ask.map(|ask| statistic.recall(ask)));
            });
            if let Err(failure) = recalled {
                warn!(%failure, "how partners have answered lately could not be read in full");
            }
        }
        statistics
    }

    /// Tells the counters of every seat of a book, as 0 where nothing has happened.
    pub fn begin(&self, book: &Book) {
        for seat in book.seats() {
            self.with(&seat.identity.key, seat.product_type, |statistic| {
                Outcome::every_word().for_each(|word| statistic.counted(&seat.known_as, word, 0));
            });
        }
    }

    /// Notes that a partner has replied, in time or late.
    pub fn replied(&self, seat: &SeatTemplate, noted: Noted<'_>) {
        let at = self.begun.elapsed();
        self.with(&seat.key, seat.product_type, |statistic| {
            statistic.answer_seconds(seat).record(noted.elapsed.as_secs_f64());
            statistic.note(seat, noted, at);
        });
        self.tell(seat, noted);
    }

    /// Notes that an ask has ended without a reply.
    pub fn unanswered(&self, seat: &SeatTemplate, noted: Noted<'_>) {
        let at = self.begun.elapsed();
        self.with(&seat.key, seat.product_type, |statistic| statistic.note(seat, noted, at));
        self.tell(seat, noted);
    }

    /// Has the log tell of a failure.
    fn tell(&self, seat: &SeatTemplate, Noted { rate_table, end, late, .. }: Noted<'_>) {
        if end.outcome.is_failure() && end.outcome.was_asked() && !late {
            let (word, cause) = (end.outcome.word(), end.cause.as_ref());
            self.failures.note(&seat.key, seat.product_type, rate_table, word, cause);
        }
    }

    /// Counts the outcome of a seat that was not asked after all.
    pub fn not_asked(&self, seat: &SeatTemplate, outcome: &'static str) {
        self.with(&seat.key, seat.product_type, |statistic| statistic.counted(seat, outcome, 1));
    }

    /// How long a seat is waited for.
    pub fn timeout(&self, seat: &Seat) -> Duration {
        let Some(rule) = seat.adaptive_timeout else { return seat.timeout };
        self.with(&seat.identity.key, seat.product_type, |statistic| {
            statistic.enough.timeout(&statistic.asks, rule, seat.timeout)
        })
    }

    /// How well a seat is, by its asks of live leads: those of tests, which may ask it to fail, say nothing.
    pub fn judgement(&self, partner: &str, product_type: ProductType) -> Judgement {
        let at = self.begun.elapsed();
        self.with(partner, product_type, |statistic| statistic.history.judgement(at))
    }

    /// Measures how well every seat is that was ever asked: `health` of those that are in the book, and nothing against others.
    pub fn measure_health(&self, health: impl Fn(&str, ProductType) -> Option<Health>) {
        for (partner, seats) in &**self.partners.load() {
            for (product_type, seat) in ProductType::ALL.iter().zip(&**seats) {
                let judged = health(partner, *product_type);
                let known = || !seat.lock().outcomes.is_empty();
                if judged.is_some() || known() {
                    let badness = judged.map_or(0, Health::badness);
                    let labels =
                        [("partner", partner.clone()), ("product_type", product_type.as_str().to_owned())];
                    gauge!(PARTNER_HEALTH, &labels).set(f64::from(badness));
                }
            }
        }
    }

    /// How a seat has behaved since the start.
    pub fn lately(&self, partner: &str, product_type: ProductType) -> Lately {
        self.with(partner, product_type, |SeatStatistic { asks, shown, troubles, .. }| {
            let asks = asks.range(asks.len() - *shown..).copied().collect();
            Lately { asks, troubles: troubles.iter().cloned().collect() }
        })
    }

    /// Does something with the statistic of a seat, which begins if it has none.
    fn with<T>(
        &self,
        partner: &str,
        product_type: ProductType,
        act: impl FnOnce(&mut SeatStatistic) -> T,
    ) -> T {
        let (known, begun) = (self.partners.load(), OnceCell::new());
        let of_partner =
            known.get(partner).unwrap_or_else(|| begun.get_or_init(|| self.begin_partner(partner)));
        act(&mut of_partner[usize::from(product_type.ordinal())].lock())
    }

    fn begin_partner(&self, partner: &str) -> Arc<OfPartner> {
        self.partners.rcu(|known| {
            let mut known = HashMap::clone(known);
            known.entry(partner.to_owned()).or_default();
            known
        });
        Arc::clone(&self.partners.load()[partner])
    }
}

impl SeatStatistic {
    fn note(&mut self, seat: &SeatTemplate, noted: Noted<'_>, at: Duration) {
        let Noted { rate_table, test, end, elapsed, late } = noted;
        if !late {
            self.counted(seat, end.outcome.word(), 1);
        }
        let read = if late { EndedAsk::late } else { EndedAsk::in_time };
        let Some(ask) = read(&end.outcome, elapsed, test) else { return };
        self.keep(ask);
        if let Some(ending) = ask.live_ending() {
            self.history.note(at, ending, elapsed);
        }
        self.shown = ASKS_SHOWN.min(self.shown + 1);
        if let Some(Ending::Failed | Ending::TimedOut) = ask.end {
            let (at, outcome) = (Utc::now().timestamp_millis(), end.outcome.word());
            let trouble = Trouble { at, rate_table, outcome, cause: end.cause.clone(), elapsed };
            push(&mut self.troubles, TROUBLES_KEPT, trouble);
        }
    }

    fn answer_seconds(&mut self, seat: &SeatTemplate) -> &Histogram {
        self.answer_seconds.get_or_insert_with(|| {
            let (partner, product_type) = (seat.key.clone(), seat.product_type.as_str());
            histogram!(PARTNER_ANSWER_SECONDS, "partner" => partner, "product_type" => product_type)
        })
    }

    fn counted(&mut self, seat: &SeatTemplate, outcome: &'static str, more: u64) {
        let counted = self.outcomes.entry(outcome).or_insert_with(|| {
            let (partner, product_type) = (seat.key.clone(), seat.product_type.as_str());
            counter!(PARTNER_OUTCOMES, "partner" => partner, "product_type" => product_type, "outcome" => outcome)
        });
        counted.increment(more);
    }

    /// Keeps an ask of before the start.
    fn recall(&mut self, ask: EndedAsk) {
        self.keep(ask);
        if let Some(ending) = ask.live_ending() {
            let elapsed = Duration::from_micros(u64::from(ask.elapsed_us));
            self.history.recall(ending, elapsed);
        }
    }

    fn keep(&mut self, ask: EndedAsk) {
        push(&mut self.asks, ASKS_KEPT, ask);
        self.enough.age += 1;
    }
}

/// Adds a value to the last ones, of which so many are kept.
pub(super) fn push<T>(ring: &mut VecDeque<T>, most: usize, value: T) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(value);
}
