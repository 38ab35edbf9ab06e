//! Why a partner, and each of its offers, does or does not answer a lead.

use super::book::Book;
use super::facts::Facts;
use super::partner::Seat;
use super::quote::Quote;

/// What the book says of one lead, seat by seat.
#[derive(Debug)]
pub struct Explanation<'a> {
    /// Every seat of the book.
    pub seats: Vec<SeatExplanation<'a>>,
}

/// What becomes of one seat.
#[derive(Debug)]
pub struct SeatExplanation<'a> {
    /// The seat.
    pub seat: &'a Seat,
    /// Why it is not asked; empty when it is.
    pub refusals: Vec<Refusal>,
    /// Every offer; empty when the seat is not asked.
    pub offers: Vec<OfferExplanation<'a>>,
}

/// What becomes of one offer.
#[derive(Debug)]
pub struct OfferExplanation<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it quotes, or why it does not.
    pub outcome: Result<Quote, Vec<Refusal>>,
}

/// One reason against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wanted.
    pub wanted: String,
    /// What was found instead; never a personal value.
    pub found: String,
}

/// Explains a lead against the whole book, by walking the rules one by one.
pub fn explain<'a>(book: &'a Book, facts: &Facts) -> Explanation<'a> {
    Explanation { seats: book.seats().iter().map(|seat| of_seat(seat, facts)).collect() }
}

fn of_seat<'a>(seat: &'a Seat, facts: &Facts) -> SeatExplanation<'a> {
    if seat.paused {
        let paused = Refusal { wanted: "not paused".to_owned(), found: "paused in its file".to_owned() };
        return SeatExplanation { seat, refusals: vec![paused], offers: Vec::new() };
    }
    let against_seat = refusals(&seat.rule, facts);
    let offers = if against_seat.is_empty() { &seat.offers[..] } else { &[] };
    let offers = offers.iter().map(|offer| OfferExplanation {
        name: &offer.name,
        outcome: match refusals(&offer.rule, facts) {
            against if against.is_empty() => offer.quote(facts).map_err(|_| vec![no_band()]),
            against => Err(against),
        },
    });
    SeatExplanation { seat, offers: offers.collect(), refusals: against_seat }
}

fn refusals(rule: &super::eligibility::Rule, facts: &Facts) -> Vec<Refusal> {
    let failures = rule.failures(facts).into_iter();
    failures
        .map(|condition| Refusal { wanted: condition.to_string(), found: condition.found(facts) })
        .collect()
}

fn no_band() -> Refusal {
    Refusal {
        wanted: "a band of terms for this rating, amount and term".to_owned(),
        found: "none fits".to_owned(),
    }
}
