//! Admission: limits the pending rate tables, in total and per company. A shrunken limit ends no table.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::gauge;
use uuid::Uuid;

use super::refused::LeadRefusal;
use offerd_base::config::MatchingSettings;
use offerd_base::shares::{CompanyShare, CompanyShares};
use offerd_base::telemetry::metrics::PENDING_TABLES;

/// Counts pending tables. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    taken: Arc<AtomicUsize>,
    shares: CompanyShares,
}

/// A table's slot, returned on drop.
#[derive(Debug)]
pub struct PendingSlot {
    taken: Arc<AtomicUsize>,
    _share: Option<CompanyShare>,
}

/// Flag in the count that closes admission: with it the count exceeds any limit.
const CLOSED: usize = 1 << (usize::BITS - 1);

impl Admission {
    /// A slot for a company's new table under the current limits; refuses when there is none.
    pub fn admit(&self, company: Uuid, rules: MatchingSettings) -> Result<PendingSlot, LeadRefusal> {
        let share = self.shares.take(company, 1, rules.pending_tables_per_company);
        let share = share.ok_or_else(|| LeadRefusal::Full.counted("company_full"))?;
        self.slot(rules.pending_tables, || Some(share)).ok_or_else(|| LeadRefusal::Full.counted("full"))
    }

    /// A slot for a table that was accepted before a crash, even if its company is over its limit.
    pub fn readmit(&self, company: Uuid, rules: MatchingSettings) -> Option<PendingSlot> {
        self.slot(rules.pending_tables, || self.shares.take(company, 1, rules.pending_tables_per_company))
    }

    /// Admits no more tables.
    pub fn close(&self) {
        self.taken.fetch_or(CLOSED, Ordering::AcqRel);
    }

    fn slot(&self, most: usize, share: impl FnOnce() -> Option<CompanyShare>) -> Option<PendingSlot> {
        let one_more = |taken| (taken < most).then_some(taken + 1);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        gauge!(PENDING_TABLES).increment(1.0);
        Some(PendingSlot { taken: Arc::clone(&self.taken), _share: share() })
    }
}

impl Drop for PendingSlot {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::AcqRel);
        gauge!(PENDING_TABLES).decrement(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::tests::world;

    const ONE: Uuid = Uuid::from_u128(1);
    const OTHER: Uuid = Uuid::from_u128(2);

    fn limits(pending_tables: usize, pending_tables_per_company: usize) -> MatchingSettings {
        MatchingSettings { pending_tables, pending_tables_per_company, ..world::rules().matching }
    }

    fn most(of_all: usize) -> MatchingSettings {
        limits(of_all, 0)
    }

    #[test]
    fn a_place_is_free_again_when_it_is_left() {
        let admission = Admission::default();
        let first = admission.admit(ONE, most(1)).unwrap();
        assert!(admission.admit(ONE, most(1)).is_err());
        drop(first);
        assert!(admission.admit(ONE, most(1)).is_ok());
    }

    #[test]
    fn a_limit_that_shrinks_takes_no_place_away() {
        let admission = Admission::default();
        let mut slots: Vec<PendingSlot> = (0..3).map(|_| admission.admit(ONE, most(3)).unwrap()).collect();
        assert!(admission.admit(ONE, most(2)).is_err());
        slots.truncate(2);
        assert!(admission.admit(ONE, most(2)).is_err());
        assert!(admission.admit(ONE, most(3)).is_ok());
        slots.truncate(1);
        assert!(admission.admit(ONE, most(2)).is_ok());
    }

    #[test]
    fn a_companys_limit_may_change_too() {
        let admission = Admission::default();
        let of_one = |of_one| limits(9, of_one);
        let mut slots: Vec<PendingSlot> = (0..3).map(|_| admission.admit(ONE, of_one(3)).unwrap()).collect();
        assert!(admission.admit(ONE, of_one(2)).is_err());
        assert!(admission.admit(OTHER, of_one(2)).is_ok());
        slots.truncate(1);
        assert!(admission.admit(ONE, of_one(2)).is_ok());
    }

    #[test]
    fn who_has_closed_lets_nobody_in_even_when_all_have_left() {
        let admission = Admission::default();
        let slot = admission.admit(ONE, most(1));
        admission.close();
        drop(slot);
        assert!(admission.admit(ONE, most(CLOSED - 1)).is_err());
        assert!(admission.readmit(ONE, most(CLOSED - 1)).is_none());
    }

    #[test]
    fn one_company_cannot_take_every_place() {
        let admission = Admission::default();
        let most = limits(3, 2);
        let held = [admission.admit(ONE, most).unwrap(), admission.admit(ONE, most).unwrap()];
        assert!(admission.admit(ONE, most).is_err());
        let last = admission.admit(OTHER, most).unwrap();
        assert!(admission.admit(OTHER, most).is_err(), "every slot is taken");
        drop(held);
        assert!(admission.admit(ONE, most).is_ok(), "who was turned away has taken nothing");
        drop(last);
        admission.close();
        assert!(admission.admit(OTHER, most).is_err() && admission.readmit(OTHER, most).is_none());
    }

    #[test]
    fn what_was_taken_in_goes_on() {
        let admission = Admission::default();
        let most = limits(2, 1);
        let held = [admission.readmit(ONE, most), admission.readmit(ONE, most)];
        assert!(held.iter().all(Option::is_some));
        assert!(admission.readmit(ONE, most).is_none());
    }
}
