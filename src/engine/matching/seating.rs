//! Seating: makes the [plan](SeatingPlan) of a new table and counts its asks.

use metrics::counter;

use super::configuration::Configuration;
use super::engine::MatchingEngine;
use super::limiter::LimiterRound;
use super::suppressions::Digests;
use crate::rate_table::reason::Denied;
use crate::rate_table::record::{MAX_NOT_SEATED, NotSeated};
use crate::rate_table::seating::SeatingPlan;
use crate::rate_table::treatment::{Treatment, leaving_out};
use crate::records::reading;
use offerd_base::telemetry::metrics::SEATS_CUT;
use offerd_model::ProductType;
use offerd_partners::{Fingerprint, Fit, Seat};
use offerd_store::entities::LeadRecord;

/// The seats of a new table.
#[derive(Debug)]
pub struct Seating {
    /// The plan.
    pub plan: SeatingPlan,
    /// The round that the asks count for.
    pub round: LimiterRound,
    /// The fingerprint of the partner files.
    pub book: Fingerprint,
    /// The changes by experiments.
    pub treatments: Vec<Treatment>,
}

impl Seating {
    /// Seats the partners that fit a lead, and counts those asked at once.
    pub fn of(engine: &MatchingEngine, configuration: &Configuration, record: &LeadRecord) -> Self {
        let facts = reading::facts(record, engine.now());
        let (book, most) = (&configuration.book, configuration.rules.matching.partners_per_lead);
        let mut round = None;
        let judge = |seats: &[&Seat]| {
            let digests = Digests::with_earlier(&record.lead, &record.earlier_digests);
            let (counted, verdicts) = engine.judge_seats((record.test, record.uuid), &digests, most, seats);
            round = Some(counted);
            verdicts
        };
        let wants_loans = record.lead.asks_for(ProductType::Loan);
        let treatments = configuration.experiments.treatments(&record.experiments, engine.now_ms());
        let (left_out, fits): (Vec<Fit>, Vec<Fit>) = book
            .fitting(&facts)
            .into_iter()
            .partition(|fit| leaving_out(&treatments, &fit.seat.recorded, wants_loans).is_some());
        let mut plan = SeatingPlan::new(fits, wants_loans, most, record.uuid, judge);
        plan.not_seated.extend(left_out.into_iter().map(|fit| (fit, Some(Denied::Experiment))));
        let cut = plan.not_seated.iter().filter(|(_, by)| by.is_none()).count();
        if cut > 0 {
            counter!(SEATS_CUT).increment(cut as u64);
        }
        Self { plan, round: round.expect("a plan is judged once"), book: book.fingerprint, treatments }
    }

    /// The seats without a place, as recorded.
    pub fn not_seated(&self) -> Vec<NotSeated> {
        let not_seated = self.plan.not_seated.iter().take(MAX_NOT_SEATED);
        not_seated.map(|(fit, by)| NotSeated { seat: fit.seat.recorded_text.fingerprint, by: *by }).collect()
    }
}
