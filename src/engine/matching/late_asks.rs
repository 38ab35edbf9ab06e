//! Asks watched beyond their budget: a sample of the timed-out ones. Kept are the time of the answer and
//! whether it held offers, for the last 2000 per seat, in memory.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, timeout_at};
use tracing::warn;
use uuid::Uuid;

use super::ask_statistics::survival::{AskEnding, Observed};
use super::ask_statistics::{micros, push};
use super::callbacks::CallbackVerdict;
use super::question::LeadQuestion;
use crate::rate_table::outcome::{AskFailure, Decision, NoOfferReason, Outcome};
use crate::rate_table::record::{CallRecord, LateEvent, LateEventKind};
use crate::records::{Records, reading, writing};
use offerd_partners::Seat;
use offerd_partners::catalog::CatalogOffer;
use offerd_partners::http::{
    AnswerReading, Answered, AskProgress, MappingError, NextCall, Received, StoredAskProgress,
};
use offerd_store::CommitError;
use offerd_wire::{CallReply, LateReplyCallback};

/// Answers longer than this are read on a blocking thread: their mappings may take milliseconds.
const LONG_ANSWER: usize = 32 * 1024;

/// KiB of long answers of all partners that are read at once; more wait. One takes up to 30 times its bytes.
const READ_AT_ONCE: usize = 8 * 1024;

static READING: Semaphore = Semaphore::const_new(READ_AT_ONCE);

/// Longest time to read a late answer.
const LATE_READING: Duration = Duration::from_secs(5);

const KEPT: usize = 2000;

/// An ask that was watched beyond its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateAsk {
    /// When the watch ended, Unix milliseconds.
    pub at: i64,
    /// Whether its lead is a test.
    pub test: bool,
    /// Its budget, microseconds.
    pub budget_us: u32,
    /// Total time until the answer or the end of the watch, microseconds.
    pub elapsed_us: u32,
    /// How it ended.
    pub end: AskEnding,
}

impl LateAsk {
    /// The observation after the budget; the time before it is counted with the timed-out asks.
    pub fn observed(&self) -> Observed {
        Observed { from_us: Some(self.budget_us), to_us: self.elapsed_us, end: self.end, count: 1 }
    }
}

/// The late asks of one seat, oldest first. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LateAsks(Arc<Mutex<VecDeque<LateAsk>>>);

/// Reads the answers to one ask: in time, late or by callback.
#[derive(Clone)]
pub struct AnswerReader {
    pub(super) seat: Arc<Seat>,
    /// The seat's offers that fit the lead, by position.
    pub(super) offers: Vec<usize>,
    pub(super) question: Arc<LeadQuestion>,
    pub(super) begun: Instant,
    pub(super) deadline: Instant,
    pub(super) afterwards: Option<LateAnswerRecorder>,
}

pub(super) fn outcome_of(answered: Answered) -> Result<Outcome, String> {
    Ok(match answered {
        Answered::Offers(quotes) if !quotes.is_empty() => Outcome::Offers(quotes),
        Answered::Declined(Some(reason)) => Outcome::NoOffers(NoOfferReason::Rejected(reason)),
        Answered::Offers(_) | Answered::Declined(None) => Outcome::NoOffers(NoOfferReason::Declined),
        Answered::Failed(cause) => return Err(cause),
    })
}

impl LateAsks {
    /// The kept asks.
    pub fn list(&self) -> Vec<LateAsk> {
        self.0.lock().iter().copied().collect()
    }

