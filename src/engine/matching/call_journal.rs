//! What is on the disk of the calls of an ask, so that a restart makes none again that may be made but once.

use std::sync::Arc;

use super::sent_once;
use crate::rate_table::call_record::{CallRecord, Heard};
use crate::rate_table::record::TableHead;
use crate::records::{Records, writing};
use offerd_partners::http::{Exchange, Progress};
use offerd_store::CommitError;

/// How often it is tried to be the first table of a lead that sends it.
const CLAIMS: usize = 8;

/// The calls of one seat's ask.
#[derive(Clone)]
pub struct CallJournal {
    /// Where they are.
    pub records: Records,
    /// The table.
    pub head: Arc<TableHead>,
    /// Position of the seat.
    pub seat: u16,
    /// What a restart has found of them.
    pub found: Option<CallRecord>,
}

impl CallJournal {
    /// Writes how far the calls are: about to make the one that they have come to, or only that it is next.
    ///
    /// # Errors
    /// Why it may not be on the disk; then nothing may be sent.
    pub async fn write(
        &self,
        exchange: &Exchange,
        sent: bool,
        heard: Option<Heard>,
    ) -> Result<(), CommitError> {
        let record = self.record(exchange, sent, heard);
        self.records.store.commit(writing::call(&self.head, self.seat, &record)).await
    }

    /// Writes that a call is about to be made which is made but once for a lead; false where another table of the lead has made it.
    ///
    /// # Errors
    /// Why it may not be on the disk; then nothing may be sent.
    pub async fn claim(&self, exchange: &Exchange) -> Result<bool, CommitError> {
        let record = self.record(exchange, true, None);
        for _ in 0..CLAIMS {
            let call = writing::call(&self.head, self.seat, &record);
            let claim = sent_once::alone(&self.records, (&self.head, self.seat), record.step, call).await;
            let unreadable = |_| CommitError::Failed("the tables of the lead cannot be read".to_owned());
            let Some(claim) = claim.map_err(unreadable)? else { return Ok(false) };
            match self.records.store.commit(claim).await {
                // Another table is about to send it too.
                Err(CommitError::Guard { .. }) => {}
                end => return end.map(|()| true),
            }
        }
        Err(CommitError::Crowded)
    }

    fn record(&self, exchange: &Exchange, sent: bool, heard: Option<Heard>) -> CallRecord {
        let Progress { step, kept, bid } = exchange.progress();
        CallRecord { at: self.records.store.now_ms(), step, sent, bid, kept, heard, later: None }
    }
}
