//! Why a partner, and each of its offers, does or does not answer a lead.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::book::Book;
use super::catalog::CatalogOffer;
use super::displaced::displaced;
use super::facts::Facts;
use super::partner::Seat;
use super::quote::Quote;
use crate::model::ProductType;

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
    /// Whether the lead asks for the product type at all; else there is nothing more to tell.
    pub wanted: bool,
    /// Every offer; of a seat that is not asked, with what else is against it.
    pub offers: Vec<OfferExplanation<'a>>,
}

/// What becomes of one offer.
#[derive(Debug)]
pub struct OfferExplanation<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it quotes, or why it does not; nothing where the partner, who lives elsewhere, is asked for its terms.
    pub outcome: Result<Option<Quote>, Vec<Refusal>>,
}

/// One reason against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The attribute or derived name that a condition is about; `None` when it is no condition on the lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// What is wanted.
    pub wanted: String,
    /// What was found instead; never a personal value.
    pub found: String,
}

impl Refusal {
    /// A reason that is no condition on the lead.
    pub fn new(wanted: impl Into<String>, found: impl Into<String>) -> Self {
        Self { attribute: None, wanted: wanted.into(), found: found.into() }
    }
}

impl Seat {
    /// Whether it lives elsewhere and is not sent a lead, since no answer of it could be shown.
    pub fn fits_nothing(&self, facts: &Facts) -> bool {
        self.http.is_some() && !self.offers.iter().any(|offer| offer.rule.holds(facts))
    }
}

/// Explains a lead against the whole book, by walking the rules one by one, as of a moment; without one no schedule is
/// kept, as of test leads. `counted` tells what counts against a seat that no file says: a cap, a budget, a pause.
pub fn explain<'a>(
    book: &'a Book,
    facts: &Facts,
    at: Option<DateTime<Utc>>,
    counted: &dyn Fn(&Seat) -> Option<Refusal>,
) -> Explanation<'a> {
    let against = book.seats().iter().map(|seat| against(seat, facts, at, counted));
    let mut against: Vec<Vec<Refusal>> = against.collect();
    leave_to_the_exclusive(book, facts, &mut against);
    let seats = book.seats().iter().zip(against).map(|(seat, against)| of_seat(seat, facts, against));
    Explanation { seats: seats.collect() }
}

/// Seats that are asked together leave the lead to an exclusive one.
fn leave_to_the_exclusive(book: &Book, facts: &Facts, against: &mut [Vec<Refusal>]) {
    let seats: Vec<&Seat> = book.seats().iter().map(|seat| &**seat).collect();
    let waits = |seat: &Seat| seat.second_look && facts.lead().asks_for(ProductType::Loan);
    for waiting in [false, true] {
        let asked = |nth: usize| against[nth].is_empty() && waits(seats[nth]) == waiting;
        for (displaced, by) in displaced(&seats, asked) {
            let wanted = "no exclusive partner that takes the lead";
            against[displaced].push(Refusal::new(wanted, &seats[by].identity.key));
        }
    }
}

/// Why a seat is not asked, as far as no other seat is the reason.
fn against(
    seat: &Seat,
    facts: &Facts,
    at: Option<DateTime<Utc>>,
    counted: &dyn Fn(&Seat) -> Option<Refusal>,
) -> Vec<Refusal> {
    let wanted = facts.lead().asks_for(seat.product_type);
    let mut against_seat = Vec::new();
    if seat.paused {
        against_seat.push(Refusal::new("not paused", "paused in its file"));
    }
    if let Some(at) = at.filter(|at| !seat.limits.open_at(*at)) {
        let opens = seat.limits.next_change(at);
        let opens = opens.map(|opens| format!("closed until {}", opens.format("%Y-%m-%d %H:%M UTC")));
        let wanted = format!("hours of its schedule in {}", seat.limits.time_zone);
        against_seat.push(Refusal::new(wanted, opens.unwrap_or_else(|| "closed".to_owned())));
    }
    against_seat.extend(counted(seat));
    if wanted {
        let unmet = refusals(&seat.rule, facts);
        if unmet.is_empty() && seat.fits_nothing(facts) {
            against_seat.push(Refusal::new("an offer of its file that is for the lead", "none is"));
        }
        against_seat.extend(unmet);
    } else {
        let asked_for = facts.lead().product_types.iter().flatten();
        let names: Vec<&str> = asked_for.map(|product| product.as_str()).collect();
        let asks = format!("a lead that asks for {}", seat.product_type);
        against_seat.push(Refusal::new(asks, names.join(", ")));
    }
    against_seat
}

fn of_seat<'a>(seat: &'a Seat, facts: &Facts, against_seat: Vec<Refusal>) -> SeatExplanation<'a> {
    let wanted = facts.lead().asks_for(seat.product_type);
    let offers = if wanted { &seat.offers[..] } else { &[] };
    let offers = offers.iter().map(|offer| OfferExplanation {
        name: &offer.name,
        outcome: of_offer(seat, offer, &against_seat, facts),
    });
    SeatExplanation { seat, wanted, offers: offers.collect(), refusals: against_seat }
}

/// What an offer quotes, or what is against it beside what is against its seat.
fn of_offer(
    seat: &Seat,
    offer: &CatalogOffer,
    against_seat: &[Refusal],
    facts: &Facts,
) -> Result<Option<Quote>, Vec<Refusal>> {
    let mut against = refusals(&offer.rule, facts);
    if against.is_empty() && against_seat.is_empty() {
        if seat.http.is_some() {
            return Ok(None);
        }
        return offer.quote(facts).map(Some).map_err(|_| vec![no_band()]);
    }
    against.retain(|refusal| !against_seat.contains(refusal));
    Err(against)
}

fn refusals(rule: &super::eligibility::Rule, facts: &Facts) -> Vec<Refusal> {
    let failures = rule.failures(facts).into_iter();
    failures
        .map(|condition| Refusal {
            attribute: Some(condition.subject.path().to_owned()),
            wanted: condition.to_string(),
            found: condition.found(facts),
        })
        .collect()
}

fn no_band() -> Refusal {
    Refusal::new("a band of terms for this rating, amount and term", "none fits")
}
