//! What is on the disk of the calls of an ask, so that a restart makes none again that may be made but once.

use std::sync::Arc;

use crate::partners::http::{Exchange, HttpSource, Progress};
use crate::rate_table::call_record::{CallRecord, Heard};
use crate::rate_table::record::TableHead;
use crate::records::writing;
use crate::store::{CommitError, Store};

/// The calls of one seat's ask.
#[derive(Debug, Clone)]
pub struct CallJournal {
    store: Store,
    head: Arc<TableHead>,
    seat: u16,
    /// What was found of it after a restart.
    found: Option<CallRecord>,
}

/// Where an ask goes on.
pub enum TakenUp {
    /// At its beginning.
    Anew,
    /// Where it was.
    From(Exchange),
    /// Nowhere: a call may have been sent that is made but once.
    Unsure,
}

impl CallJournal {
    /// Of a seat of a table, with what a restart has found of it.
    pub fn new(store: Store, head: Arc<TableHead>, seat: u16, found: Option<CallRecord>) -> Self {
        Self { store, head, seat, found }
    }

    /// Where the ask goes on after a restart.
    pub fn taken_up(&self, source: &HttpSource) -> TakenUp {
        match &self.found {
            None => TakenUp::Anew,
            Some(CallRecord { sent: true, .. }) => TakenUp::Unsure,
            Some(CallRecord { step, bid, kept, .. }) => {
                let progress = Progress { step: *step, kept: kept.clone(), bid: *bid };
                // A file that has changed meanwhile may have other steps; what was sent before is not sent again.
                source.taken_up(&progress).map_or(TakenUp::Unsure, TakenUp::From)
            }
        }
    }

    /// What the partner has called us with before a restart; once.
    pub fn take_heard(&mut self) -> Option<Heard> {
        self.found.as_mut()?.heard.take()
    }

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
        let Progress { step, kept, bid } = exchange.progress();
        let record = CallRecord { at: self.store.now_ms(), step, sent, bid, kept, heard, later: None };
        self.store.commit(writing::call(&self.head, self.seat, &record)).await
    }
}
