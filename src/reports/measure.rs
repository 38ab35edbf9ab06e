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
}

impl Measure {
    /// Every one, in the order in which they are stored.
    pub const ALL: [Self; 8] = [
        Self::Leads,
        Self::Asks,
        Self::Offers,
        Self::Shown,
        Self::Clicks,
        Self::Applied,
        Self::Funded,
        Self::Payouts,
    ];

    /// What only partners tell; one that never does has none of it, rather than 0.
    pub const REPORTED: [Self; 3] = [Self::Applied, Self::Funded, Self::Payouts];

    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leads => "leads",
            Self::Asks => "asks",
            Self::Offers => "offers",
            Self::Shown => "shown",
            Self::Clicks => "clicks",
            Self::Applied => "applied",
            Self::Funded => "funded",
            Self::Payouts => "payouts",
        }
    }
}

/// How much there is of each measure; less than nothing where a part of it takes more back than it adds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measures(pub [i64; Measure::ALL.len()]);

impl Measures {
    /// So much of one measure.
    pub fn of(measure: Measure, count: i64) -> Self {
        let mut measures = Self::default();
        measures.0[measure as usize] = count;
        measures
    }

    /// A payout.
    pub fn of_payout(cents: f64) -> Self {
        Self::of(Measure::Payouts, (cents * THOUSANDTHS).round() as i64)
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

    /// Payouts in dollars.
    pub fn payout_dollars(&self) -> f64 {
        self.get(Measure::Payouts) as f64 / THOUSANDTHS / 100.0
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0 == Self::default().0
    }
}
