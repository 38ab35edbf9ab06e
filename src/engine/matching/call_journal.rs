//! The journal of an ask's calls, which keeps a restart from repeating at-most-once calls.

use std::sync::Arc;

use super::sent_once;
use crate::rate_table::call_record::{CallRecord, ReceivedCallback};
use crate::rate_table::record::TableHeader;
use crate::records::{Records, writing};
use offerd_partners::http::{PartnerExchange, StoredExchange};
use offerd_store::CommitError;

/// Attempts to be the first table of a lead to send a once-per-lead call.
const CLAIMS: usize = 8;

/// The journal of one seat's ask.
#[derive(Clone)]
pub struct CallJournal {
    /// The records.
    pub records: Records,
    /// The table.
    pub head: Arc<TableHeader>,
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
        exchange: &PartnerExchange,
        sent: bool,
        heard: Option<ReceivedCallback>,
    ) -> Result<(), CommitError> {
        let record = self.record(exchange, sent, heard);
        self.records.store.commit(writing::call(&self.head, self.seat, &record)).await
    }

    /// Writes that a once-per-lead call is about to be sent; false where another table has sent it.
    ///
    /// # Errors
    /// [`CommitError`] when it may not be on the disk; then nothing may be sent.
    pub async fn claim(&self, exchange: &PartnerExchange) -> Result<bool, CommitError> {
        let record = self.record(exchange, true, None);
        for _ in 0..CLAIMS {
            let call = writing::call(&self.head, self.seat, &record);
            let claim = sent_once::alone(&self.records, (&self.head, self.seat), record.step, call).await;
            let unreadable = |_| CommitError::Failed("the tables of the lead cannot be read".to_owned());
            let Some(claim) = claim.map_err(unreadable)? else { return Ok(false) };
            match self.records.store.commit(claim).await {
                // Another table is about to send it.
                Err(CommitError::Guard { .. }) => {}
                end => return end.map(|()| true),
            }
        }
        Err(CommitError::Crowded)
    }

    fn record(&self, exchange: &PartnerExchange, sent: bool, heard: Option<ReceivedCallback>) -> CallRecord {
        let StoredExchange { step, kept, bid } = exchange.progress();
        CallRecord { at: self.records.store.now_ms(), step, sent, bid, kept, heard, later: None }
    }
}
