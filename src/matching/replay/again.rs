//! A stored rate table once more, with other partner files, as far as that can be known without asking anyone.
//!
//! The same machine folds it, second look and its auction included. What a catalog prices is priced anew. A partner that
//! is asked over HTTP is taken to answer as it did then; one that was not asked then, to have nothing. An ask that
//! failed, or that the lead's `sandbox` tag decided, ends as it did. Who was out of room, over a cap or a budget, or paused
//! from the command line then, still is; schedules and exclusive partners are judged by the files.

use std::sync::Arc;

use chrono::DateTime;

use super::report::{Place, Told};
use crate::matching::partner_actor::highest;
use crate::matching::trigger::Trigger;
use crate::model::ProductType;
use crate::partners::displaced::displaced;
use crate::partners::{Book, Facts, Fit, Quote, Seat};
use crate::rate_table::asks::Asks;
use crate::rate_table::denied::Denied;
use crate::rate_table::outcome::{NoOfferReason, Outcome};
use crate::rate_table::progress::{Due, Standing};
use crate::rate_table::record::{Answer, TableHead};
use crate::rate_table::table::Table;
use crate::store::entities::LeadRecord;

/// What the store has of a table.
pub struct Stored<'a> {
    /// The lead.
    pub record: &'a LeadRecord,
    /// The table, complete.
    pub table: &'a Table,
    /// Its answers.
    pub answers: &'a [Answer],
    /// Whom second look asked.
    pub asks: &'a Asks,
    /// Whom limits kept out when it was made.
    pub kept_out: &'a [(Place, Option<Denied>)],
}

/// The most that a table may have.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// Seats.
    pub seats: usize,
    /// Offers of one answer.
    pub offers: usize,
}

impl Stored<'_> {
    /// Who was asked then. Offers are told by whoever knows their names.
    pub fn asked(&self) -> impl Iterator<Item = Place> {
        let asked = self.answers.iter().filter(|answer| was_asked(&answer.outcome));
        asked.map(|answer| {
            let seat = &self.table.seats()[usize::from(answer.seat)];
            (seat.key.clone(), seat.product_type)
        })
    }

    /// The table as it would be with a book.
    pub fn again(&self, book: &Book, most: Most) -> Told {
        let head = self.table.head();
        let created_at = DateTime::from_timestamp_millis(head.created_at).unwrap_or_default();
        let facts = Facts::new(&self.record.lead, created_at.date_naive(), self.record.bands);
        let mut fits = book.fitting(&facts);
        fits.retain(|fit| {
            let open = head.test || fit.seat.limits.open_at(created_at);
            open && !self.was_kept_out(&fit.seat)
        });
        let waits = |fit: &Fit| Standing::at_start(fit.seat.second_look, head.wants_loans) == Standing::Held;
        leave_to_the_exclusive(&mut fits, |fit| !waits(fit));
        fits.sort_by_key(waits);
        fits.truncate(most.seats);

        let mut asked = Vec::new();
        let seats = fits.iter().map(|fit| Arc::clone(&fit.seat.known_as)).collect();
        let mut table = Table::new(Arc::new(anew(head, &fits)), seats);
        for nth in (0..fits.len()).filter(|nth| !waits(&fits[*nth])) {
            self.ask(&mut table, &mut asked, &facts, &fits[nth], nth, most);
        }
        if let Due::Release(held) = table.progress().due() {
            let waiting: Vec<&Seat> = held.iter().map(|nth| &*fits[*nth].seat).collect();
            let displaced = displaced(&waiting, |_| true);
            for (position, nth) in held.iter().enumerate() {
                if !displaced.iter().any(|(displaced, _)| *displaced == position) {
                    self.ask(&mut table, &mut asked, &facts, &fits[*nth], *nth, most);
                }
            }
        }
        // Those that are not asked would keep the auction of second look open.
        for nth in table.progress().pending().collect::<Vec<_>>() {
            take_in(&mut table, nth, Outcome::NoOffers(NoOfferReason::NotNeeded));
        }
        let name = |seat: &Place, quote: &Quote| name_in(&fits, seat, quote);
        let offers = table.shown().map(|(seat, quote)| {
            let place = (seat.key.clone(), seat.product_type);
            let name = name(&place, quote).unwrap_or_else(|| format!("{:?}", quote.text));
            (place, name, quote.clone())
        });
        Told { offers: offers.collect(), asked: asked.into_iter().collect() }
    }

    fn ask(
        &self,
        table: &mut Table,
        asked: &mut Vec<Place>,
        facts: &Facts,
        fit: &Fit,
        nth: usize,
        most: Most,
    ) {
        let outcome = self.outcome(facts, fit, most);
        if was_asked(&outcome) {
            asked.push((fit.seat.identity.key.clone(), fit.seat.product_type));
        }
        take_in(table, nth, outcome);
    }

    /// How an ask would end.
    fn outcome(&self, facts: &Facts, fit: &Fit, most: Most) -> Outcome {
        let (seat, test) = (&fit.seat, self.table.head().test);
        match test.then(|| Trigger::of(&self.record.lead, &seat.identity.key)).flatten() {
            Some(Trigger::Ends(outcome)) => return outcome,
            Some(Trigger::Silence) => return Outcome::TimedOut,
            Some(Trigger::Slow) | None => {}
        }
        let then = self.answer_of(&seat.identity.key, seat.product_type).map(|answer| &answer.outcome);
        match (then, &seat.http) {
            (Some(failed @ (Outcome::Failed(_) | Outcome::TimedOut)), _) => failed.clone(),
            (Some(Outcome::NoOffers(NoOfferReason::NoTime)), _) => Outcome::NoOffers(NoOfferReason::NoTime),
            (_, Some(http)) if test && !http.has_sandbox() => Outcome::NoOffers(NoOfferReason::NoSandbox),
            (Some(answered), Some(_)) if was_asked(answered) => answered.clone(),
            (_, Some(_)) => Outcome::NoOffers(NoOfferReason::Declined),
            (_, None) => {
                let quotes = fit.offers.iter().filter_map(|offer| seat.offers[*offer].quote(facts).ok());
                Outcome::Offers(highest(quotes.collect(), most.offers))
            }
        }
    }

    fn answer_of(&self, partner: &str, product_type: ProductType) -> Option<&Answer> {
        self.answers.iter().find(|answer| {
            let seat = &self.table.seats()[usize::from(answer.seat)];
            seat.key == partner && seat.product_type == product_type
        })
    }

    /// Whether something kept a seat out that no file says.
    fn was_kept_out(&self, seat: &Seat) -> bool {
        let is_seat =
            |partner: &str, product_type| partner == seat.identity.key && product_type == seat.product_type;
        let at_first =
            self.kept_out.iter().filter(|((partner, product_type), _)| is_seat(partner, *product_type));
        let held_back = self.asks.held_back.iter().filter(|(held, _)| {
            let seat = &self.table.seats()[usize::from(*held)];
            is_seat(&seat.key, seat.product_type)
        });
        let mut reasons = at_first.map(|(_, by)| *by).chain(held_back.map(|(_, by)| *by));
        reasons.any(|by| !matches!(by, Some(Denied::Schedule | Denied::Exclusive)))
    }
}

