//! What is compared of leads, and the sums that a comparison needs of a variant.

use offerd_base::worded;
use serde::{Deserialize, Serialize};

worded! {
    /// What is compared.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Outcome;

    /// Its name for programs, as in JSON.
    fn name;

    /// Leads that had an offer.
    WithOffers "withOffers";
    /// Clicks a lead.
    Clicks "clicks";
    /// Leads of which an application was reported and not taken back.
    Applied "applied";
    /// Leads that were funded, likewise.
    Funded "funded";
    /// Dollars that a lead earned, less those taken back.
    Earnings "earnings";
}

impl Outcome {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::WithOffers, Self::Clicks, Self::Applied, Self::Funded, Self::Earnings];

    /// The same for people.
    pub fn heading(self) -> &'static str {
        match self {
            Self::WithOffers => "Leads with offers",
            Self::Clicks => "Clicks a lead",
            Self::Applied => "Leads that applied",
            Self::Funded => "Leads funded",
            Self::Earnings => "Earnings a lead",
        }
    }

    /// Whether it is a share of leads, and else a mean.
    pub fn is_share(self) -> bool {
        matches!(self, Self::WithOffers | Self::Applied | Self::Funded)
    }

    /// Whether it is in dollars.
    pub fn is_dollars(self) -> bool {
        self == Self::Earnings
    }

    /// A value as people read it: a share in percent.
    pub fn written(self, value: f64) -> String {
        match self {
            _ if self.is_share() => format!("{:.2} %", value * 100.0),
            Self::Earnings if value < 0.0 => format!("-${:.2}", -value),
            Self::Earnings => format!("${value:.2}"),
            _ => format!("{value:.4}"),
        }
    }
}

/// What became of one lead.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OfLead {
    /// Whether a partner had an offer.
    pub has_offers: bool,
    /// Clicks on its offers.
    pub clicks: u32,
    /// Applications, less those taken back.
    pub applied: i64,
    /// Fundings, likewise.
    pub funded: i64,
    /// What was paid, less what was taken back.
    pub cents: f64,
}

impl OfLead {
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

/// The leads of a variant, summed up: of each outcome the mean, and the squares of what leads are away from it, as Welford (1962) adds
/// them up without losing digits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Leads.
    pub leads: u64,
    means: [f64; Outcome::ALL.len()],
    squares: [f64; Outcome::ALL.len()],
}

/// How many there are, their mean, and the variance of one.
pub type Moments = (f64, f64, f64);

impl Tally {
    /// With one lead more.
    #[must_use]
    pub fn with(mut self, lead: &OfLead) -> Self {
        self.leads += 1;
        for (nth, of) in Outcome::ALL.into_iter().enumerate() {
            let value = lead.get(of);
            let away = value - self.means[nth];
            self.means[nth] += away / self.leads as f64;
            self.squares[nth] += away * (value - self.means[nth]);
        }
        self
    }

    /// The mean of one, or the share of leads.
    pub fn value(&self, of: Outcome) -> Option<f64> {
        (self.leads > 0).then_some(self.means[of as usize])
    }

    /// How many leads, clicks or dollars there are.
    pub fn total(&self, of: Outcome) -> f64 {
        let total = self.means[of as usize] * self.leads as f64;
        // To the cent, and what is counted is whole.
        if of.is_dollars() { (total * 100.0).round() / 100.0 } else { total.round() }
    }

    /// Leads that have it, of how many.
    pub fn share(&self, of: Outcome) -> (f64, f64) {
        (self.total(of), self.leads as f64)
    }

    /// How it varies.
    pub fn moments(&self, of: Outcome) -> Moments {
        let leads = self.leads as f64;
        (leads, self.means[of as usize], self.squares[of as usize] / (leads - 1.0))
    }
}
