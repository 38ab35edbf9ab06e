//! A tally: what was counted of one scope in one day or month.

use serde::{Deserialize, Serialize};

/// Thousandths in a cent: payouts are kept in whole numbers, so that sums do not depend on their order.
const THOUSANDTHS: f64 = 1000.0;

/// How many there were of each stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Leads that were taken in.
    pub leads: u64,
    /// Rate tables that were made.
    pub rate_tables: u64,
    /// Complete rate tables that show at least one offer.
    pub with_offers: u64,
    /// Offers that complete rate tables show.
    pub offers: u64,
    /// Clicks on offers.
    pub clicks: u64,
    /// Applications that partners reported and did not take back; in what is added to a tally less than nothing where some are.
    pub applied: i64,
    /// Fundings, likewise.
    pub funded: i64,
    /// Payouts, less those taken back, in thousandths of a cent.
    pub payout_thousandths: i64,
    /// Seats that fit a lead and were left out because of their suppression lists.
    pub suppressed: u64,
}

impl Tally {
    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            leads: self.leads + other.leads,
            rate_tables: self.rate_tables + other.rate_tables,
            with_offers: self.with_offers + other.with_offers,
            offers: self.offers + other.offers,
            clicks: self.clicks + other.clicks,
            applied: self.applied + other.applied,
            funded: self.funded + other.funded,
            payout_thousandths: self.payout_thousandths + other.payout_thousandths,
            suppressed: self.suppressed + other.suppressed,
        }
    }

    /// Payouts in dollars.
    pub fn payout_dollars(&self) -> f64 {
        self.payout_thousandths as f64 / THOUSANDTHS / 100.0
    }

    /// A tally of one payout.
    pub fn of_payout(cents: f64) -> Self {
        Self { payout_thousandths: (cents * THOUSANDTHS).round() as i64, ..Self::default() }
    }

    /// Whether there was nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
