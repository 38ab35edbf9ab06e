//! Seats that are not asked in favour of an exclusive one.

use super::limits::Exclusive;
use super::partner::Seat;

/// Of seats that would be asked together, those that an exclusive seat displaces, by position: `(displaced,
/// by)`. The first exclusive seat takes the lead, those of a product type before those of a group.
pub fn displaced(seats: &[&Seat], would_be_asked: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut displaced: Vec<(usize, usize)> = Vec::new();
    let mut exclusive: Vec<usize> =
        (0..seats.len()).filter(|nth| seats[*nth].exclusive.is_some() && would_be_asked(*nth)).collect();
    exclusive.sort_by_key(|nth| seats[*nth].exclusive != Some(Exclusive::Product));
    for taker in exclusive {
        if displaced.iter().any(|(other, _)| *other == taker) {
            continue;
        }
        for other in (0..seats.len()).filter(|other| *other != taker && would_be_asked(*other)) {
            if seats[taker].takes_from(seats[other]) && !displaced.iter().any(|(known, _)| *known == other) {
                displaced.push((other, taker));
            }
        }
    }
    displaced
}

impl Seat {
    /// Whether it is exclusive and competes with the other seat.
    pub fn takes_from(&self, other: &Self) -> bool {
        let alone_among = match &self.exclusive {
            None => false,
            Some(Exclusive::Product) => true,
            group @ Some(Exclusive::Group(_)) => other.exclusive == *group,
        };
        alone_among && self.product_type == other.product_type
    }
}
