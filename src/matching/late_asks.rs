//! Asks whose answer was waited for beyond their time: a sample of those that ran out of it, and what came of each. Nobody is shown the
//! answer, and no table takes it in; what is kept is when it came and whether it held offers.
//!
//! They are kept in memory, the last 2000 of a seat in 24 bytes each, as long as the client of the seat ([`super::partner_clients`]), and so
//! over reloads that leave its wire alone. A restart forgets them.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::Utc;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::Instant;

use super::afterwards::Afterwards;
use super::ask_statistics::micros;
use super::ask_statistics::survival::{Observed, Seen};
use super::partner_clients::LONG_ANSWER;
use super::question::Question;
use crate::partners::Seat;
use crate::partners::catalog::CatalogOffer;
use crate::partners::http::{Answered, Exchange, MappingError, Next, Reading, Received};
use crate::rate_table::outcome::{Failure, NoOfferReason, Outcome};
use crate::wire::{CallError, LateEar, Reply};

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
    pub end: Seen,
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

/// What an answer is read with before, or when, nobody takes it in: a late one, and one that the partner calls us with.
#[derive(Clone)]
pub struct AnswerReader {
    /// Who was asked.
    seat: Arc<Seat>,
    /// Its offers that fit the lead, by position.
    offers: Vec<usize>,
    /// What it was asked.
    question: Arc<Question>,
    /// When.
    begun: Instant,
    /// Until when it could answer.
    deadline: Instant,
    /// Where it is taken down what comes later.
    afterwards: Option<Afterwards>,
}

/// How an ask ended that was waited for beyond its time.
fn seen(outcome: Option<&Outcome>) -> Seen {
    match outcome {
        None => Seen::Nothing,
        Some(Outcome::Offers(_)) => Seen::Offered,
        Some(Outcome::NoOffers(_)) => Seen::Declined,
        Some(Outcome::Failed(_) | Outcome::TimedOut) => Seen::Failed,
    }
}

/// What a partner's call says.
pub(super) enum Says {
    /// What the ask waits for.
    Answer,
    /// That it is still at work.
    Wait,
    /// Nothing that can be read: why, as the partner and as the log is told.
    Nothing(String, String),
}

impl LateAsks {
    /// The asks that are kept.
    pub fn list(&self) -> Vec<LateAsk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    /// Hears of an ask whose calls were as far as `exchange`.
    pub fn ear(&self, reader: AnswerReader, mut exchange: Exchange) -> LateEar {
        let asks = self.clone();
        Box::new(move |came| {
            let elapsed_us = micros(reader.begun.elapsed());
            let ask = LateAsk {
                at: Utc::now().timestamp_millis(),
                test: reader.question.asked.test,
                budget_us: micros(reader.deadline - reader.begun),
                elapsed_us,
                end: Seen::Nothing,
            };
            // Reading may take some milliseconds, and nobody waits for it.
            drop(tokio::spawn(async move {
                let afterwards = reader.afterwards.clone();
                let read = spawn_blocking(move || (reader.outcome(&mut exchange, came), exchange.progress()));
                // A mapping that panics has failed.
                let Ok((outcome, progress)) = read.await else { return };
                asks.keep(LateAsk { end: seen(outcome.as_ref()), ..ask });
                if let (Some(outcome), Some(afterwards)) = (outcome, afterwards) {
                    afterwards.came_late(outcome, progress).await;
                }
            }));
        })
    }

    fn keep(&self, ask: LateAsk) {
        let mut asks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if asks.len() == KEPT {
            asks.pop_front();
        }
        asks.push_back(ask);
    }
}

impl AnswerReader {
    /// Of an ask that begins now.
    pub fn new(
        seat: &Arc<Seat>,
        offers: &[usize],
        question: &Arc<Question>,
        deadline: Instant,
        afterwards: Option<Afterwards>,
    ) -> Self {
        let (seat, question) = (Arc::clone(seat), Arc::clone(question));
        Self { seat, offers: offers.to_vec(), question, begun: Instant::now(), deadline, afterwards }
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
        match self.reading(exchange, reply).map(|reading| reading.map(|reading| reading.answered)) {
            Ok(None) => None,
            Ok(Some(Answered::Offers(quotes))) if !quotes.is_empty() => Some(Outcome::Offers(quotes)),
            Ok(Some(Answered::Offers(_))) => Some(Outcome::NoOffers(NoOfferReason::Declined)),
            Ok(Some(Answered::Declined(reason))) => {
                Some(Outcome::NoOffers(reason.map_or(NoOfferReason::Declined, NoOfferReason::Rejected)))
            }
            Ok(Some(Answered::Failed(_))) | Err(_) => Some(Outcome::Failed(Failure::Answer)),
        }
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
                let offers: Vec<&CatalogOffer> =
                    self.offers.iter().map(|offer| &self.seat.offers[*offer]).collect();
                source.answer(exchange, received(), given, &self.question.facts(), &offers).map(Some)
            }
        }
    }

    /// What a partner's call says to calls that are as far as `exchange`. A long one is read aside.
    pub(super) async fn heed(&self, exchange: &Exchange, reply: &Reply) -> Says {
        let (mut exchange, reply) = (exchange.clone(), reply.clone());
        if reply.body.len() <= LONG_ANSWER {
            return self.says(&mut exchange, &reply);
        }
        let reader = self.clone();
        let aside = spawn_blocking(move || reader.says(&mut exchange, &reply));
        match aside.await.map_err(JoinError::try_into_panic) {
            Ok(says) => says,
            Err(Ok(panic)) => resume_unwind(panic),
            // The process ends.
            Err(Err(_)) => Says::Wait,
        }
    }

    fn says(&self, exchange: &mut Exchange, reply: &Reply) -> Says {
        let step = exchange.progress().step;
        match self.reading(exchange, reply) {
            Err(error) => {
                let places = self.seat.http.as_ref().map(|source| &source.places);
                let located = places.map_or_else(|| error.to_string(), |places| places.locate(&error));
                Says::Nothing(error.to_string(), located)
            }
            Ok(Some(Reading { answered: Answered::Failed(cause), is_error: false, .. })) => {
                Says::Nothing(cause.clone(), cause)
            }
            // It says only that the partner is still at work.
            Ok(None) if exchange.progress().step == step => Says::Wait,
            Ok(_) => Says::Answer,
        }
    }
}
