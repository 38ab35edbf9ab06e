//! Late answers: stored with the calls of their ask, and reported in the feed if the partner file says so.

use chrono::Utc;
use tracing::warn;
use uuid::Uuid;

use crate::rate_table::call_record::{CallRecord, LateEvent, LateEventKind};
use crate::rate_table::outcome::{Decision, Outcome};
use crate::records::{Records, reading, writing};
use offerd_partners::http::StoredExchange;
use offerd_store::CommitError;

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
    pub async fn came_late(self, outcome: Outcome, progress: StoredExchange) {
        let table = self.table;
        match self.write(outcome, progress).await {
            // The lead is erased, or another answer came first.
            Ok(()) | Err(CommitError::Erased | CommitError::Guard { .. }) => {}
            Err(failure) => warn!(rate_table = %table, %failure, "could not store a late answer"),
        }
    }

    async fn write(self, outcome: Outcome, progress: StoredExchange) -> Result<(), CommitError> {
        let Self { records, table, seat, is_event } = self;
        let unreadable = |_| CommitError::Failed("cannot read the stored ask".to_owned());
        let Some(stored) = reading::table(&records, table).map_err(unreadable)? else { return Ok(()) };
        let lead = reading::lead(&records.store, stored.head().lead).map_err(unreadable)?;
        let Some(lead) = lead else { return Ok(()) };
        let before = reading::calls(&records.store, table).map_err(unreadable)?.remove(&seat);
        if before.as_ref().is_some_and(|before| before.later.is_some()) {
            return Ok(());
        }
        let at = Utc::now().timestamp_millis();
        let end = match &outcome {
            Outcome::Offers(quotes) => LateEventKind::Offers(u16::try_from(quotes.len()).unwrap_or(u16::MAX)),
            Outcome::NoOffers(_) => LateEventKind::Declined,
            Outcome::Failed(_) | Outcome::TimedOut => LateEventKind::Failed,
        };
        let event = outcome.decision().filter(|_| is_event).and_then(Decision::event);
        let event = event.map(|event| (event, at));
        let StoredExchange { step, kept, bid } = progress;
        let new = CallRecord { at, step, sent: true, bid, kept, heard: None, later: None };
        let after = CallRecord { later: Some(LateEvent { at, end }), ..before.clone().unwrap_or(new) };
        let commit =
            writing::later((&stored, lead.created_at), seat, (before.as_ref(), &after), (event, None));
        records.store.commit(commit).await
    }
}
