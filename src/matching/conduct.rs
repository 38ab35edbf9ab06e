//! How partners have behaved lately: of each seat its last asks, and its last failures with their cause. For people who look
//! on, in bounded memory, since the start; what was before is told from the records ([`super::timing`]).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use chrono::Utc;
use uuid::Uuid;

use crate::model::ProductType;
use crate::rate_table::cause::Cause;
use crate::rate_table::outcome::{AskEnd, NoOfferReason, Outcome};

/// Asks that are kept of a seat.
pub const ASKS_KEPT: usize = 1000;

/// Failures that are kept of a seat.
pub const TROUBLES_KEPT: usize = 50;

/// The conduct of a partner, by the ordinals of product types.
type OfPartner = [Mutex<Conduct>; ProductType::ALL.len()];

/// The conduct of all seats.
#[derive(Debug, Default)]
pub struct Conducts(RwLock<HashMap<String, Arc<OfPartner>>>);

/// How one seat has behaved.
#[derive(Debug, Clone, Default)]
pub struct Conduct {
    /// Its last asks, oldest first.
    pub asks: VecDeque<Ask>,
    /// Its last failures, oldest first.
    pub troubles: VecDeque<Trouble>,
}

/// An ask that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// How long it took, microseconds.
    pub elapsed_us: u32,
    /// How it ended.
    pub end: End,
}

/// How an ask ended, as far as its time is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With offers.
    Offered,
    /// With an answer that holds none.
    Declined,
    /// With an error.
    Failed,
    /// Without an answer in its time.
    TimedOut,
    /// With an answer, after its time was over; it has been counted as timed out before.
    Late,
}

/// An ask that ended without an answer that could be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// When, Unix milliseconds.
    pub at: i64,
    /// Of which rate table.
    pub rate_table: Uuid,
    /// The word for the outcome.
    pub outcome: &'static str,
    /// Why, without a word of what was sent or answered.
    pub cause: Option<Cause>,
    /// How long it took.
    pub elapsed: Duration,
}

/// The end of an ask as it is noted.
#[derive(Debug, Clone, Copy)]
pub struct Noted<'n> {
    /// Of which rate table.
    pub rate_table: Uuid,
    /// How it ended.
    pub end: &'n AskEnd,
    /// How long it took.
    pub elapsed: Duration,
    /// Whether its time was over before.
    pub late: bool,
}

impl Conducts {
    /// Notes how an ask ended. A seat that was not asked after all has done nothing.
    pub fn note(&self, partner: &str, product_type: ProductType, noted: Noted<'_>) {
        let Some(end) = End::of(&noted) else { return };
        let conducts = self.known(partner).unwrap_or_else(|| {
            let mut conducts = self.0.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(conducts.entry(partner.to_owned()).or_default())
        });
        let conduct = &conducts[usize::from(product_type.ordinal())];
        let mut conduct = conduct.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed_us = u32::try_from(noted.elapsed.as_micros()).unwrap_or(u32::MAX);
        push(&mut conduct.asks, ASKS_KEPT, Ask { elapsed_us, end });
        if let End::Failed | End::TimedOut = end {
            let Noted { rate_table, end, elapsed, .. } = noted;
            let (outcome, cause) = (end.outcome.word(), end.cause.clone());
            let at = Utc::now().timestamp_millis();
            push(&mut conduct.troubles, TROUBLES_KEPT, Trouble { at, rate_table, outcome, cause, elapsed });
        }
    }

    /// How a seat has behaved.
    pub fn of(&self, partner: &str, product_type: ProductType) -> Conduct {
        let Some(conducts) = self.known(partner) else { return Conduct::default() };
        let conduct = &conducts[usize::from(product_type.ordinal())];
        conduct.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn known(&self, partner: &str) -> Option<Arc<OfPartner>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(partner).cloned()
    }
}

impl End {
    fn of(noted: &Noted<'_>) -> Option<Self> {
        use NoOfferReason::{Declined, Rejected};
        Some(match &noted.end.outcome {
            Outcome::Offers(_) | Outcome::NoOffers(Declined | Rejected(_)) if noted.late => Self::Late,
            // Its time was over, which has been noted.
            _ if noted.late => return None,
            Outcome::Offers(_) => Self::Offered,
            Outcome::NoOffers(Declined | Rejected(_)) => Self::Declined,
            Outcome::NoOffers(_) => return None,
            Outcome::Failed(_) => Self::Failed,
            Outcome::TimedOut => Self::TimedOut,
        })
    }
}

fn push<T>(ring: &mut VecDeque<T>, most: usize, value: T) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_table::outcome::Failure;

    fn note(conducts: &Conducts, end: AskEnd, late: bool) {
        let elapsed = Duration::from_millis(7);
        conducts.note("bank", ProductType::Loan, Noted { rate_table: Uuid::nil(), end: &end, elapsed, late });
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let conducts = Conducts::default();
        for _ in 0..ASKS_KEPT + 10 {
            note(&conducts, Outcome::Failed(Failure::Unreachable).because("connection refused"), false);
        }
        let conduct = conducts.of("bank", ProductType::Loan);
        assert_eq!((conduct.asks.len(), conduct.troubles.len()), (ASKS_KEPT, TROUBLES_KEPT));
        assert_eq!(conduct.asks[0], Ask { elapsed_us: 7000, end: End::Failed });
        assert_eq!(conduct.troubles[0].outcome, "unreachable");
        assert!(conducts.of("bank", ProductType::Savings).asks.is_empty());
    }

    #[test]
    fn an_answer_after_its_time_is_told_from_one_in_time() {
        let conducts = Conducts::default();
        note(&conducts, Outcome::TimedOut.into(), false);
        note(&conducts, Outcome::Offers(Vec::new()).into(), true);
        note(&conducts, Outcome::Failed(Failure::Answer).into(), true);
        note(&conducts, Outcome::NoOffers(NoOfferReason::NotNeeded).into(), false);
        let ends: Vec<End> = conducts.of("bank", ProductType::Loan).asks.iter().map(|ask| ask.end).collect();
        assert_eq!(ends, [End::TimedOut, End::Late]);
    }
}
