//! The content of a rate table: answers folded over its head. Each array is sorted by `recommendationScore`,
//! highest first; equal scores stay in the order of arrival, then of the partner's file.

use std::sync::Arc;

use super::outcome::Outcome;
use super::progress::{IllegalTransition, SeatEvent, TableProgress};
use super::record::{MAX_OFFERS, SeatOutcome, TableHead};
use offerd_partners::{Quote, QuoteTerms, RecordedSeat};

/// A rate table at some point of its life.
#[derive(Debug, Clone)]
pub struct Table {
    head: Arc<TableHead>,
    seats: Arc<[Arc<RecordedSeat>]>,
    progress: TableProgress,
    arrays: [Vec<NumberedOffer>; ARRAYS.len()],
    /// Offers of second-look partners, until the last of those has answered.
    second_look_offers: Vec<NumberedOffer>,
    last_number: u16,
    answers: u32,
}

/// A numbered offer.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberedOffer {
    /// The offer's number in the table, from 1.
    pub number: u16,
    /// Position of the seat.
    pub seat: u16,
    /// The quote.
    pub quote: Quote,
}

const ARRAYS: [&str; 5] =
    ["creditCardOffers", "loanOffers", "mortgageOffers", "savingsOffers", "specialOffers"];

fn array_of(terms: &QuoteTerms) -> usize {
    match terms {
        QuoteTerms::Card(_) => 0,
        QuoteTerms::Loan(_) => 1,
        QuoteTerms::Mortgage(_) => 2,
        QuoteTerms::Savings(_) => 3,
        QuoteTerms::Special(_) => 4,
    }
}

impl Table {
    /// A table without answers. `seats` are those of the head, in the same order.
    pub fn new(head: Arc<TableHead>, seats: Vec<Arc<RecordedSeat>>) -> Self {
        debug_assert_eq!(head.seats.len(), seats.len());
        let places = seats.iter().map(|seat| (seat.product_type, seat.second_look));
        let progress = TableProgress::start(places, head.wants_loans);
        let (arrays, second_look_offers) = Default::default();
        Self { progress, head, seats: seats.into(), arrays, second_look_offers, last_number: 0, answers: 0 }
    }

    /// Applies an answer.
    ///
    /// # Errors
    /// [`IllegalTransition`], with nothing changed, when the seat already has its outcome.
    pub fn apply(&mut self, answer: &SeatOutcome) -> Result<(), IllegalTransition> {
        let seat = usize::from(answer.seat);
        let quotes = answer.outcome.quotes();
        let had_ended = self.progress.all_ended();
        self.progress.apply(SeatEvent::Ended { seat, offers: !quotes.is_empty() })?;
        // Invariant (S2): a table without pending responses never changes.
        debug_assert!(!had_ended);

        self.answers += 1;
        let second_look = self.seats[seat].second_look;
        for quote in quotes {
            // Invariant: `cut_to_fit` limits the numbers.
            debug_assert!(self.last_number < MAX_OFFERS);
            self.last_number += 1;
            let offer = NumberedOffer { number: self.last_number, seat: answer.seat, quote: quote.clone() };
            if second_look {
                self.second_look_offers.push(offer);
            } else {
                self.place(offer);
            }
        }
        if second_look {
            self.place_best_of_second_look();
        }
        Ok(())
    }

    /// Removes the offers of upcoming answers that exceed the table's numbers; returns how many were cut.
    pub fn cut_to_fit(&self, answers: &mut [SeatOutcome]) -> usize {
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

    /// After the last second-look answer, shows the best offer of each product sub-type.
    fn place_best_of_second_look(&mut self) {
        if self.progress.pending().any(|seat| self.seats[seat].second_look) {
            return;
        }
        let mut offers = std::mem::take(&mut self.second_look_offers);
        offers.sort_by(|a, b| b.quote.score.total_cmp(&a.quote.score).then(a.number.cmp(&b.number)));
        let mut shown = Vec::new();
        for offer in offers {
            // An offer without a sub-type has no competitors.
            let competes_as =
                if let QuoteTerms::Special(terms) = &offer.quote.terms { terms.competes_as } else { None };
            if competes_as.is_none() || !shown.contains(&competes_as) {
                shown.push(competes_as);
                self.place(offer);
            }
        }
    }

    fn place(&mut self, offer: NumberedOffer) {
        let array = &mut self.arrays[array_of(&offer.quote.terms)];
        let before = |other: &NumberedOffer| {
            other.quote.score > offer.quote.score
                || (other.quote.score == offer.quote.score && other.number < offer.number)
        };
        array.insert(array.partition_point(before), offer);
    }

    /// The table's head.
    pub fn head(&self) -> &Arc<TableHead> {
        &self.head
    }

    /// The table's seats, in the order of the head.
    pub fn seats(&self) -> &[Arc<RecordedSeat>] {
        &self.seats
    }

    /// The states of the seats.
    pub fn progress(&self) -> &TableProgress {
        &self.progress
    }

    /// Releases a held seat to be asked.
    ///
    /// # Errors
    /// [`IllegalTransition`] when the seat is not held.
    pub fn release(&mut self, seat: usize) -> Result<(), IllegalTransition> {
        self.progress.apply(SeatEvent::Released { seat })
    }

    /// Answers so far; serves as the version of the shown table.
    pub fn answers(&self) -> u32 {
        self.answers
    }

    /// Offers shown so far.
    pub fn offers(&self) -> usize {
        self.arrays.iter().map(Vec::len).sum()
    }

    /// A shown offer by its number, with its seat.
    pub fn offer(&self, number: u16) -> Option<(&Arc<RecordedSeat>, &Quote)> {
        let offer = self.arrays.iter().flatten().find(|offer| offer.number == number)?;
        Some((&self.seats[usize::from(offer.seat)], &offer.quote))
    }

    /// The numbers of the shown offers.
    pub fn numbers(&self) -> impl Iterator<Item = u16> {
        self.arrays.iter().flatten().map(|offer| offer.number)
    }

    /// Every shown offer with its seat.
    pub fn shown(&self) -> impl Iterator<Item = (&Arc<RecordedSeat>, &Quote)> {
        self.arrays.iter().flatten().map(|offer| (&self.seats[usize::from(offer.seat)], &offer.quote))
    }

    /// The shown offers by array, in the order of the specification and of rank.
    pub fn arrays(&self) -> impl Iterator<Item = (&'static str, &[NumberedOffer])> {
        ARRAYS.into_iter().zip(self.arrays.iter().map(Vec::as_slice))
    }
}
