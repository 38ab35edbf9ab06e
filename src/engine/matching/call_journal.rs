//! The journal of an ask's calls, which keeps a restart from repeating at-most-once calls.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::rate_table::record::{CallRecord, ReceivedCallback, TableHead};
use crate::records::{Found, RecordUnavailable, Records, reading, writing};
use offerd_partners::http::{AskProgress, StoredAskProgress};
use offerd_partners::{Fingerprint, RecordedSeat};
use offerd_store::{Commit, CommitError, Tree};

/// Attempts to be the first table of a lead to send a once-per-lead call.
const CLAIMS: usize = 8;

/// The journal of one seat's ask.
#[derive(Clone)]
pub struct CallJournal {
    /// The records.
    pub records: Records,
    /// The table.
    pub head: Arc<TableHead>,
    /// Position of the seat.
    pub seat: u16,
    /// The record found by a restart.
    pub found: Option<CallRecord>,
}

impl CallJournal {
    /// Writes the progress: whether the current call is about to be sent, or only next.
    ///
    /// # Errors
    /// [`CommitError`] when it may not be on the disk; then nothing may be sent.
    pub async fn write(
        &self,
        progress: &AskProgress,
        sent: bool,
        heard: Option<ReceivedCallback>,
    ) -> Result<(), CommitError> {
        let record = self.record(progress, sent, heard);
        self.records.store.commit(writing::call(&self.head, self.seat, &record)).await
    }

    /// Writes that a once-per-lead call is about to be sent; false where another table has sent it.
    ///
    /// # Errors
    /// [`CommitError`] when it may not be on the disk; then nothing may be sent.
    pub async fn claim(&self, progress: &AskProgress) -> Result<bool, CommitError> {
        let record = self.record(progress, true, None);
        for _ in 0..CLAIMS {
            let call = writing::call(&self.head, self.seat, &record);
            let claim = alone(&self.records, (&self.head, self.seat), record.step, call).await;
            let unreadable = |_| CommitError::Unread("the tables of the lead cannot be read".to_owned());
            let Some(claim) = claim.map_err(unreadable)? else { return Ok(false) };
            match self.records.store.commit(claim).await {
                // Another table is about to send it.
                Err(CommitError::Guard { .. }) => {}
                end => return end.map(|()| true),
            }
        }
        Err(CommitError::Crowded)
    }

    fn record(&self, progress: &AskProgress, sent: bool, heard: Option<ReceivedCallback>) -> CallRecord {
        let StoredAskProgress { step, kept, bid } = progress.stored();
        CallRecord { at: self.records.store.now_ms(), step, sent, bid, kept, heard, later: None }
    }
}

/// The cause when a partner is not sent the lead again.
pub const SENT_BEFORE: &str = "it already got the lead for another rate table, and gets it only once";

/// The `commit` of a call, guarded against the same call for another table; `None` where that was made.
pub async fn alone(
    records: &Records,
    (head, position): (&Arc<TableHead>, u16),
    step: u8,
    commit: Commit,
) -> Found<Option<Commit>> {
    let (Records { store, templates }, head) = (records.clone(), Arc::clone(head));
    let guarded = move || {
        let seat_of = |template: &Fingerprint| templates.seat(*template).ok();
        let (own, lead) =
            (head.seats.get(usize::from(position)).and_then(seat_of), reading::lead(&store, head.lead)?);
        let (Some(own), Some(lead)) = (own, lead) else { return Ok(Some(commit)) };
        let mut commit = commit;
        for table in reading::tables_of(&store, &lead).into_iter().filter(|table| *table != head.uuid) {
            let Some(other) = reading::head(&store, table)? else { continue };
            let calls = reading::calls(&store, table)?;
            let is_own = |seat: &RecordedSeat| seat.is_of(&own.key, own.product_type);
            let same =
                (0..).zip(&other.seats).filter(|(_, text)| seat_of(text).is_some_and(|seat| is_own(&seat)));
            for (position, _) in same {
                if calls.get(&position).is_some_and(|call| (call.step, call.sent) >= (step, true)) {
                    return Ok(None);
                }
                let key = writing::key_in(table, position);
                let found = store.get(Tree::Calls, &key).map_err(|_| RecordUnavailable)?;
                commit = commit.as_found(Tree::Calls, key, found);
            }
        }
        Ok(Some(commit))
    };
    // Fails only by a panic or at the end of the process.
    spawn_blocking(guarded).await.unwrap_or(Err(RecordUnavailable))
}
