//! Recomputes a stored rate table with other partner files, without asking any partner.
//!
//! The same plan and machine make the table, including second look and its auction. Catalog offers are priced
//! anew. An HTTP partner is assumed to answer as it did, or without offers. An ask that failed, or that the
//! lead's `sandbox` tag decided, ends as it did; a seat out of room, over a cap or budget, paused by an operator
//! or suppressed still is. Variants of experiments and rankings stay as they were.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::report::{ReplayedSeat, TableOutcome};
use offerd_engine::matching::partner_actor::highest;
use offerd_engine::matching::trigger::Trigger;
use offerd_engine::rate_table::machine::{Effect, Machine, MachineStart, TableEvent};
use offerd_engine::rate_table::outcome::{NoOfferReason, Outcome};
use offerd_engine::rate_table::reason::Denied;
use offerd_engine::rate_table::record::{LaterDecisions, SeatOutcome, TableHead};
use offerd_engine::rate_table::seating::{SeatingPlan, denied_by_file, verdicts};
use offerd_engine::rate_table::table::Table;
use offerd_engine::rate_table::treatment::leaving_out;
use offerd_engine::records::reading;
use offerd_engine::records::templates::Templates;
use offerd_partners::ranking::Scorer;
use offerd_partners::{Book, Facts, Fit, Quote, RecordedSeat, Seat};
use offerd_store::entities::LeadRecord;

/// The stored records of a table.
pub struct Stored<'a> {
    /// The lead.
    pub record: &'a LeadRecord,
    /// The table, which must be complete.
    pub table: &'a Table,
    /// Its answers.
    pub answers: &'a [SeatOutcome],
    /// The decisions after its head.
    pub decisions: &'a LaterDecisions,
    /// The ranking of its offers, if one was in force.
    pub ranked_by: Option<Scorer>,
    /// The seats that fit but were not seated.
    pub not_seated: &'a [(Arc<RecordedSeat>, Option<Denied>)],
    /// The stored templates, which name the offers of HTTP partners whose declarations have changed.
    pub templates: &'a Templates,
}

/// The limits of a table.
#[derive(Debug, Clone, Copy)]
pub struct TableLimits {
    /// Seats.
    pub seats: usize,
    /// Offers of one answer.
    pub offers: usize,
}

