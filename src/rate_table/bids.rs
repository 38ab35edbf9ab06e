//! Bids for a lead, and how they stand to each other.

/// The bids that have come for a lead, by seat, in dollars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bids(Vec<(usize, f64)>);

impl Bids {
    /// Takes a seat's bid in.
    pub fn add(&mut self, seat: usize, dollars: f64) {
        self.0.push((seat, dollars));
    }

    /// How many bids stand before that of a seat: the higher ones, and equal ones of seats before it; `None` when it has not bid.
    pub fn before(&self, seat: usize) -> Option<usize> {
        let (_, own) = self.0.iter().find(|(bidder, _)| *bidder == seat)?;
        let better = |(bidder, dollars): &&(usize, f64)| dollars > own || (dollars == own && *bidder < seat);
        Some(self.0.iter().filter(better).count())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_has_a_place_of_its_own_and_the_higher_bid_the_better_one(dollars in proptest::collection::vec(0_u8..5, 1..12)) {
            let mut bids = Bids::default();
            for (seat, dollars) in dollars.iter().enumerate().rev() {
                bids.add(seat, f64::from(*dollars));
            }
            let places: Vec<usize> = (0..dollars.len()).map(|seat| bids.before(seat).unwrap()).collect();
            let mut sorted = places.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..dollars.len()));
            for (one, other) in (0..dollars.len()).flat_map(|one| (0..dollars.len()).map(move |other| (one, other))) {
                prop_assert!(dollars[one] <= dollars[other] || places[one] < places[other]);
            }
            prop_assert_eq!(bids.before(dollars.len()), None);
        }
    }
}
