//! The memory for the bodies of requests under way: so much for all, and of it so much for each company.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::failure::Failure;
use super::gate;
use crate::shares::{Share, Shares};

/// Counts the bytes that bodies may take. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Bodies {
    all: Arc<Semaphore>,
    shares: Shares,
    /// Of one company; 0 sets no limit of its own.
    of_one: usize,
}

/// A part of the memory, held until it is dropped.
#[derive(Debug)]
pub(super) struct Room {
    _of_all: OwnedSemaphorePermit,
    _of_company: Option<Share>,
}

impl Bodies {
    /// So many bytes for all, and for each company; 0 sets no limit.
    pub(super) fn new(of_all: usize, of_one: usize) -> Self {
        Self { all: gate::places(of_all), shares: Shares::default(), of_one }
    }

    /// Room for a body that will be `bytes` long at most, of a company if one sends it.
    ///
    /// # Errors
    /// 429 when the company's part is taken, 503 when all is.
    pub(super) fn room(&self, company: Option<Uuid>, bytes: usize) -> Result<Room, Failure> {
        let share = company.map(|company| self.shares.take(company, bytes, self.of_one));
        let of_company =
            share.map(|share| share.ok_or_else(|| gate::asks_too_much("company_body_bytes"))).transpose()?;
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let of_all = Arc::clone(&self.all).try_acquire_many_owned(bytes);
        let of_all = of_all.map_err(|_| gate::turned_away("body_bytes"))?;
        Ok(Room { _of_all: of_all, _of_company: of_company })
    }
}
