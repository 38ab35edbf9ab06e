//! The seating plan: which seats have a place. Live tables, replays and lead checks share this code.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::progress::SeatPhase;
use super::reason::Denied;
use offerd_partners::displaced;
use offerd_partners::{Fit, Seat};

/// Whether a seat has a place at the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The seat has a place.
    Seated,
    /// The seat has none, for this reason; `None` when the table is full.
    NotSeated(Option<Denied>),
}

/// The verdict on seats to ask together: an exclusive one is asked alone, the rest get `most` places.
pub fn verdicts(seats: &[&Seat], most: usize, lead: Uuid, mut denied: Vec<Option<Denied>>) -> Vec<Verdict> {
    for (seat, _) in displaced(seats, |nth| denied[nth].is_none()) {
        denied[seat] = Some(Denied::Exclusive);
    }
    let mut verdicts: Vec<Verdict> = denied.iter().map(|denied| Verdict::NotSeated(*denied)).collect();
    let wanting: Vec<usize> = (0..seats.len()).filter(|nth| denied[*nth].is_none()).collect();
    for nth in precedence(wanting, |nth| seats[nth], most, lead).into_iter().take(most) {
        verdicts[nth] = Verdict::Seated;
    }
    verdicts
}

/// The reasons in a seat's file against a lead at a given time: schedule, dates, share.
pub fn denied_by_file(seat: &Seat, lead: Option<Uuid>, at: DateTime<Utc>) -> impl Iterator<Item = Denied> {
    let all = [
        (!seat.limits.open_at(at), Denied::Schedule),
        (!seat.limits.runs_at(at), Denied::Dates),
        (lead.is_some_and(|lead| !seat.is_in_share(lead)), Denied::Share),
    ];
    all.into_iter().filter(|(is_against, _)| *is_against).map(|(_, denied)| denied)
}

/// The order in which seats get places when `most` is too few: by priority, then by a weighted draw among
/// equals. A seat without a weight counts 1; where none has a weight, the order stays.
fn precedence<'s>(all: Vec<usize>, seat: impl Fn(usize) -> &'s Seat, most: usize, lead: Uuid) -> Vec<usize> {
    if all.len() <= most {
        return all;
    }
    let weighed = all.iter().map(|nth| seat(*nth)).filter(|seat| seat.weight.is_some());
    let weighed: BTreeSet<i32> = weighed.map(|seat| seat.priority).collect();
    // The smallest of exponential draws is each seat with probability rate / sum of rates.
    let drawn = |seat: &Seat| -(1.0 - seat.draw("weight", lead)).ln() / seat.weight.unwrap_or(1.0);
    let place = |nth: &usize| {
        let seat = seat(*nth);
        (seat.priority, if weighed.contains(&seat.priority) { drawn(seat) } else { 0.0 })
    };
    let mut placed: Vec<((i32, f64), usize)> = all.into_iter().map(|nth| (place(&nth), nth)).collect();
    placed.sort_by(|((one, drawn), _), ((two, drawn_two), _)| two.cmp(one).then(drawn.total_cmp(drawn_two)));
    placed.into_iter().map(|(_, nth)| nth).collect()
}

/// The places at a table.
#[derive(Debug)]
pub struct SeatingPlan {
    /// The asked and held seats, in the order of the book.
    pub fits: Vec<Fit>,
    /// The seats that fit but have no place, with what denied it; `None` when the table is full.
    pub not_seated: Vec<(Fit, Option<Denied>)>,
}

impl SeatingPlan {
    /// Assigns at most `most` places to the seats that fit a `lead`. `judge` decides on those to ask at once.
    /// Held seats get the remaining places; their limits are checked when second look starts.
    pub fn new(
        fits: Vec<Fit>,
        wants_loans: bool,
        most: usize,
        lead: Uuid,
        judge: impl FnOnce(&[&Seat]) -> Vec<Verdict>,
    ) -> Self {
        let at_once = |fit: &Fit| SeatPhase::at_start(fit.seat.second_look, wants_loans) == SeatPhase::Asked;
        let (first, held): (Vec<Fit>, Vec<Fit>) = fits.into_iter().partition(at_once);
        let verdicts = judge(&first.iter().map(|fit| &*fit.seat).collect::<Vec<_>>());
        let room = most.saturating_sub(verdicts.iter().filter(|one| **one == Verdict::Seated).count());
        let placed = precedence((0..held.len()).collect(), |nth| &held[nth].seat, room, lead);
        let placed: BTreeSet<usize> = placed.into_iter().take(room).collect();
        let held = held.into_iter().enumerate().map(|(nth, fit)| {
            (fit, if placed.contains(&nth) { Verdict::Seated } else { Verdict::NotSeated(None) })
        });

        let (mut fits, mut not_seated) = (Vec::with_capacity(first.len()), Vec::new());
        for (fit, verdict) in first.into_iter().zip(verdicts).chain(held) {
            match verdict {
                Verdict::Seated => fits.push(fit),
                Verdict::NotSeated(by) => not_seated.push((fit, by)),
            }
        }
        fits.sort_by_key(|fit| fit.position);
        Self { fits, not_seated }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::partner_files::partner;
    use offerd_partners::Book;

    /// A book of seats keyed `a`, `b`, …, each with these settings.
    fn book(products: &[&str]) -> Book {
        let files = products.iter().zip('a'..).map(|(product, key)| {
            let file = partner(&key.to_string()).savings(product);
            (PathBuf::from(format!("{key}.toml")), file.text())
        });
        Book::from_texts(files).unwrap()
    }

    fn asked(book: &Book, most: usize, lead: u128) -> String {
        let seats: Vec<&Seat> = book.seats().iter().map(|seat| &**seat).collect();
        let verdicts = verdicts(&seats, most, Uuid::from_u128(lead), vec![None; seats.len()]);
        let asked = seats.iter().zip(verdicts).filter(|(_, verdict)| *verdict == Verdict::Seated);
        asked.map(|(seat, _)| seat.identity.key.as_str()).collect()
    }

    #[test]
    fn where_there_is_no_room_for_all_the_higher_priority_is_asked_and_then_the_first_by_key() {
        let book = book(&["priority = -1", "", "", "priority = 5"]);
        let all: Vec<String> = (0..=5).map(|most| asked(&book, most, 1)).collect();
        assert_eq!(all, ["", "d", "bd", "bcd", "abcd", "abcd"]);
    }

    #[test]
    fn among_the_same_priority_weights_are_odds_and_a_lead_draws_the_same_each_time() {
        let book = book(&["weight = 1", "weight = 3", "priority = 1"]);
        let leads = 0..4000_u128;
        let of_b = leads.clone().filter(|lead| asked(&book, 2, *lead) == "bc").count();
        let of_a = leads.filter(|lead| asked(&book, 2, *lead) == "ac").count();
        assert_eq!(of_a + of_b, 4000);
        // Six standard deviations either way.
        assert!(of_b.abs_diff(3000) < 165, "{of_b}");
        assert_eq!(asked(&book, 2, 7), asked(&book, 2, 7));
    }
}
