//! Asks whose answer was waited for beyond their time: a sample of those that ran out of it, and what came of each. Nobody is shown the
//! answer, and no table takes it in; what is kept is when it came and whether it held offers.
//!
//! They are kept in memory, the last 2000 of a seat in 24 bytes each, as long as the client of the seat ([`super::partner_clients`]), and so
//! over reloads that leave its wire alone. A restart forgets them.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;

use chrono::Utc;
use parking_lot::Mutex;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::Instant;

use super::afterwards::Afterwards;
use super::ask_statistics::survival::{Ending, Observed};
use super::ask_statistics::{micros, push};
use super::callbacks::Heed;
use super::question::Question;
use crate::rate_table::outcome::{Failure, NoOfferReason, Outcome};
use offerd_partners::Seat;
use offerd_partners::catalog::CatalogOffer;
use offerd_partners::http::{Answered, Exchange, MappingError, Next, Reading, Received};
use offerd_wire::{CallError, LateEar, Reply};

/// An answer of more bytes is read aside: its mappings may take some milliseconds.
const LONG_ANSWER: usize = 32 * 1024;

/// Asks that are kept of a seat, the last ones.
const KEPT: usize = 2000;

/// An ask whose answer was waited for beyond its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateAsk {
    /// When that ended, Unix milliseconds.
    pub at: i64,
    /// Whether its lead is a test.
    pub test: bool,
    /// Its time, microseconds.
    pub budget_us: u32,
    /// How long it took, or was waited for in vain, in all.
    pub elapsed_us: u32,
    /// How it ended.
    pub end: Ending,
}

impl LateAsk {
    /// The ask beyond its time, within which it is counted among those that timed out.
    pub fn observed(&self) -> Observed {
        Observed { from_us: Some(self.budget_us), to_us: self.elapsed_us, end: self.end, count: 1 }
    }
}

/// Those of one seat, oldest first. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LateAsks(Arc<Mutex<VecDeque<LateAsk>>>);

/// What the answers to an ask are read with: in time, too late, and where the partner calls us with them.
#[derive(Clone)]
pub struct AnswerReader {
    /// Who is asked.
    pub(super) seat: Arc<Seat>,
    /// Its offers that fit the lead, by position.
    offers: Vec<usize>,
    /// What it is asked.
    pub(super) question: Arc<Question>,
    /// When.
    begun: Instant,
    /// Until when it may answer.
    pub(super) deadline: Instant,
    /// Where it is taken down what comes later.
    afterwards: Option<Afterwards>,
}

/// How an ask ended that was waited for beyond its time.
fn seen(outcome: Option<&Outcome>) -> Ending {
    match outcome {
        None => Ending::TimedOut,
        Some(Outcome::Offers(_)) => Ending::Offered,
        Some(Outcome::NoOffers(_)) => Ending::Declined,
        Some(Outcome::Failed(_) | Outcome::TimedOut) => Ending::Failed,
    }
}

/// What an answer comes to.
///
/// # Errors
/// Why it is none that could be used.
pub(super) fn outcome_of(answered: Answered) -> Result<Outcome, String> {
    Ok(match answered {
        Answered::Offers(quotes) if !quotes.is_empty() => Outcome::Offers(quotes),
        Answered::Declined(Some(reason)) => Outcome::NoOffers(NoOfferReason::Rejected(reason)),
        Answered::Offers(_) | Answered::Declined(None) => Outcome::NoOffers(NoOfferReason::Declined),
        Answered::Failed(cause) => return Err(cause),
    })
}

impl LateAsks {
    /// The asks that are kept.
    pub fn list(&self) -> Vec<LateAsk> {
        self.0.lock().iter().copied().collect()
    }

    /// Hears of an ask whose calls were as far as `exchange`.
    pub fn ear(&self, reader: AnswerReader, mut exchange: Exchange) -> LateEar {
        let asks = self.clone();
        Box::new(move |came| {
            let (at, elapsed_us) = (Utc::now().timestamp_millis(), micros(reader.begun.elapsed()));
            // Reading may take some milliseconds, and nobody waits for it.
            drop(tokio::spawn(async move {
                let (test, budget_us) = (reader.question.asked.test, micros(reader.deadline - reader.begun));
                let afterwards = reader.afterwards.clone();
                let read = spawn_blocking(move || (reader.outcome(&mut exchange, came), exchange.progress()));
                // A mapping that panics has failed.
                let Ok((outcome, progress)) = read.await else { return };
                let end = seen(outcome.as_ref());
                push(&mut asks.0.lock(), KEPT, LateAsk { at, test, budget_us, elapsed_us, end });
                if let (Some(outcome), Some(afterwards)) = (outcome, afterwards) {
                    afterwards.came_late(outcome, progress).await;
                }
            }));
        })
    }
}