    /// A listener for the late answer to an ask whose calls are at `progress`.
    pub fn listener(&self, reader: AnswerReader, progress: AskProgress) -> LateReplyCallback {
        let asks = self.clone();
        Box::new(move |came| {
            let (at, elapsed_us) = (Utc::now().timestamp_millis(), micros(reader.begun.elapsed()));
            // Reading may take milliseconds, and no caller waits for it.
            drop(tokio::spawn(async move {
                let (test, budget_us) = (reader.question.asked.test, micros(reader.deadline - reader.begun));
                let afterwards = reader.afterwards.clone();
                let bytes = came.iter().flatten().map(|reply| reply.body.len()).sum();
                let read = reader.read_late(bytes, progress, move |reader, progress| match came? {
                    Ok(reply) => reader.late(progress, &reply),
                    Err(_) => Some(Outcome::Failed(AskFailure::Unreachable)),
                });
                let Some((outcome, progress)) = read.await else { return };
                let end = outcome.as_ref().map_or(AskEnding::TimedOut, Outcome::ending);
                push(&mut asks.0.lock(), KEPT, LateAsk { at, test, budget_us, elapsed_us, end });
                if let (Some(outcome), Some(afterwards)) = (outcome, afterwards) {
                    afterwards.came_late(outcome, progress).await;
                }
            }));
        })
    }
}

/// Reads `bytes` of input on a blocking thread, which starts once there is room for it; `None` if there is
/// none by then.
async fn on_thread<T: Send + 'static>(
    bytes: usize,
    until: Instant,
    read: impl FnOnce() -> T + Send + 'static,
) -> Option<Result<T, JoinError>> {
    let permits = (bytes / 1024).clamp(1, READ_AT_ONCE) as u32;
    let permit = timeout_at(until, READING.acquire_many(permits)).await.ok()?.ok()?;
    let read = move || {
        // Held until it ends, even if its caller has left.
        let _permit = permit;
        read()
    };
    Some(spawn_blocking(read).await)
}

/// Records the late answer of one ask. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LateAnswerRecorder {
    /// The records.
    pub records: Records,
    /// The table.
    pub table: Uuid,
    /// Position of the seat.
    pub seat: u16,
    /// Whether the feed reports it.
    pub is_event: bool,
}

impl LateAnswerRecorder {
    /// Records the first late answer of an ask. Logs a failure, since no caller waits.
    pub async fn came_late(self, outcome: Outcome, progress: StoredAskProgress) {
        let table = self.table;
        match self.write(outcome, progress).await {
            // The lead is erased, or another answer came first.
            Ok(()) | Err(CommitError::Erased | CommitError::Guard { .. }) => {}
            Err(failure) => warn!(rate_table = %table, %failure, "could not store a late answer"),
        }
    }

    async fn write(self, outcome: Outcome, progress: StoredAskProgress) -> Result<(), CommitError> {
        let Self { records, table, seat, is_event } = self;
        let unreadable = |_| CommitError::Failed("cannot read the stored ask".to_owned());
        let Some(stored) = reading::table(&records, table).map_err(unreadable)? else { return Ok(()) };
        let lead = reading::lead(&records.store, stored.head().lead).map_err(unreadable)?;
        let Some(lead) = lead else { return Ok(()) };
        let before = reading::calls(&records.store, table).map_err(unreadable)?.remove(&seat);
        if before.as_ref().is_some_and(|before| before.later.is_some()) {
            return Ok(());
        }
        let at = records.store.now_ms();
        let end = match &outcome {
            Outcome::Offers(quotes) => LateEventKind::Offers(u16::try_from(quotes.len()).unwrap_or(u16::MAX)),
            Outcome::NoOffers(_) => LateEventKind::Declined,
            Outcome::Failed(_) | Outcome::TimedOut => LateEventKind::Failed,
        };
        let event = outcome.decision().filter(|_| is_event).and_then(Decision::event);
        let event = event.map(|event| (event, at));
        let StoredAskProgress { step, kept, bid } = progress;
        let new = CallRecord { at, step, sent: true, bid, kept, heard: None, later: None };
        let after = CallRecord { later: Some(LateEvent { at, end }), ..before.clone().unwrap_or(new) };
        let commit =
            writing::later((&stored, lead.created_at), seat, (before.as_ref(), &after), (event, None));
        records.store.commit(commit).await
    }
}

