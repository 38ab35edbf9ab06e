//! Seating: which of the seats that a lead fits have a place at its table.

use chrono::Utc;
use metrics::counter;

use super::configuration::Configuration;
use super::engine::Engine;
use super::limiter::Round;
use crate::model::ProductType;
use crate::partners::{Facts, Fingerprint, Fit, Seat};
use crate::rate_table::progress::Standing;
use crate::rate_table::record::{KeptOut, MAX_KEPT_OUT};
use crate::store::entities::LeadRecord;
use crate::telemetry::metrics::SEATS_CUT;

/// The seats of a table that is about to be written.
#[derive(Debug)]
pub struct Seating {
    /// Those who are asked or held, in the order of the book.
    pub fits: Vec<Fit>,
    /// What those count for who are asked.
    pub round: Round,
    /// The partner files that it was made with.
    pub book: Fingerprint,
    /// Those who have no place although the lead fits them.
    pub kept_out: Vec<KeptOut>,
    /// Positions in the book of those who are asked.
    asked: Vec<usize>,
}

impl Seating {
    /// Seats those who fit a lead. Those who are asked at once are counted, as far as their limits let them be asked;
    /// held ones get the places that are left, since their limits hold when second look begins.
    pub fn of(engine: &Engine, configuration: &Configuration, record: &LeadRecord) -> Self {
        let facts = Facts::new(&record.lead, Utc::now().date_naive(), record.bands);
        let wants_loans = record.lead.asks_for(ProductType::Loan);
        let at_once = |fit: &Fit| Standing::at_start(fit.seat.second_look, wants_loans) == Standing::Asked;
        let book = &configuration.book;
        let (first, mut held): (Vec<Fit>, Vec<Fit>) = book.fitting(&facts).into_iter().partition(at_once);

        let most = configuration.rules.partners_per_lead;
        let seats: Vec<&Seat> = first.iter().map(|fit| &*fit.seat).collect();
        let (round, verdicts) = engine.limiter.admit(record.test, most, &seats);
        let mut kept_out = Vec::new();
        let mut fits = Vec::new();
        for (fit, verdict) in first.into_iter().zip(verdicts) {
            match verdict.against() {
                None => fits.push(fit),
                Some(by) => kept_out.push(KeptOut { seat: fit.seat.text.fingerprint, by }),
            }
        }
        let asked = fits.iter().map(|fit| fit.position).collect();

        let room = most - fits.len();
        let no_room = held.drain(room.min(held.len())..);
        kept_out.extend(no_room.map(|fit| KeptOut { seat: fit.seat.text.fingerprint, by: None }));
        let cut = kept_out.iter().filter(|kept_out| kept_out.by.is_none()).count();
        if cut > 0 {
            counter!(SEATS_CUT).increment(cut as u64);
        }
        kept_out.truncate(MAX_KEPT_OUT);
        fits.extend(held);
        fits.sort_by_key(|fit| fit.position);
        Self { fits, round, book: book.fingerprint(), kept_out, asked }
    }

    /// The seats in their order; `None` for one that is held, or is not asked over HTTP.
    pub fn asked_afar(&self) -> impl Iterator<Item = Option<&Seat>> {
        let is_asked = |fit: &&Fit| fit.seat.http.is_some() && self.asked.contains(&fit.position);
        self.fits.iter().map(move |fit| Some(fit).filter(is_asked).map(|fit| &*fit.seat))
    }

    /// Gives back what was counted: the table was not written.
    pub fn give_back(&self, engine: &Engine) {
        let asked = self.fits.iter().filter(|fit| self.asked.contains(&fit.position));
        let asked = asked.map(|fit| (fit.seat.identity.key.as_str(), fit.seat.product_type));
        engine.limiter.give_back(self.round, asked);
    }
}
