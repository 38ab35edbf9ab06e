//! How many rate tables are built at once, over all companies and of each.

use std::sync::Arc;

use metrics::counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::shares::{Share, Shares};
use crate::telemetry::metrics::SUBMITS_REFUSED;

/// Lets rate tables begin. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Admission {
    places: Arc<Semaphore>,
    shares: Shares,
}

/// A rate table's place, given back on drop.
#[derive(Debug)]
pub struct Permit {
    _place: OwnedSemaphorePermit,
    _share: Option<Share>,
}

impl Admission {
    /// At most `live_tables` at once, and `per_company` of one company; 0 sets no limit of its own.
    pub fn of(live_tables: usize, per_company: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(live_tables)), shares: Shares::of(per_company) }
    }

    /// A place for a new table of a company; `None`, once counted, when there is none.
    pub fn admit(&self, company: Uuid) -> Option<Permit> {
        let full = |reason: &'static str| counter!(SUBMITS_REFUSED, "reason" => reason).increment(1);
        let share = self.shares.take(company).or_else(|| {
            full("company_full");
            None
        })?;
        let place = Arc::clone(&self.places).try_acquire_owned().inspect_err(|_| full("full")).ok()?;
        Some(Permit { _place: place, _share: Some(share) })
    }

    /// A place for a table that was taken in before a crash; it goes on even where there is none, or its company has more
    /// than it may begin.
    pub fn readmit(&self, company: Uuid) -> Option<Permit> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Permit { _place: place, _share: self.shares.take(company) })
    }

    /// Lets nothing begin any more.
    pub fn close(&self) {
        self.places.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_company_cannot_take_every_place() {
        let admission = Admission::of(3, 2);
        let (greedy, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let held = [admission.admit(greedy).unwrap(), admission.admit(greedy).unwrap()];
        assert!(admission.admit(greedy).is_none());
        let last = admission.admit(other).unwrap();
        assert!(admission.admit(other).is_none(), "every place is taken");
        drop(held);
        assert!(admission.admit(greedy).is_some(), "who was turned away has taken nothing");
        drop(last);
        admission.close();
        assert!(admission.admit(other).is_none() && admission.readmit(other).is_none());
    }

    #[test]
    fn what_was_taken_in_goes_on() {
        let admission = Admission::of(2, 1);
        let held = [admission.readmit(Uuid::nil()), admission.readmit(Uuid::nil())];
        assert!(held.iter().all(Option::is_some));
        assert!(admission.readmit(Uuid::nil()).is_none());
    }
}
