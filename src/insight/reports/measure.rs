//! The measures that reports count, and the records they come from.
//!
//! Each entry states what is counted; on which day; and under which product, sub-type and partner.
//!
//! - leads: `leadCreated` in the feed of lead events; on the day of the lead; under the product types it asks
//!   for. By partner and sub-type: under the seats at its first rate table once that is complete, each once;
//!   of the second-look seats under those that were asked.
//! - without offers: such a lead whose complete first rate table shows no offer; likewise.
//! - asks: answer of a partner that was asked, in a complete rate table; on the day of the table; under its
//!   seat, with each sub-type of the seat's catalog.
//! - offers: offer of such an answer; on the day of the table; under the seat, with the sub-type of the
//!   offer.
//! - shown: offer that the complete table shows; likewise.
//! - positions: place of such an offer in its array, from 1; likewise, by product, sub-type, partner and
//!   offer only.
//! - clicks: `offerClicked`; on the day of the event; as in the feed.
//! - applied, funded: `applied` and `funded`, net of reversals; on the day of the event, even if it arrives
//!   or is reversed later; as in the feed.
//! - taken back: reversed `funded`; on the day of the event; as in the feed.
//! - payouts: payout in its feed, net of reversals; on the day of its booking, even if it is reversed later;
//!   as in the feed, with the sub-type of the event that earned it.
//! - payouts taken back: reversed amount of a payout; on the day of the payout's booking; likewise.
//! - rate tables: `appSubmitted`; on the day of the event; under the product types of its seats, each once,
//!   and in no other dimension.
//! - with offers: complete rate table with an offer; on the day of the table; under the product types of its
//!   offers, likewise.
//! - suppressed: seat not seated because of a suppression list; on the day of the event; under the
//!   product of the seat, and in no other dimension.
//!
//! By offer count offers, what is shown of them, and the events and payouts that name one; the others of these
//! events and payouts are those of no offer.
//!
//! Only the console's funnel shows the last three.

use serde::{Deserialize, Serialize};

/// Thousandths in a cent. Payouts are integers, so that sums do not depend on their order.
const THOUSANDTHS: f64 = 1000.0;

/// A measure. Stored by position: append new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Measure {
    /// Leads accepted.
    Leads,
    /// Asks of partners, one for each rate table.
    Asks,
    /// Offers that partners answered with.
    Offers,
    /// Offers that complete rate tables show.
    Shown,
    /// Clicks on offers.
    Clicks,
    /// Applications that partners reported, net of reversals.
    Applied,
    /// Fundings, likewise.
    Funded,
    /// Payouts net of reversals, in thousandths of a cent.
    Payouts,
    /// Leads whose first rate table shows no offer.
    WithoutOffers,
    /// Reversed fundings, which no longer count in [`Self::Funded`].
    TakenBack,
    /// Reversed payouts, in thousandths of a cent.
    PayoutsTakenBack,
    /// Rate tables created.
    RateTables,
    /// Complete rate tables with an offer.
    WithOffers,
    /// Seats that fit a lead and were left out because of their suppression lists.
    Suppressed,
    /// The sum of the positions of offers shown.
    Positions,
}

impl Measure {
    /// The number of measures.
    pub const COUNT: usize = Self::Positions as usize + 1;

    /// The measures that only partners report: missing, not 0, for a partner that never reports one.
    pub const REPORTED: [Self; 3] = [Self::Applied, Self::Funded, Self::Payouts];

    /// Whether it is an amount of money rather than a count.
    pub fn is_dollars(self) -> bool {
        matches!(self, Self::Payouts | Self::PayoutsTakenBack)
    }

    /// The reported measure on which this one depends, if any.
    pub fn reported_as(self) -> Option<Self> {
        match self {
            Self::TakenBack => Some(Self::Funded),
            Self::PayoutsTakenBack => Some(Self::Payouts),
            reported => Self::REPORTED.contains(&reported).then_some(reported),
        }
    }
}

/// A value for each measure; negative where reversals exceed additions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measures(pub [i64; Measure::COUNT]);

impl Measures {
    /// A value of one measure.
    pub fn of(measure: Measure, count: i64) -> Self {
        let mut measures = Self::default();
        measures.0[measure as usize] = count;
        measures
    }

    /// A payout, or a reversal with a negative amount.
    pub fn of_payout(cents: f64) -> Self {
        let mut measures = Self::of(Measure::Payouts, (cents * THOUSANDTHS).round() as i64);
        measures.0[Measure::PayoutsTakenBack as usize] = -measures.get(Measure::Payouts).min(0);
        measures
    }

    /// A reported event, or its reversal.
    pub fn of_report(measure: Measure, is_taken_back: bool) -> Self {
        let mut measures = Self::of(measure, if is_taken_back { -1 } else { 1 });
        measures.0[Measure::TakenBack as usize] = i64::from(is_taken_back && measure == Measure::Funded);
        measures
    }

    /// The value of one measure.
    pub fn get(&self, measure: Measure) -> i64 {
        self.0[measure as usize]
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }

    /// Subtracts others.
    pub fn take(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, less)| *sum -= less);
    }

    /// A count, or an amount in dollars.
    pub fn amount(&self, measure: Measure) -> f64 {
        let amount = self.get(measure) as f64;
        if measure.is_dollars() { amount / THOUSANDTHS / 100.0 } else { amount }
    }

    /// Whether every measure is 0.
    pub fn is_empty(&self) -> bool {
        self.0 == Self::default().0
    }
}
