//! Per-company quotas of a bounded resource.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

/// Counts what each company holds of its quota. Memory is bounded: a company that holds nothing is forgotten.
#[derive(Debug, Clone, Default)]
pub struct CompanyShares {
    held: Arc<Mutex<HashMap<Uuid, usize>>>,
}

/// A part of a company's quota, returned on drop.
#[derive(Debug)]
pub struct CompanyShare {
    company: Uuid,
    pieces: usize,
    held: Arc<Mutex<HashMap<Uuid, usize>>>,
}

impl CompanyShares {
    /// Takes `pieces` for a company; `None` if it would hold more than `most`. 0 sets no limit.
    pub fn take(&self, company: Uuid, pieces: usize, most: usize) -> Option<CompanyShare> {
        let mut held = self.held.lock();
        let count = held.get(&company).map_or(pieces, |count| count.saturating_add(pieces));
        if most != 0 && count > most {
            return None;
        }
        held.insert(company, count);
        Some(CompanyShare { company, pieces, held: Arc::clone(&self.held) })
    }
}

impl Drop for CompanyShare {
    fn drop(&mut self) {
        let mut held = self.held.lock();
        match held.get(&self.company).map_or(0, |count| count.saturating_sub(self.pieces)) {
            0 => held.remove(&self.company),
            left => held.insert(self.company, left),
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_company_gets_its_share_whatever_another_holds() {
        let shares = CompanyShares::default();
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let held = [shares.take(one, 3, 5).unwrap(), shares.take(one, 2, 5).unwrap()];
        assert!(shares.take(one, 1, 5).is_none());
        let others = shares.take(other, 5, 5).unwrap();
        drop(held);
        assert!(shares.take(one, 6, 5).is_none());
        assert!(shares.take(one, 5, 5).is_some());
        drop(others);
        assert!(shares.held.lock().is_empty(), "who holds nothing is forgotten");
    }

    #[test]
    fn no_limit_is_none() {
        let shares = CompanyShares::default();
        let held: Vec<_> = (0..100).map_while(|_| shares.take(Uuid::nil(), 1, 0)).collect();
        assert_eq!(held.len(), 100);
    }

    proptest! {
        /// In any order of takes and returns, a company gets more exactly while it is within its limit, and
        /// nothing stays counted that is not held.
        #[test]
        fn what_is_counted_is_what_is_held(
            steps in prop::collection::vec((0_u128..3, 1_usize..4, 0_usize..9, any::<bool>()), 1..200),
        ) {
            let shares = CompanyShares::default();
            let mut held: Vec<(u128, CompanyShare)> = Vec::new();
            for (company, pieces, most, gives_back) in steps {
                let has = |held: &[(u128, CompanyShare)]| -> usize {
                    held.iter().filter(|(of, _)| *of == company).map(|(_, share)| share.pieces).sum()
                };
                if gives_back {
                    if let Some(at) = held.iter().position(|(of, _)| *of == company) {
                        held.swap_remove(at);
                    }
                } else {
                    let share = shares.take(Uuid::from_u128(company), pieces, most);
                    prop_assert_eq!(share.is_some(), most == 0 || has(&held) + pieces <= most);
                    held.extend(share.map(|share| (company, share)));
                }
                let counted = shares.held.lock().get(&Uuid::from_u128(company)).copied();
                prop_assert_eq!(counted, Some(has(&held)).filter(|count| *count > 0));
            }
        }
    }
}
