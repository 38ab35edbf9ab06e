//! Asks whose answer was waited for beyond their time: a sample of those that ran out of it, and what came of each. Nobody is shown the
//! answer, and no table takes it in; what is kept is when it came and whether it held offers.
//!
//! They are kept in memory, the last 2000 of a seat in 24 bytes each, as long as the client of the seat ([`super::partner_clients`]), and so
//! over reloads that leave its wire alone. A restart forgets them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::Utc;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::ask_statistics::micros;
use super::ask_statistics::survival::{Observed, Seen};
use super::question::Question;
use crate::partners::Seat;
use crate::partners::catalog::CatalogOffer;
use crate::partners::http::{Answered, Exchange, Next, Received};
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

/// What a late answer is read with.
#[derive(Clone)]
pub struct LateReader {
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
}

impl LateAsks {
    /// The asks that are kept.
    pub fn list(&self) -> Vec<LateAsk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    /// Hears of an ask whose calls were as far as `exchange`.
    pub fn ear(&self, reader: LateReader, mut exchange: Exchange) -> LateEar {
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
            drop(spawn_blocking(move || {
                let end = reader.end(&mut exchange, came);
                asks.keep(LateAsk { end, ..ask });
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

impl LateReader {
    /// Of an ask that begins now.
    pub fn new(seat: &Arc<Seat>, offers: &[usize], question: &Arc<Question>, deadline: Instant) -> Self {
        let (seat, question) = (Arc::clone(seat), Arc::clone(question));
        Self { seat, offers: offers.to_vec(), question, begun: Instant::now(), deadline }
    }

    fn end(&self, exchange: &mut Exchange, came: Option<Result<Reply, CallError>>) -> Seen {
        let (Some(came), Some(source)) = (came, &self.seat.http) else { return Seen::Nothing };
        let Ok(reply) = came else { return Seen::Failed };
        let received = || Received { status: reply.status, headers: &reply.headers, body: &reply.body };
        let given = self.question.given();
        let reading = match source.take(exchange, received(), given) {
            Ok(Next::Ended(reading)) => Ok(reading),
            // There would have been more calls, which nobody makes.
            Ok(Next::Call | Next::Again(_) | Next::Bid(_)) => return Seen::Nothing,
            Ok(Next::Read) => {
                let offers: Vec<&CatalogOffer> =
                    self.offers.iter().map(|offer| &self.seat.offers[*offer]).collect();
                source.answer(exchange, received(), given, &self.question.facts(), &offers)
            }
            Err(fault) => Err(fault),
        };
        match reading.map(|reading| reading.answered) {
            Ok(Answered::Offers(quotes)) if !quotes.is_empty() => Seen::Offered,
            Ok(Answered::Offers(_) | Answered::Declined(_)) => Seen::Declined,
            Ok(Answered::Failed(_)) | Err(_) => Seen::Failed,
        }
    }
}
