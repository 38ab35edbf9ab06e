//! The figures of a row: what was counted, and what follows from it.

use serde::{Deserialize, Serialize};

use super::measure::{Measure, Measures};

/// What a row can be ordered by, and shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Leads.
    Leads,
    /// Leads whose first rate table shows no offer.
    WithoutOffers,
    /// Asks.
    Asks,
    /// Offers.
    Offers,
    /// Offers shown.
    Shown,
    /// Clicks.
    Clicks,
    /// Applications.
    Applied,
    /// Fundings.
    Funded,
    /// Fundings that were taken back.
    TakenBack,
    /// Payouts, dollars.
    Payouts,
    /// What was taken back of payouts, dollars.
    PayoutsTakenBack,
    /// Payouts by clicks, dollars.
    EarningsPerClick,
    /// Payouts by leads, dollars.
    EarningsPerLead,
}

impl Figure {
    /// Every one, in the order in which they are told.
    pub const ALL: [Self; 13] = [
        Self::Leads,
        Self::WithoutOffers,
        Self::Asks,
        Self::Offers,
        Self::Shown,
        Self::Clicks,
        Self::Applied,
        Self::Funded,
        Self::TakenBack,
        Self::Payouts,
        Self::PayoutsTakenBack,
        Self::EarningsPerClick,
        Self::EarningsPerLead,
    ];

    /// Its name in questions and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leads => "leads",
            Self::WithoutOffers => "withoutOffers",
            Self::Asks => "asks",
            Self::Offers => "offers",
            Self::Shown => "shown",
            Self::Clicks => "clicks",
            Self::Applied => "applied",
            Self::Funded => "funded",
            Self::TakenBack => "takenBack",
            Self::Payouts => "payouts",
            Self::PayoutsTakenBack => "payoutsTakenBack",
            Self::EarningsPerClick => "earningsPerClick",
            Self::EarningsPerLead => "earningsPerLead",
        }
    }

    /// The name of how much more of it there is than before.
    pub fn change(self) -> String {
        format!("{}Change", self.name())
    }

    /// Its heading for people.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Leads => "Leads",
            Self::WithoutOffers => "Without offers",
            Self::Asks => "Asks",
            Self::Offers => "Offers",
            Self::Shown => "Shown",
            Self::Clicks => "Clicks",
            Self::Applied => "Applied",
            Self::Funded => "Funded",
            Self::TakenBack => "Taken back",
            Self::Payouts => "Payouts",
            Self::PayoutsTakenBack => "Payouts taken back",
            Self::EarningsPerClick => "Payout per click",
            Self::EarningsPerLead => "Payout per lead",
        }
    }

    /// Whether it is an amount of dollars, rather than a count.
    pub fn is_dollars(self) -> bool {
        matches!(
            self,
            Self::Payouts | Self::PayoutsTakenBack | Self::EarningsPerClick | Self::EarningsPerLead
        )
    }

    /// Its value in what was counted, for comparing; nothing by nothing is least.
    pub fn weight(self, counted: &Measures) -> f64 {
        let of = |measure| counted.get(measure) as f64;
        let ratio =
            |by: Measure| if of(by) > 0.0 { counted.dollars(Measure::Payouts) / of(by) } else { f64::MIN };
        match self {
            Self::Leads => of(Measure::Leads),
            Self::WithoutOffers => of(Measure::WithoutOffers),
            Self::Asks => of(Measure::Asks),
            Self::Offers => of(Measure::Offers),
            Self::Shown => of(Measure::Shown),
            Self::Clicks => of(Measure::Clicks),
            Self::Applied => of(Measure::Applied),
            Self::Funded => of(Measure::Funded),
            Self::TakenBack => of(Measure::TakenBack),
            Self::Payouts => counted.dollars(Measure::Payouts),
            Self::PayoutsTakenBack => counted.dollars(Measure::PayoutsTakenBack),
            Self::EarningsPerClick => ratio(Measure::Clicks),
            Self::EarningsPerLead => ratio(Measure::Leads),
        }
    }
}

/// The figures of a row. What is missing was never reported by the partner, or by any; or would be divided by nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Leads that were taken in.
    pub leads: i64,
    /// Leads whose first rate table shows no offer.
    pub without_offers: i64,
    /// Asks of partners.
    pub asks: i64,
    /// Offers that they answered with.
    pub offers: i64,
    /// Offers that were shown.
    pub shown: i64,
    /// Clicks on offers.
    pub clicks: i64,
    /// Applications.
    pub applied: Option<i64>,
    /// Fundings.
    pub funded: Option<i64>,
    /// Fundings that were taken back, which are not among these.
    pub taken_back: Option<i64>,
    /// Payouts less those taken back, in dollars.
    pub payouts: Option<f64>,
    /// What was taken back of payouts, in dollars.
    pub payouts_taken_back: Option<f64>,
    /// Payouts by clicks, in dollars.
    pub earnings_per_click: Option<f64>,
    /// Payouts by leads, in dollars.
    pub earnings_per_lead: Option<f64>,
}

