//! What a rate table holds: its head, folded over by its answers.
//!
//! Pure: the same answers give the same table, in the live actor, after a restart, and when an old table is read.
//!
//! Each array is sorted by `recommendationScore`, highest first; equal scores stand in the order in which the offers
//! were numbered, which is the order of arrival and, within one answer, of the partner's file.

use std::sync::Arc;

use super::outcome::Outcome;
use super::progress::{Event, IllegalTransition, Progress};
use super::record::{Answer, MAX_OFFERS, TableHead};
use offerd_partners::{Quote, SeatTemplate, Terms};

/// A rate table as far as it has come.
#[derive(Debug, Clone)]
pub struct Table {
    head: Arc<TableHead>,
    seats: Arc<[Arc<SeatTemplate>]>,
    progress: Progress,
    arrays: [Vec<Offer>; ARRAYS.len()],
    /// Answers of second-look partners, until the last of them has answered.
    auction: Vec<Offer>,
    last_number: u16,
    answers: u32,
}

/// An offer that has its number.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Its number in the table, from 1.
    pub number: u16,
    /// Position of its seat.
    pub seat: u16,
    /// What was offered.
    pub quote: Quote,
}

/// The arrays of a rate table, in the order of the specification.
const ARRAYS: [&str; 5] =
    ["creditCardOffers", "loanOffers", "mortgageOffers", "savingsOffers", "specialOffers"];

fn array_of(terms: &Terms) -> usize {
    match terms {
        Terms::Card(_) => 0,
        Terms::Loan(_) => 1,
        Terms::Mortgage(_) => 2,
        Terms::Savings(_) => 3,
        Terms::Special(_) => 4,
    }
}

impl Table {
    /// A table without answers. `seats` are those of the head, in its order.
    pub fn new(head: Arc<TableHead>, seats: Vec<Arc<SeatTemplate>>) -> Self {
        debug_assert_eq!(head.seats.len(), seats.len());
        let places = seats.iter().map(|seat| (seat.product_type, seat.second_look));
        let progress = Progress::start(places, head.wants_loans);
        Self {
            progress,
            head,
            seats: seats.into(),
            arrays: Default::default(),
            auction: Vec::new(),
            last_number: 0,
            answers: 0,
        }
    }

    /// Takes in an answer.
    ///
    /// # Errors
    /// [`IllegalTransition`], with nothing changed, when the seat has its outcome already.
    pub fn apply(&mut self, answer: &Answer) -> Result<(), IllegalTransition> {
        let seat = usize::from(answer.seat);
        let quotes = answer.outcome.quotes();
        let was_settled = self.progress.settled();
        self.progress.apply(Event::Ended { seat, offers: !quotes.is_empty() })?;
        // Invariant (S2): once no response is pending the table never changes.
        debug_assert!(!was_settled);

        self.answers += 1;
        let second_look = self.seats[seat].second_look;
        for quote in quotes {
            // Invariant: `cut_to_fit` has seen to the numbers.
            debug_assert!(self.last_number < MAX_OFFERS);
            self.last_number += 1;
            let offer = Offer { number: self.last_number, seat: answer.seat, quote: quote.clone() };
            if second_look {
                self.auction.push(offer);
            } else {
                self.place(offer);
            }
        }
        if second_look {
            self.close_auction();
        }
        Ok(())
    }

    /// Takes out of answers that are to be applied next what the table has no numbers left for; returns how many offers.
    pub fn cut_to_fit(&self, answers: &mut [Answer]) -> usize {
        let mut left = usize::from(MAX_OFFERS - self.last_number);
        let mut cut = 0;
        for answer in answers {
            if let Outcome::Offers(quotes) = &mut answer.outcome {
                cut += quotes.len().saturating_sub(left);
                quotes.truncate(left);
                left -= quotes.len();
            }
        }
        cut
    }

    /// Once the last second-look partner has answered, the best offer of each product sub-type is shown.
    fn close_auction(&mut self) {
        if self.progress.pending().any(|seat| self.seats[seat].second_look) {
            return;
        }
        let mut offers = std::mem::take(&mut self.auction);
        offers.sort_by(|one, two| {
            two.quote.score.total_cmp(&one.quote.score).then(one.number.cmp(&two.number))
        });
        let mut lots = Vec::new();
        for offer in offers {
            // Without a sub-type there is nothing to compare with.
            let lot = if let Terms::Special(terms) = &offer.quote.terms { terms.lot } else { None };
            if lot.is_none() || !lots.contains(&lot) {
                lots.push(lot);
                self.place(offer);
            }
        }
    }

    /// Puts an offer where its score says.
    fn place(&mut self, offer: Offer) {
        let array = &mut self.arrays[array_of(&offer.quote.terms)];
        let before = |other: &Offer| {
            other.quote.score > offer.quote.score
                || (other.quote.score == offer.quote.score && other.number < offer.number)
        };
        let position = array.partition_point(before);
        array.insert(position, offer);
    }

    /// Its head.
    pub fn head(&self) -> &Arc<TableHead> {
        &self.head
    }

    /// Its seats, in the order of the head.
    pub fn seats(&self) -> &[Arc<SeatTemplate>] {
        &self.seats
    }

    /// Where its seats stand.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Lets a held seat be asked.
    ///
    /// # Errors
    /// [`IllegalTransition`] when the seat is not held.
    pub fn release(&mut self, seat: usize) -> Result<(), IllegalTransition> {
        self.progress.apply(Event::Released { seat })
    }

    /// Answers so far: the version of what is shown.
    pub fn answers(&self) -> u32 {
        self.answers
    }

    /// Offers shown so far.
    pub fn offers(&self) -> usize {
        self.arrays.iter().map(Vec::len).sum()
    }

    /// An offer by its number, if it is shown: its seat and its quote.
    pub fn offer(&self, number: u16) -> Option<(&Arc<SeatTemplate>, &Quote)> {
        let offer = self.arrays.iter().flatten().find(|offer| offer.number == number)?;
        Some((&self.seats[usize::from(offer.seat)], &offer.quote))
    }

    /// The numbers of the offers that are shown.
    pub fn numbers(&self) -> impl Iterator<Item = u16> {
        self.arrays.iter().flatten().map(|offer| offer.number)
    }

    /// Every offer that is shown: its seat and its quote.
    pub fn shown(&self) -> impl Iterator<Item = (&Arc<SeatTemplate>, &Quote)> {
        let offers = self.arrays.iter().flatten();
        offers.map(|offer| (&self.seats[usize::from(offer.seat)], &offer.quote))
    }

    /// The offers that are shown, by array, in the order of the specification and of their rank.
    pub fn arrays(&self) -> impl Iterator<Item = (&'static str, &[Offer])> {
        ARRAYS.into_iter().zip(self.arrays.iter().map(Vec::as_slice))
    }
}
