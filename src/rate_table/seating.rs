//! The seating plan: which of the seats that a lead fits have a place at its table. One plan for tables that are made, for those
//! that are replayed and for leads that are only judged, so that they cannot differ.

use super::denied::Denied;
use super::progress::Standing;
use crate::partners::displaced::displaced;
use crate::partners::{Fit, Seat};

/// Whether a seat is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Asked,
    /// It is not, for this reason; `None` since as many others are as may be.
    KeptOut(Option<Denied>),
}

/// Whether each of the seats that would be asked together is asked, `most` at most. Who is `denied` is not, an exclusive seat is
/// asked alone, and of the rest the first have a place.
pub fn verdicts(seats: &[&Seat], most: usize, denied: impl FnMut(&Seat) -> Option<Denied>) -> Vec<Verdict> {
    let mut denied: Vec<Option<Denied>> = seats.iter().copied().map(denied).collect();
    for (seat, _) in displaced(seats, |nth| denied[nth].is_none()) {
        denied[seat] = Some(Denied::Exclusive);
    }
    let mut left = most;
    let mut verdict = |denied: Option<Denied>| match denied {
        Some(_) => Verdict::KeptOut(denied),
        None if left == 0 => Verdict::KeptOut(None),
        None => {
            left -= 1;
            Verdict::Asked
        }
    };
    denied.into_iter().map(&mut verdict).collect()
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
    /// Seats those who fit a lead, `most` at most. `judge` gives the verdict on those who would be asked at once; held ones get
    /// the places that are left, since what keeps them out is known when second look begins.
    pub fn new(
        fits: Vec<Fit>,
        wants_loans: bool,
        most: usize,
        judge: impl FnOnce(&[&Seat]) -> Vec<Verdict>,
    ) -> Self {
        let at_once = |fit: &Fit| Standing::at_start(fit.seat.second_look, wants_loans) == Standing::Asked;
        let (first, mut held): (Vec<Fit>, Vec<Fit>) = fits.into_iter().partition(at_once);
        let verdicts = judge(&first.iter().map(|fit| &*fit.seat).collect::<Vec<_>>());
        let (mut fits, mut kept_out) = (Vec::with_capacity(first.len()), Vec::new());
        for (fit, verdict) in first.into_iter().zip(verdicts) {
            match verdict {
                Verdict::Asked => fits.push(fit),
                Verdict::KeptOut(by) => kept_out.push((fit, by)),
            }
        }

        let room = most.saturating_sub(fits.len());
        kept_out.extend(held.drain(room.min(held.len())..).map(|fit| (fit, None)));
        fits.extend(held);
        fits.sort_by_key(|fit| fit.position);
        Self { fits, kept_out }
    }
}