impl Stored<'_> {
    /// The seats that were asked.
    pub fn asked(&self) -> impl Iterator<Item = ReplayedSeat> {
        let asked = self.answers.iter().filter(|answer| answer.outcome.was_asked());
        asked.map(|answer| seat_key(&self.table.seats()[usize::from(answer.seat)]))
    }

    /// The table's outcome with another book.
    pub fn again(&self, book: &Book, most: TableLimits) -> TableOutcome {
        let head = self.table.head();
        let created_at = DateTime::from_timestamp_millis(head.created_at).unwrap_or_default();
        let facts = reading::facts(self.record, created_at).ranked_by(self.ranked_by.as_ref());
        let judge = |seats: &[&Seat]| {
            let denied = seats.iter().map(|seat| self.denied(seat, created_at)).collect();
            verdicts(seats, most.seats, head.lead, denied)
        };
        let mut fits = book.fitting(&facts);
        fits.retain(|fit| leaving_out(&head.treatments, &fit.seat.recorded, head.wants_loans).is_none());
        let plan = SeatingPlan::new(fits, head.wants_loans, most.seats, head.lead, judge);

        let fits = plan.fits;
        let seats: Vec<_> = fits.iter().map(|fit| Arc::clone(&fit.seat.recorded)).collect();
        let (at_once, decisions) = (vec![true; seats.len()], LaterDecisions::default());
        let table = Table::new(Arc::new(anew(head, &fits)), seats);
        let mut machine = Machine::new(MachineStart { table, at_once, decisions, sequence: None });
        let at = head.created_at;
        let mut asked = Vec::new();
        while let Some(effect) = machine.poll(at) {
            match effect {
                Effect::Ask(seats) => {
                    for seat in seats {
                        let fit = &fits[seat];
                        let outcome = self.outcome(&facts, fit, most);
                        asked.extend(outcome.was_asked().then(|| seat_key(&fit.seat.recorded)));
                        machine.handle(TableEvent::Ended { seat, result: outcome.into(), at });
                    }
                }
                Effect::JudgeHeld(held) => {
                    let verdicts = judge(&held.iter().map(|seat| &*fits[*seat].seat).collect::<Vec<_>>());
                    let verdicts = held.into_iter().zip(verdicts).collect();
                    machine.handle(TableEvent::HeldJudged { at, verdicts });
                }
                Effect::Write => machine.handle(TableEvent::Written),
                Effect::GiveBack(_) | Effect::Show | Effect::Settle => {}
            }
        }
        let offers = machine.table().shown().map(|(seat, quote)| {
            let name = name_in(&fits, seat, quote).unwrap_or_else(|| self.templates.offer_name(quote.text));
            (seat_key(seat), name, quote.clone())
        });
        TableOutcome { offers: offers.collect(), asked: asked.into_iter().collect() }
    }

    /// What keeps a seat from being asked: its file's limits at that time, or else a reason recorded then.
    fn denied(&self, seat: &Seat, at: DateTime<Utc>) -> Option<Denied> {
        let is_live = !self.table.head().test;
        let mut by_file = denied_by_file(seat, Some(self.record.uuid), at).filter(|_| is_live);
        by_file.next().or_else(|| self.denied_then(seat))
    }

    fn outcome(&self, facts: &Facts, fit: &Fit, most: TableLimits) -> Outcome {
        let (seat, test) = (&fit.seat, self.table.head().test);
        match test.then(|| Trigger::of(&self.record.lead, &seat.identity.key)).flatten() {
            Some(Trigger::Ends(outcome)) => return outcome,
            Some(Trigger::Silence) => return Outcome::TimedOut,
            Some(Trigger::Slow) | None => {}
        }
        let mut answers = self.answers.iter().filter(|answer| self.is_of(answer.seat, seat));
        let then = answers.next().map(|answer| &answer.outcome);
        match (then, &seat.http) {
            (Some(failed @ (Outcome::Failed(_) | Outcome::TimedOut)), _) => failed.clone(),
            (Some(Outcome::NoOffers(NoOfferReason::NoTime)), _) => Outcome::NoOffers(NoOfferReason::NoTime),
            (_, Some(http)) if test && !http.has_sandbox() => Outcome::NoOffers(NoOfferReason::NoSandbox),
            (Some(answered), Some(_)) if answered.was_asked() => self.still_declared(answered, seat),
            (_, Some(_)) => Outcome::NoOffers(NoOfferReason::Declined),
            (_, None) => {
                let quotes = fit.offers.iter().filter_map(|offer| seat.offers[*offer].quote(facts, true));
                Outcome::Offers(highest(quotes.collect(), most.offers))
            }
        }
    }

    /// A recorded answer without the offers that the partner's file no longer declares.
    fn still_declared(&self, answered: &Outcome, seat: &Seat) -> Outcome {
        let Outcome::Offers(quotes) = answered else { return answered.clone() };
        let is_declared = |quote: &&Quote| {
            let name = self.templates.offer_name(quote.text);
            seat.offers.iter().any(|offer| offer.is_own() || offer.name == name)
        };
        Outcome::Offers(quotes.iter().filter(is_declared).cloned().collect())
    }

    fn is_of(&self, place: u16, seat: &Seat) -> bool {
        let text = &self.table.seats()[usize::from(place)];
        seat.is_of(&text.key, text.product_type)
    }

    /// The recorded reason that kept a seat out, unless the files decide it. Places are dealt anew.
    fn denied_then(&self, seat: &Seat) -> Option<Denied> {
        let at_first = self.not_seated.iter().filter(|(text, _)| seat.is_of(&text.key, text.product_type));
        let held_back = self.decisions.held_back.iter().filter(|(held, _)| self.is_of(*held, seat));
        let reasons = at_first.map(|(_, by)| *by).chain(held_back.map(|(_, by)| *by));
        reasons.flatten().find(|by| {
            use Denied::{Dates, Exclusive, Experiment, Schedule, Share};
            !matches!(by, Schedule | Exclusive | Dates | Share | Experiment)
        })
    }
}

/// The key under which a seat is counted.
pub fn seat_key(seat: &RecordedSeat) -> ReplayedSeat {
    (seat.key.clone(), seat.product_type)
}

fn anew(head: &TableHead, fits: &[Fit]) -> TableHead {
    let seats = fits.iter().map(|fit| fit.seat.recorded_text.fingerprint).collect();
    TableHead { seats, not_seated: Vec::new(), ..head.clone() }
}

fn name_in(fits: &[Fit], text: &RecordedSeat, quote: &Quote) -> Option<String> {
    let seat = &fits.iter().find(|fit| fit.seat.is_of(&text.key, text.product_type))?.seat;
    let offer = seat.offers.iter().find(|offer| offer.text.fingerprint == quote.text)?;
    Some(offer.name.clone())
}
