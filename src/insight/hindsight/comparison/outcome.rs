//! The outcomes that a comparison compares, and their sums per variant.

use offerd_base::worded;
use serde::{Deserialize, Serialize};

worded! {
    /// An outcome of leads.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Outcome;

    /// Its name in JSON.
    fn name;

    /// Leads with an offer.
    WithOffers "withOffers";
    /// Clicks per lead.
    Clicks "clicks";
    /// Leads with a reported application that was not reversed.
    Applied "applied";
    /// Leads with a reported funding that was not reversed.
    Funded "funded";
    /// Payouts per lead net of reversals, in dollars.
    Earnings "earnings";
}

impl Outcome {
    /// All outcomes, in the order of a comparison.
    pub const ALL: [Self; 5] = [Self::WithOffers, Self::Clicks, Self::Applied, Self::Funded, Self::Earnings];

    /// Its heading for people.
    pub fn heading(self) -> &'static str {
        match self {
            Self::WithOffers => "Leads with offers",
            Self::Clicks => "Clicks a lead",
            Self::Applied => "Leads that applied",
            Self::Funded => "Leads funded",
            Self::Earnings => "Earnings a lead",
        }
    }

    /// Whether it is a share of leads rather than a mean.
    pub fn is_share(self) -> bool {
        matches!(self, Self::WithOffers | Self::Applied | Self::Funded)
    }

    /// Whether it is in dollars.
    pub fn is_dollars(self) -> bool {
        self == Self::Earnings
    }

    /// A value for people: a share in percent.
    pub fn written(self, value: f64) -> String {
        match self {
            _ if self.is_share() => format!("{:.2} %", value * 100.0),
            Self::Earnings if value < 0.0 => format!("-${:.2}", -value),
            Self::Earnings => format!("${value:.2}"),
            _ => format!("{value:.4}"),
        }
    }
}

/// The outcomes of one lead.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LeadOutcomes {
    /// Whether a partner had an offer.
    pub has_offers: bool,
    /// Clicks on its offers.
    pub clicks: u32,
    /// Applications net of reversals.
    pub applied: i64,
    /// Fundings net of reversals.
    pub funded: i64,
    /// Payouts net of reversals.
    pub cents: f64,
}

impl LeadOutcomes {
    fn get(&self, of: Outcome) -> f64 {
        match of {
            Outcome::WithOffers => f64::from(u8::from(self.has_offers)),
            Outcome::Clicks => f64::from(self.clicks),
            Outcome::Applied => f64::from(u8::from(self.applied > 0)),
            Outcome::Funded => f64::from(u8::from(self.funded > 0)),
            Outcome::Earnings => self.cents / 100.0,
        }
    }
}

/// The mean of each outcome and its sum of squared deviations, updated by Welford's method (1962).
#[derive(Debug, Clone, Copy, Default)]
pub struct VariantStatistics {
    /// The number of leads.
    pub leads: u64,
    means: [f64; Outcome::ALL.len()],
    squares: [f64; Outcome::ALL.len()],
}

/// Count, mean and variance.
pub type Moments = (f64, f64, f64);

impl VariantStatistics {
    /// Adds a lead.
    #[must_use]
    pub fn with(mut self, lead: &LeadOutcomes) -> Self {
        self.leads += 1;
        for (nth, of) in Outcome::ALL.into_iter().enumerate() {
            let value = lead.get(of);
            let away = value - self.means[nth];
            self.means[nth] += away / self.leads as f64;
            self.squares[nth] += away * (value - self.means[nth]);
        }
        self
    }

    /// The mean of an outcome, or its share of leads.
    pub fn value(&self, of: Outcome) -> Option<f64> {
        (self.leads > 0).then_some(self.means[of as usize])
    }

    /// The total of leads, clicks or dollars.
    pub fn total(&self, of: Outcome) -> f64 {
        let total = self.means[of as usize] * self.leads as f64;
        // Dollars to the cent; counts are whole.
        if of.is_dollars() { (total * 100.0).round() / 100.0 } else { total.round() }
    }

    /// The leads with an outcome, out of all.
    pub fn share(&self, of: Outcome) -> (f64, f64) {
        (self.total(of), self.leads as f64)
    }

    /// Count, mean and variance of an outcome.
    pub fn moments(&self, of: Outcome) -> Moments {
        let leads = self.leads as f64;
        (leads, self.means[of as usize], self.squares[of as usize] / (leads - 1.0))
    }
}
