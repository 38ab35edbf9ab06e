//! Why a partner, and each of its offers, does or does not answer a lead.

use super::book::Book;
use super::catalog::CatalogOffer;
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
    let asked_for = facts.lead().product_types.as_deref().unwrap_or_default();
    let wanted = asked_for.is_empty() || asked_for.contains(&seat.product_type);
    let mut against_seat = Vec::new();
    if seat.paused {
        against_seat
            .push(Refusal { wanted: "not paused".to_owned(), found: "paused in its file".to_owned() });
    }
    if wanted {
        against_seat.extend(refusals(&seat.rule, facts));
    } else {
        let names: Vec<&str> = asked_for.iter().map(|product| product.as_str()).collect();
        let asks = format!("a lead that asks for {}", seat.product_type);
        against_seat.push(Refusal { wanted: asks, found: names.join(", ") });
    }
    let offers = if wanted { &seat.offers[..] } else { &[] };
    let offers = offers
        .iter()
        .map(|offer| OfferExplanation { name: &offer.name, outcome: of_offer(offer, &against_seat, facts) });
    SeatExplanation { seat, wanted, offers: offers.collect(), refusals: against_seat }
}

/// What an offer quotes, or what is against it beside what is against its seat.
fn of_offer(offer: &CatalogOffer, against_seat: &[Refusal], facts: &Facts) -> Result<Quote, Vec<Refusal>> {
    let mut against = refusals(&offer.rule, facts);
    if against.is_empty() && against_seat.is_empty() {
        return offer.quote(facts).map_err(|_| vec![no_band()]);
    }
    against.retain(|refusal| !against_seat.contains(refusal));
    Err(against)
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