impl AnswerReader {
    /// Of an ask that begins now.
    pub fn new(
        seat: Arc<Seat>,
        offers: Vec<usize>,
        question: Arc<Question>,
        deadline: Instant,
        afterwards: Option<Afterwards>,
    ) -> Self {
        Self { seat, offers, question, begun: Instant::now(), deadline, afterwards }
    }

    /// Reads something of so many bytes. A long one is read aside, since that takes longer than other leads of the thread may wait; `None`
    /// when the process ends.
    pub(super) async fn aside<T: Send + 'static>(
        &self,
        bytes: usize,
        read: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        if bytes <= LONG_ANSWER {
            return Some(read(self));
        }
        let reader = self.clone();
        match spawn_blocking(move || read(&reader)).await.map_err(JoinError::try_into_panic) {
            Ok(read) => Some(read),
            Err(Ok(panic)) => resume_unwind(panic),
            Err(Err(_)) => None,
        }
    }

    /// The offers that fit the lead.
    pub(super) fn offers(&self) -> Vec<&CatalogOffer> {
        self.offers.iter().map(|offer| &self.seat.offers[*offer]).collect()
    }

    /// What became of an ask that was waited for beyond its time; `None` where nothing came of it.
    fn outcome(&self, exchange: &mut Exchange, came: Option<Result<Reply, CallError>>) -> Option<Outcome> {
        came.and_then(|came| match came {
            Ok(reply) => self.late(exchange, &reply),
            Err(_) => Some(Outcome::Failed(Failure::Unreachable)),
        })
    }

    /// What an answer that comes too late says; `None` where there would have been more calls, which nobody makes.
    pub(super) fn late(&self, exchange: &mut Exchange, reply: &Reply) -> Option<Outcome> {
        let reading = self.reading(exchange, reply).transpose()?;
        let outcome = reading.ok().and_then(|reading| outcome_of(reading.answered).ok());
        Some(outcome.unwrap_or(Outcome::Failed(Failure::Answer)))
    }

    /// What an answer says; `None` where it is not the last.
    fn reading(&self, exchange: &mut Exchange, reply: &Reply) -> Result<Option<Reading>, MappingError> {
        let Some(source) = &self.seat.http else { return Ok(None) };
        let received = || Received { status: reply.status, headers: &reply.headers, body: &reply.body };
        let given = self.question.given();
        match source.take(exchange, received(), given)? {
            Next::Ended(reading) => Ok(Some(reading)),
            Next::Call | Next::Again(_) | Next::Bid(_) => Ok(None),
            Next::Read => {
                source.answer(exchange, received(), given, &self.question.facts(), &self.offers()).map(Some)
            }
        }
    }

    /// What a partner's call says to calls that are as far as `exchange`.
    pub(super) async fn heed(&self, exchange: &Exchange, reply: &Reply) -> Heed {
        let (mut exchange, reply) = (exchange.clone(), reply.clone());
        let heed = self.aside(reply.body.len(), move |reader| reader.says(&mut exchange, &reply)).await;
        heed.unwrap_or(Heed::Waits)
    }

    fn says(&self, exchange: &mut Exchange, reply: &Reply) -> Heed {
        let step = exchange.progress().step;
        match self.reading(exchange, reply) {
            Err(error) => {
                let places = self.seat.http.as_ref().map(|source| &source.places);
                let located = places.map_or_else(|| error.to_string(), |places| places.locate(&error));
                Heed::Unreadable { told: error.to_string(), located }
            }
            Ok(Some(Reading { answered: Answered::Failed(cause), is_error: false, .. })) => {
                Heed::Unreadable { told: cause.clone(), located: cause }
            }
            // It says only that the partner is still at work.
            Ok(None) if exchange.progress().step == step => Heed::Waits,
            Ok(_) => Heed::Taken,
        }
    }
}
