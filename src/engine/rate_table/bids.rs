//! Bids for a lead and their order.

/// The bids for a lead, by seat, in dollars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bids(Vec<(usize, f64)>);

impl Bids {
    /// Adds a seat's bid.
    pub fn add(&mut self, seat: usize, dollars: f64) {
        self.0.push((seat, dollars));
    }

    /// Withdraws a seat's bid.
    pub fn withdraw(&mut self, seat: usize) {
        self.0.retain(|(bidder, _)| *bidder != seat);
    }

    /// The place of a seat's bid; `None` when it has not bid.
    pub fn rank(&self, seat: usize) -> Option<BidRank> {
        let (_, own) = self.0.iter().find(|(bidder, _)| *bidder == seat)?;
        let higher = self.0.iter().filter(|(_, dollars)| dollars > own).count();
        let equal = self.0.iter().filter(|(bidder, dollars)| dollars == own && *bidder < seat).count();
        Some(BidRank { higher, equal })
    }
}

/// A lead sold to a partner at its bid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sale {
    /// Position of the seat.
    pub seat: u16,
    /// When the partner answered, Unix milliseconds.
    pub at: i64,
    /// The price, dollars.
    pub dollars: f64,
}

/// The place of a bid among the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BidRank {
    /// Number of higher bids.
    pub higher: usize,
    /// Number of equal bids from earlier seats.
    pub equal: usize,
}

impl BidRank {
    /// Number of bids ahead.
    pub fn before(self) -> usize {
        self.higher + self.equal
    }
}

/// A bid in words; 0 means that the partner wants the lead but names no price.
pub fn in_words(dollars: f64) -> String {
    if dollars == 0.0 { "its bid, without a price,".into() } else { format!("its bid of {}", price(dollars)) }
}

/// Dollars with cents, or with all digits where rounding would change the amount.
pub fn price(dollars: f64) -> String {
    let cents = format!("{dollars:.2}");
    if cents.parse() == Ok(dollars) { format!("${cents}") } else { format!("${dollars}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_price_reads_as_the_number_that_it_is() {
        assert_eq!([5.0, 4.99, 4.999_999, 0.1].map(price), ["$5.00", "$4.99", "$4.999999", "$0.10"]);
    }

    #[test]
    fn a_bid_reads_as_its_price_and_zero_as_none() {
        assert_eq!([0.0, 5.0].map(in_words), ["its bid, without a price,", "its bid of $5.00"]);
    }

    #[test]
    fn equal_bids_are_in_the_order_of_seats_and_withdrawn_ones_do_not_count() {
        let mut bids = Bids::default();
        [(2, 7.0), (1, 5.0), (0, 5.0)].into_iter().for_each(|(seat, dollars)| bids.add(seat, dollars));
        assert_eq!(bids.rank(1), Some(BidRank { higher: 1, equal: 1 }));
        assert_eq!(bids.rank(0), Some(BidRank { higher: 1, equal: 0 }));
        bids.withdraw(2);
        assert_eq!((bids.rank(1), bids.rank(2)), (Some(BidRank { higher: 0, equal: 1 }), None));
    }

    proptest! {
        #[test]
        fn each_has_a_place_of_its_own_and_the_higher_bid_the_better_one(dollars in proptest::collection::vec(0_u8..5, 1..12)) {
            let mut bids = Bids::default();
            for (seat, dollars) in dollars.iter().enumerate().rev() {
                bids.add(seat, f64::from(*dollars));
            }
            let places: Vec<usize> = (0..dollars.len()).map(|seat| bids.rank(seat).unwrap().before()).collect();
            let mut sorted = places.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..dollars.len()));
            for (one, other) in (0..dollars.len()).flat_map(|one| (0..dollars.len()).map(move |other| (one, other))) {
                prop_assert!(dollars[one] <= dollars[other] || places[one] < places[other]);
            }
            prop_assert_eq!(bids.rank(dollars.len()), None);
        }
    }
}
