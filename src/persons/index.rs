//! The index of persons: follows the feeds, and has each lead be found by the contacts that it was made with.
//!
//! A lead is acknowledged before it is in the index, so that none is slowed down by it; who looks somebody up has it catch up first
//! ([`ContactIndex::catch_up`]). What is done twice changes nothing, so a crash only has a step be done again. Leads of before there was an
//! index come into it in the same way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tracing::error;
use uuid::Uuid;

use crate::matching::engine::Engine;
use crate::model::EventType;
use crate::records::following::{self, LOOK_AGAIN, Next, Step, companies, rest};
use crate::records::{Records, contacts, reading};
use crate::store::entities::Happening;
use crate::store::{Commit, CommitError, Tree};

/// The name of the follower.
const NAME: &str = "contacts";

/// Records of a feed that a step reads at most.
const STEP: usize = 64;

/// Brings leads into the index.
#[derive(Debug, Clone)]
pub struct ContactIndex {
    records: Records,
}

/// Follows the feeds for as long as the store takes commits, once this process leads. `queueing` is how long new work waits, which goes first.
pub async fn keep(engine: Arc<Engine>, queueing: impl Fn() -> Duration) {
    engine.records.store.until_it_leads().await;
    let index = ContactIndex::of(engine.records.clone());
    loop {
        let begun = Instant::now();
        let pause = match index.round().await {
            Ok(step) => rest(step, begun.elapsed(), queueing()),
            Err(CommitError::Busy) => LOOK_AGAIN,
            Err(CommitError::Closed) => return,
            Err(failure) => {
                error!(%failure, "leads do not come into the index of persons yet; it is tried again");
                LOOK_AGAIN
            }
        };
        tokio::time::sleep(pause).await;
    }
}

impl ContactIndex {
    /// The index of a store.
    pub fn of(records: Records) -> Self {
        Self { records }
    }

    /// Reads on until all is in the index that was there, or the time is over; whether it is.
    ///
    /// # Errors
    /// Why the store failed.
    pub async fn catch_up(&self, until: Instant) -> Result<bool, CommitError> {
        loop {
            match self.round().await {
                Ok(Step::More) if Instant::now() < until => {}
                Err(CommitError::Busy) if Instant::now() < until => tokio::time::sleep(LOOK_AGAIN).await,
                Ok(Step::More) | Err(CommitError::Busy) => return Ok(false),
                Ok(Step::CaughtUp | Step::Nothing) => return Ok(true),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Takes a step for each company.
    async fn round(&self) -> Result<Step, CommitError> {
        let mut furthest = Step::Nothing;
        let store = self.records.store.clone();
        for company in blocking(move || companies(&store)).await? {
            furthest = furthest.max(self.step(company).await?);
        }
        Ok(furthest)
    }

    /// Brings the next leads of a company into the index.
    async fn step(&self, company: Uuid) -> Result<Step, CommitError> {
        let from_us = following::cursor(&self.records.store, NAME, company)?;
        let index = self.clone();
        let (found, read) = blocking(move || index.read(company, from_us)).await?;
        let store = &self.records.store;
        for outcome in join_all(found.into_iter().map(|commit| store.commit(commit))).await {
            match outcome {
                // It was erased meanwhile.
                Ok(()) | Err(CommitError::Erased) => {}
                Err(failure) => return Err(failure),
            }
        }
        if read.next_us == from_us {
            return Ok(Step::Nothing);
        }
        store.commit(following::with_cursor(Commit::new(), NAME, company, read.next_us)).await?;
        Ok(if read.records == STEP { Step::More } else { Step::CaughtUp })
    }

    /// What is to be written of the next leads.
    fn read(&self, company: Uuid, from_us: u64) -> (Vec<Commit>, Next<Happening>) {
        let store = &self.records.store;
        let next = following::next::<Happening>(store, (Tree::LeadEvents, company, from_us), STEP);
        let made = next.listed.iter().filter(|one| one.event_type == EventType::LeadCreated);
        let made = made.filter_map(|one| reading::lead(store, one.lead).ok().flatten());
        let found = made.filter_map(|record| contacts::found_by(store, &record)).collect();
        (found, next)
    }
}

/// Reads on a thread that may block.
async fn blocking<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Result<T, CommitError> {
    tokio::task::spawn_blocking(read).await.map_err(|error| CommitError::Failed(error.to_string()))
}
