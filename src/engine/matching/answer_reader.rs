//! Reads the answers to an ask: in time, late or by callback. Long ones are read on a blocking thread.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, timeout_at};

use super::callbacks::CallbackVerdict;
use super::late_asks::LateAnswerRecorder;
use super::question::LeadQuestion;
use crate::rate_table::outcome::{AskFailure, NoOfferReason, Outcome};
use offerd_partners::Seat;
use offerd_partners::catalog::CatalogOffer;
use offerd_partners::http::{
    AnswerReading, Answered, AskProgress, MappingError, NextCall, Received, StoredAskProgress,
};
use offerd_wire::CallReply;

/// Answers longer than this are read on a blocking thread: their mappings may take milliseconds.
const LONG_ANSWER: usize = 32 * 1024;

/// KiB of long answers of all partners that are read at once; more wait. One takes up to 30 times its bytes.
const READ_AT_ONCE: usize = 8 * 1024;

static READING: Semaphore = Semaphore::const_new(READ_AT_ONCE);

/// Longest time to read a late answer.
const LATE_READING: Duration = Duration::from_secs(5);

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

impl AnswerReader {
    /// Reads `bytes` of input; long input on a blocking thread. `None` if that cannot begin before the
    /// deadline, or when the process is ending.
    pub(super) async fn read_long_on_thread<T: Send + 'static>(
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
    pub(super) fn late_outcome(&self, progress: &mut AskProgress, reply: &CallReply) -> Option<Outcome> {
        let reading = self.reading(progress, reply).transpose()?;
        let outcome = reading.ok().and_then(|reading| outcome_of(reading.answered).ok());
        Some(outcome.unwrap_or(Outcome::Failed(AskFailure::Answer)))
    }

    fn reading(
        &self,
        progress: &mut AskProgress,
        reply: &CallReply,
    ) -> Result<Option<AnswerReading>, MappingError> {
        let Some(http) = &self.seat.http else { return Ok(None) };
        let received = || Received { status: reply.status, headers: &reply.headers, body: &reply.body };
        let given = self.question.given();
        match http.next_after(progress, received(), given)? {
            NextCall::Ended(reading) => Ok(Some(reading)),
            NextCall::Call | NextCall::Again(_) | NextCall::Bid(_) => Ok(None),
            NextCall::Read => http
                .read_answer(progress, received(), given, &self.question.facts(), &self.offers())
                .map(Some),
        }
    }

    /// How a callback affects calls that are at `progress`.
    pub(super) async fn verdict_on_callback(
        &self,
        progress: &AskProgress,
        reply: &CallReply,
    ) -> CallbackVerdict {
        let (mut progress, reply) = (progress.clone(), reply.clone());
        let verdict = self
            .read_long_on_thread(reply.body.len(), move |reader| {
                reader.verdict_by_reading(&mut progress, &reply)
            })
            .await;
        verdict.unwrap_or(CallbackVerdict::Late)
    }

    fn verdict_by_reading(&self, progress: &mut AskProgress, reply: &CallReply) -> CallbackVerdict {
        let step = progress.stored().step;
        match self.reading(progress, reply) {
            Err(error) => {
                let lines = self.seat.http.as_ref().map(|http| &http.lines);
                let for_operator = lines.map_or_else(|| error.to_string(), |lines| lines.locate(&error));
                CallbackVerdict::Unreadable { for_partner: error.to_string(), for_operator }
            }
            Ok(Some(AnswerReading { answered: Answered::Failed(cause), is_error: false, .. })) => {
                CallbackVerdict::Unreadable { for_partner: cause.clone(), for_operator: cause }
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
