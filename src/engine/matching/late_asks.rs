//! Asks watched beyond their budget: a sample of the timed-out ones. Kept are the time of the answer and
//! whether it held offers, for the last 2000 per seat, in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use chrono::Utc;
use parking_lot::Mutex;
use tracing::warn;
use uuid::Uuid;

use super::answer_reader::AnswerReader;
use super::ask_statistics::survival::{EndingKind, Observed};
use super::ask_statistics::{micros, push};
use crate::rate_table::outcome::{AskFailure, Decision, Outcome};
use crate::rate_table::record::{CallRecord, EventAfterAsk, EventAfterAskKind};
use crate::records::{Records, reading, writing};
use offerd_partners::http::{AskProgress, StoredAskProgress};
use offerd_store::CommitError;
use offerd_wire::OnLateReply;

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
    pub end: EndingKind,
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

impl LateAsks {
    /// The kept asks.
    pub fn list(&self) -> Vec<LateAsk> {
        self.0.lock().iter().copied().collect()
    }

    /// A listener for the late answer to an ask whose calls are at `progress`.
    pub fn listener(&self, reader: AnswerReader, progress: AskProgress) -> OnLateReply {
        let asks = self.clone();
        Box::new(move |came| {
            let (at, elapsed_us) = (Utc::now().timestamp_millis(), micros(reader.begun.elapsed()));
            // Reading may take milliseconds, and no caller waits for it.
            drop(tokio::spawn(async move {
                let (test, budget_us) = (reader.question.asked.test, micros(reader.deadline - reader.begun));
                let afterwards = reader.afterwards.clone();
                let bytes = came.iter().flatten().map(|reply| reply.body.len()).sum();
                let read = reader.read_late(bytes, progress, move |reader, progress| match came? {
                    Ok(reply) => reader.late_outcome(progress, &reply),
                    Err(_) => Some(Outcome::Failed(AskFailure::Unreachable)),
                });
                let Some((outcome, progress)) = read.await else { return };
                let end = outcome.as_ref().map_or(EndingKind::TimedOut, Outcome::ending);
                push(&mut asks.0.lock(), KEPT, LateAsk { at, test, budget_us, elapsed_us, end });
                if let (Some(outcome), Some(afterwards)) = (outcome, afterwards) {
                    afterwards.came_late(outcome, progress).await;
                }
            }));
        })
    }
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
        let unreadable = |_| CommitError::Unread("cannot read the stored ask".to_owned());
        let Some(stored) = reading::table(&records, table).map_err(unreadable)? else { return Ok(()) };
        let lead = reading::lead(&records.store, stored.head().lead).map_err(unreadable)?;
        let Some(lead) = lead else { return Ok(()) };
        let before = reading::calls(&records.store, table).map_err(unreadable)?.remove(&seat);
        if before.as_ref().is_some_and(|before| before.later.is_some()) {
            return Ok(());
        }
        let at = records.store.now_ms();
        let end = match &outcome {
            Outcome::Offers(quotes) => {
                EventAfterAskKind::Offers(u16::try_from(quotes.len()).unwrap_or(u16::MAX))
            }
            Outcome::NoOffers(_) => EventAfterAskKind::Declined,
            Outcome::Failed(_) | Outcome::TimedOut => EventAfterAskKind::Failed,
        };
        let event = outcome.decision().filter(|_| is_event).and_then(Decision::event);
        let event = event.map(|event| (event, at));
        let StoredAskProgress { step, kept, bid } = progress;
        let new = CallRecord { at, step, sent: true, bid, kept, heard: None, later: None };
        let after = CallRecord { later: Some(EventAfterAsk { at, end }), ..before.clone().unwrap_or(new) };
        let commit =
            writing::after_ask((&stored, lead.created_at), seat, (before.as_ref(), &after), (event, None));
        records.store.commit(commit).await
    }
}
