//! The index of persons: each lead is found in it by the contacts that it was made with.
//!
//! A lead is acknowledged before it is in the index, so that none is slowed down by it; who looks somebody up has it catch up first
//! ([`ContactIndex::catch_up`]). What is done twice changes nothing, so a crash only has a step be done again. Leads of before there was an
//! index come into it in the same way.

use std::time::Instant;

use futures_util::future::join_all;

use crate::model::EventType;
use crate::records::projection::{LOOK_AGAIN, Projection, STEP, blocking, step};
use crate::records::{contacts, reading};
use crate::store::entities::Happening;
use crate::store::{Commit, CommitError, Store};

/// The name under which the store keeps how far it has come.
const NAME: &str = "contacts";

/// The index of a store.
#[derive(Debug, Clone)]
pub struct ContactIndex(pub Store);

impl Projection for ContactIndex {
    const TROUBLE: &'static str = "leads do not come into the index of persons yet; it is tried again";

    async fn begin(&mut self) {
        self.0.until_it_leads().await;
    }

    async fn fold(&mut self) -> Result<bool, CommitError> {
        step(&self.0, (NAME, STEP), |happenings, moved| self.take_in(happenings, moved)).await
    }
}

impl ContactIndex {
    /// Reads on until all is in the index that was there, or the time is over; whether it is.
    ///
    /// # Errors
    /// Why the store failed.
    pub async fn catch_up(&mut self, until: Instant) -> Result<bool, CommitError> {
        loop {
            match self.fold().await {
                Ok(false) => return Ok(true),
                // Somebody else has brought these into it.
                Ok(true) | Err(CommitError::Guard { .. }) if Instant::now() < until => {}
                Err(CommitError::Busy) if Instant::now() < until => tokio::time::sleep(LOOK_AGAIN).await,
                Ok(true) | Err(CommitError::Busy | CommitError::Guard { .. }) => return Ok(false),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Brings leads into the index.
    async fn take_in(&self, happenings: Vec<Happening>, moved: Commit) -> Result<(), CommitError> {
        let store = self.0.clone();
        let found = move || -> Vec<Commit> {
            let made = happenings.iter().filter(|one| one.event_type == EventType::LeadCreated);
            let made = made.filter_map(|one| reading::lead(&store, one.lead).ok().flatten());
            made.filter_map(|record| contacts::found_by(&store, &record)).collect()
        };
        let found = blocking(found).await?;
        for outcome in join_all(found.into_iter().map(|commit| self.0.commit(commit))).await {
            match outcome {
                // It was erased meanwhile.
                Ok(()) | Err(CommitError::Erased) => {}
                Err(failure) => return Err(failure),
            }
        }
        self.0.commit(moved).await
    }
}
