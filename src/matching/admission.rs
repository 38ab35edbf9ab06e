//! Admission: how many rate tables are built at once.
//!
//! The limit may change while tables are built. Where it shrinks, those that have a place keep it, and no one comes in
//! until enough have left.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the tables that are being built. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Admission(Arc<AtomicUsize>);

/// A table's place among them, given back when it is dropped.
#[derive(Debug)]
pub struct Place(Arc<AtomicUsize>);

/// Set in the count when nobody comes in any more: with it the count is beyond any limit.
const CLOSED: usize = 1 << (usize::BITS - 1);

impl Admission {
    /// A place, while fewer than `most` are taken.
    pub fn admit(&self, most: usize) -> Option<Place> {
        let taken = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |taken| (taken < most).then_some(taken + 1));
        taken.ok().map(|_| Place(Arc::clone(&self.0)))
    }

    /// Lets nobody in any more.
    pub fn close(&self) {
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_it_is_left() {
        let admission = Admission::default();
        let first = admission.admit(1).unwrap();
        assert!(admission.admit(1).is_none());
        drop(first);
        assert!(admission.admit(1).is_some());
    }

    #[test]
    fn a_limit_that_shrinks_takes_no_place_away() {
        let admission = Admission::default();
        let mut places: Vec<Place> = (0..3).map(|_| admission.admit(3).unwrap()).collect();
        assert!(admission.admit(2).is_none());
        places.truncate(2);
        assert!(admission.admit(2).is_none());
        assert!(admission.admit(3).is_some());
        places.truncate(1);
        assert!(admission.admit(2).is_some());
    }

    #[test]
    fn who_has_closed_lets_nobody_in_even_when_all_have_left() {
        let admission = Admission::default();
        let place = admission.admit(1);
        admission.close();
        drop(place);
        assert!(admission.admit(CLOSED - 1).is_none());
    }
}