impl Figures {
    /// What follows from what was counted. `is_reported` says of a measure that partners report whether any of it ever was.
    pub fn of(counted: &Measures, is_reported: impl Fn(Measure) -> bool) -> Self {
        let count = |measure| counted.get(measure);
        let told = |measure| {
            let count = count(measure);
            (count != 0 || is_reported(measure)).then_some(count)
        };
        let dollars = |measure| told(measure).map(|_| counted.dollars(measure));
        let payouts = dollars(Measure::Payouts);
        let by = |measure| payouts.filter(|_| count(measure) > 0).map(|sum| sum / count(measure) as f64);
        Self {
            leads: count(Measure::Leads),
            without_offers: count(Measure::WithoutOffers),
            asks: count(Measure::Asks),
            offers: count(Measure::Offers),
            shown: count(Measure::Shown),
            clicks: count(Measure::Clicks),
            applied: told(Measure::Applied),
            funded: told(Measure::Funded),
            taken_back: told(Measure::TakenBack),
            payouts,
            payouts_taken_back: dollars(Measure::PayoutsTakenBack),
            earnings_per_click: by(Measure::Clicks),
            earnings_per_lead: by(Measure::Leads),
        }
    }

    /// One of them; `None` where it is missing.
    pub fn get(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Leads => Some(self.leads as f64),
            Figure::WithoutOffers => Some(self.without_offers as f64),
            Figure::Asks => Some(self.asks as f64),
            Figure::Offers => Some(self.offers as f64),
            Figure::Shown => Some(self.shown as f64),
            Figure::Clicks => Some(self.clicks as f64),
            Figure::Applied => self.applied.map(|count| count as f64),
            Figure::Funded => self.funded.map(|count| count as f64),
            Figure::TakenBack => self.taken_back.map(|count| count as f64),
            Figure::Payouts => self.payouts,
            Figure::PayoutsTakenBack => self.payouts_taken_back,
            Figure::EarningsPerClick => self.earnings_per_click,
            Figure::EarningsPerLead => self.earnings_per_lead,
        }
    }

    /// How much more there is of one than before, and by which part of what there was, if there was any.
    pub fn change(&self, before: &Self, figure: Figure) -> Option<(f64, Option<f64>)> {
        let (now, before) = match (self.get(figure), before.get(figure)) {
            (None, None) => return None,
            (now, before) => (now.unwrap_or(0.0), before.unwrap_or(0.0)),
        };
        Some((now - before, (before != 0.0).then(|| (now - before) / before.abs())))
    }

    /// Whether a figure is missing because nobody ever reported it.
    pub fn is_unreported(&self, figure: Figure) -> bool {
        match figure {
            Figure::Applied | Figure::Funded | Figure::Payouts => self.get(figure).is_none(),
            Figure::TakenBack => self.funded.is_none(),
            Figure::PayoutsTakenBack => self.payouts.is_none(),
            Figure::EarningsPerClick | Figure::EarningsPerLead => self.payouts.is_none(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_reported_is_missing_and_nothing_is_divided_by_nothing() {
        let mut counted = Measures::of(Measure::Leads, 4);
        counted.add(&Measures::of_payout(250.5));
        let figures = Figures::of(&counted, |_| false);
        assert_eq!((figures.applied, figures.payouts), (None, Some(2.505)));
        assert_eq!((figures.earnings_per_lead, figures.earnings_per_click), (Some(0.62625), None));
        let before = Figures { leads: 5, payouts: None, ..figures };
        assert_eq!(figures.change(&before, Figure::Leads), Some((-1.0, Some(-0.2))));
        assert_eq!(figures.change(&before, Figure::Payouts), Some((2.505, None)));
        assert_eq!(figures.change(&before, Figure::Applied), None);
        let figures = Figures::of(&Measures::default(), |measure| measure == Measure::Funded);
        assert_eq!((figures.applied, figures.funded), (None, Some(0)));
        assert!(figures.is_unreported(Figure::EarningsPerLead) && !figures.is_unreported(Figure::Clicks));
    }
}