impl AnswerReader {
    /// Reads `bytes` of input; long input on a blocking thread. `None` if that cannot begin before the
    /// deadline, or when the process is ending.
    pub(super) async fn aside<T: Send + 'static>(
        &self,
        bytes: usize,
        read: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        if bytes <= LONG_ANSWER {
            return Some(read(self));
        }
        let reader = self.clone();
        let read = on_thread(bytes, self.deadline, move || read(&reader));
        match read.await?.map_err(JoinError::try_into_panic) {
            Ok(read) => Some(read),
            Err(Ok(panic)) => resume_unwind(panic),
            Err(Err(_)) => None,
        }
    }

    /// Reads `bytes` that came after the deadline, on a blocking thread, with the progress of the calls.
    /// `None` also after a panic in a mapping.
    pub(super) async fn read_late<T: Send + 'static>(
        self,
        bytes: usize,
        mut progress: AskProgress,
        read: impl FnOnce(&Self, &mut AskProgress) -> T + Send + 'static,
    ) -> Option<(T, StoredAskProgress)> {
        let until = Instant::now() + LATE_READING;
        progress.until = Some(until.into_std());
        let read = on_thread(bytes, until, move || (read(&self, &mut progress), progress.stored()));
        read.await?.ok()
    }

    pub(super) fn offers(&self) -> Vec<&CatalogOffer> {
        self.offers.iter().map(|offer| &self.seat.offers[*offer]).collect()
    }

    /// The outcome of a late answer; `None` where more calls would have followed, which are not made.
    pub(super) fn late(&self, progress: &mut AskProgress, reply: &CallReply) -> Option<Outcome> {
        let reading = self.reading(progress, reply).transpose()?;
        let outcome = reading.ok().and_then(|reading| outcome_of(reading.answered).ok());
        Some(outcome.unwrap_or(Outcome::Failed(AskFailure::Answer)))
    }

    fn reading(
        &self,
        progress: &mut AskProgress,
        reply: &CallReply,
    ) -> Result<Option<AnswerReading>, MappingError> {
        let Some(source) = &self.seat.http else { return Ok(None) };
        let received = || Received { status: reply.status, headers: &reply.headers, body: &reply.body };
        let given = self.question.given();
        match source.next_after(progress, received(), given)? {
            NextCall::Ended(reading) => Ok(Some(reading)),
            NextCall::Call | NextCall::Again(_) | NextCall::Bid(_) => Ok(None),
            NextCall::Read => {
                source.answer(progress, received(), given, &self.question.facts(), &self.offers()).map(Some)
            }
        }
    }

    /// How a callback affects calls that are at `progress`.
    pub(super) async fn heed(&self, progress: &AskProgress, reply: &CallReply) -> CallbackVerdict {
        let (mut progress, reply) = (progress.clone(), reply.clone());
        let heed = self.aside(reply.body.len(), move |reader| reader.says(&mut progress, &reply)).await;
        heed.unwrap_or(CallbackVerdict::Late)
    }

    fn says(&self, progress: &mut AskProgress, reply: &CallReply) -> CallbackVerdict {
        let step = progress.stored().step;
        match self.reading(progress, reply) {
            Err(error) => {
                let lines = self.seat.http.as_ref().map(|source| &source.lines);
                let located = lines.map_or_else(|| error.to_string(), |lines| lines.locate(&error));
                CallbackVerdict::Unreadable { told: error.to_string(), located }
            }
            Ok(Some(AnswerReading { answered: Answered::Failed(cause), is_error: false, .. })) => {
                CallbackVerdict::Unreadable { told: cause.clone(), located: cause }
            }
            // The partner is still at work.
            Ok(None) if progress.stored().step == step => CallbackVerdict::Waits,
            Ok(_) => CallbackVerdict::Taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cannot be stopped is not started.
    #[tokio::test]
    async fn no_answer_is_read_after_its_deadline_while_others_take_the_room() {
        let others = READING.acquire_many(READ_AT_ONCE as u32).await.unwrap();
        for bytes in [1, 256 * 1024, usize::MAX] {
            assert!(on_thread(bytes, Instant::now(), || ()).await.is_none(), "{bytes}");
        }
        drop(others);
        let read = on_thread(usize::MAX, Instant::now() + LATE_READING, || READING.available_permits()).await;
        assert_eq!(read.unwrap().unwrap(), 0);
    }
}
