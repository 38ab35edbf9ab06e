//! The seating plan: which of the seats that a lead fits have a place at its table. One plan for tables that are made, for those
//! that are replayed and for leads that are only judged, so that they cannot differ.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::denied::Denied;
use super::progress::Standing;
use offerd_partners::displaced::displaced;
use offerd_partners::{Fit, Seat};

/// Whether a seat is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Asked,
    /// It is not, for this reason; `None` since as many others are as may be.
    KeptOut(Option<Denied>),
}

/// Whether each of the seats that would be asked together about a lead is asked, `most` at most. Who is `denied` is not, an exclusive
/// seat is asked alone, and of the rest those have a place who come first by `precedence`.
pub fn verdicts(seats: &[&Seat], most: usize, lead: Uuid, mut denied: Vec<Option<Denied>>) -> Vec<Verdict> {
    for (seat, _) in displaced(seats, |nth| denied[nth].is_none()) {
        denied[seat] = Some(Denied::Exclusive);
    }
    let mut verdicts: Vec<Verdict> = denied.iter().map(|denied| Verdict::KeptOut(*denied)).collect();
    let wanting: Vec<usize> = (0..seats.len()).filter(|nth| denied[*nth].is_none()).collect();
    for nth in precedence(wanting, |nth| seats[nth], most, lead).into_iter().take(most) {
        verdicts[nth] = Verdict::Asked;
    }
    verdicts
}

/// What a seat's file has against a lead at a moment: its schedule, its days, its share.
pub fn denied_by_file(seat: &Seat, lead: Option<Uuid>, at: DateTime<Utc>) -> impl Iterator<Item = Denied> {
    let all = [
        (!seat.limits.open_at(at), Denied::Schedule),
        (!seat.limits.runs_at(at), Denied::Dates),
        (lead.is_some_and(|lead| !seat.is_in_share(lead)), Denied::Share),
    ];
    all.into_iter().filter(|(is_against, _)| *is_against).map(|(_, denied)| denied)
}

/// Who comes first where `most` places are too few: by priority, and among the same by a draw in which weights count; who has no
/// weight there has 1, and where nobody has one they stay in their order.
fn precedence<'s>(
    wanting: Vec<usize>,
    seat: impl Fn(usize) -> &'s Seat,
    most: usize,
    lead: Uuid,
) -> Vec<usize> {
    if wanting.len() <= most {
        return wanting;
    }
    let weighed: BTreeSet<i32> =
        wanting.iter().map(|nth| seat(*nth)).filter_map(|seat| seat.weight.map(|_| seat.priority)).collect();
    // The first of exponential draws is each of them as often as its rate is a part of all rates.
    let drawn = |seat: &Seat| -(1.0 - seat.draw("weight", lead)).ln() / seat.weight.unwrap_or(1.0);
    let place = |nth: &usize| {
        let seat = seat(*nth);
        (seat.priority, if weighed.contains(&seat.priority) { drawn(seat) } else { 0.0 })
    };
    let mut placed: Vec<((i32, f64), usize)> = wanting.into_iter().map(|nth| (place(&nth), nth)).collect();
    placed.sort_by(|((one, drawn), _), ((other, other_drawn), _)| {
        other.cmp(one).then_with(|| drawn.total_cmp(other_drawn))
    });
    placed.into_iter().map(|(_, nth)| nth).collect()
}

/// The places at a table.
#[derive(Debug)]
pub struct SeatingPlan {
    /// Those who are asked or held, in the order of the book.
    pub fits: Vec<Fit>,
    /// Those who have no place although the lead fits them, with what keeps them out; nothing where no place is left.
    pub kept_out: Vec<(Fit, Option<Denied>)>,
}

impl SeatingPlan {
    /// Seats those who fit a `lead`, `most` at most. `judge` gives the verdict on those who would be asked at once; held ones get
    /// the places that are left, since what keeps them out is known when second look begins.
    pub fn new(
        fits: Vec<Fit>,
        wants_loans: bool,
        most: usize,
        lead: Uuid,
        judge: impl FnOnce(&[&Seat]) -> Vec<Verdict>,
    ) -> Self {
        let at_once = |fit: &Fit| Standing::at_start(fit.seat.second_look, wants_loans) == Standing::Asked;
        let (first, held): (Vec<Fit>, Vec<Fit>) = fits.into_iter().partition(at_once);
        let verdicts = judge(&first.iter().map(|fit| &*fit.seat).collect::<Vec<_>>());
        let (mut fits, mut kept_out) = (Vec::with_capacity(first.len()), Vec::new());
        for (fit, verdict) in first.into_iter().zip(verdicts) {
            match verdict {
                Verdict::Asked => fits.push(fit),
                Verdict::KeptOut(by) => kept_out.push((fit, by)),
            }
        }

        let room = most.saturating_sub(fits.len());
        let placed = precedence((0..held.len()).collect(), |nth| &held[nth].seat, room, lead);
        let placed: BTreeSet<usize> = placed.into_iter().take(room).collect();
        for (nth, fit) in held.into_iter().enumerate() {
            if placed.contains(&nth) {
                fits.push(fit);
            } else {
                kept_out.push((fit, None));
            }
        }
        fits.sort_by_key(|fit| fit.position);
        Self { fits, kept_out }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::partner_files::partner;
    use offerd_partners::Book;

    /// A book of seats, `a` and those after it, each with such keys.
    fn book(products: &[&str]) -> Book {
        let files = products.iter().zip('a'..).map(|(product, key)| {
            let file = partner(&key.to_string()).savings(product);
            (PathBuf::from(format!("{key}.toml")), file.text())
        });
        Book::from_texts(files).unwrap()
    }

    /// The keys of those who are asked.
    fn asked(book: &Book, most: usize, lead: u128) -> String {
        let seats: Vec<&Seat> = book.seats().iter().map(|seat| &**seat).collect();
        let verdicts = verdicts(&seats, most, Uuid::from_u128(lead), vec![None; seats.len()]);
        let asked = seats.iter().zip(verdicts).filter(|(_, verdict)| *verdict == Verdict::Asked);
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
        // Six standard deviations to either side.
        assert!(of_b.abs_diff(3000) < 165, "{of_b}");
        assert_eq!(asked(&book, 2, 7), asked(&book, 2, 7));
    }
}
