//! What is counted.

use serde::{Deserialize, Serialize};

/// Thousandths in a cent: payouts are kept in whole numbers, so that sums do not depend on their order.
const THOUSANDTHS: f64 = 1000.0;

/// What is counted. [`crate::reports`] says from which record. Stored by position: a new one goes behind the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Measure {
    /// Leads that were taken in.
    Leads,
    /// Partners that were asked, each time for one rate table.
    Asks,
    /// Offers that partners answered with.
    Offers,
    /// Offers that complete rate tables show.
    Shown,
    /// Clicks on offers.
    Clicks,
    /// Applications that partners reported and did not take back.
    Applied,
    /// Fundings, likewise.
    Funded,
    /// Payouts less those taken back, in thousandths of a cent.
    Payouts,
    /// Leads whose first rate table shows no offer.
    WithoutOffers,
    /// Fundings that were taken back, which are of [`Self::Funded`] no more.
    TakenBack,
    /// What of payouts was taken back, in thousandths of a cent.
    PayoutsTakenBack,
    /// Rate tables that were made.
    RateTables,
    /// Complete rate tables that show an offer.
    WithOffers,
    /// Seats that fit a lead and were left out because of their suppression lists.
    Suppressed,
}

impl Measure {
    /// How many there are.
    pub const COUNT: usize = Self::Suppressed as usize + 1;

    /// What only partners tell; one that never does has none of it, rather than 0.
    pub const REPORTED: [Self; 3] = [Self::Applied, Self::Funded, Self::Payouts];

    /// The measure that partners tell it with, where they do.
    pub fn reported_as(self) -> Option<Self> {
        match self {
            Self::TakenBack => Some(Self::Funded),
            Self::PayoutsTakenBack => Some(Self::Payouts),
            reported => Self::REPORTED.contains(&reported).then_some(reported),
        }
    }
}

/// How much there is of each measure; less than nothing where a part of it takes more back than it adds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measures(pub [i64; Measure::COUNT]);

impl Measures {
    /// So much of one measure.
    pub fn of(measure: Measure, count: i64) -> Self {
        let mut measures = Self::default();
        measures.0[measure as usize] = count;
        measures
    }

    /// A payout, or what is taken back of one: less than nothing.
    pub fn of_payout(cents: f64) -> Self {
        let mut measures = Self::of(Measure::Payouts, (cents * THOUSANDTHS).round() as i64);
        measures.0[Measure::PayoutsTakenBack as usize] = -measures.get(Measure::Payouts).min(0);
        measures
    }

    /// Something that was reported, or was not, after all.
    pub fn of_report(measure: Measure, is_taken_back: bool) -> Self {
        let mut measures = Self::of(measure, if is_taken_back { -1 } else { 1 });
        measures.0[Measure::TakenBack as usize] = i64::from(is_taken_back && measure == Measure::Funded);
        measures
    }

    /// How much there is of one.
    pub fn get(&self, measure: Measure) -> i64 {
        self.0[measure as usize]
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
    }

    /// Takes others away.
    pub fn take(&mut self, other: &Self) {
        for (sum, less) in self.0.iter_mut().zip(other.0) {
            *sum -= less;
        }
    }

    /// Payouts, or what was taken back of them, in dollars.
    pub fn dollars(&self, measure: Measure) -> f64 {
        self.get(measure) as f64 / THOUSANDTHS / 100.0
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0 == Self::default().0
    }
}