/// Whether an outcome is that of an ask.
fn was_asked(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::NoOffers(reason) => matches!(reason, NoOfferReason::Declined | NoOfferReason::Rejected(_)),
        Outcome::Offers(_) | Outcome::Failed(_) | Outcome::TimedOut => true,
    }
}

/// The head of a table of the same lead, with other seats.
fn anew(head: &TableHead, fits: &[Fit]) -> TableHead {
    let seats = fits.iter().map(|fit| fit.seat.text.fingerprint).collect();
    TableHead { seats, kept_out: Vec::new(), ..head.clone() }
}

/// Takes out, of those who are asked together, whom an exclusive one displaces.
fn leave_to_the_exclusive(fits: &mut Vec<Fit>, together: impl Fn(&Fit) -> bool) {
    let seats: Vec<&Seat> = fits.iter().map(|fit| &*fit.seat).collect();
    let displaced = displaced(&seats, |nth| together(&fits[nth]));
    let mut nth = 0;
    fits.retain(|_| {
        nth += 1;
        !displaced.iter().any(|(displaced, _)| *displaced == nth - 1)
    });
}

fn take_in(table: &mut Table, seat: usize, outcome: Outcome) {
    let mut answers = [Answer { seat: seat as u16, at: 0, outcome, cause: None }];
    table.cut_to_fit(&mut answers);
    let applied = table.apply(&answers[0]);
    debug_assert!(applied.is_ok(), "each seat is asked once");
}

/// The name of an offer in the files.
fn name_in(fits: &[Fit], (partner, product_type): &Place, quote: &Quote) -> Option<String> {
    let is_seat = |fit: &&Fit| fit.seat.identity.key == *partner && fit.seat.product_type == *product_type;
    let seat = &fits.iter().find(is_seat)?.seat;
    let offer = seat.offers.iter().find(|offer| offer.text.fingerprint == quote.text)?;
    Some(offer.name.clone())
}
