//! What is counted, and where it is recorded.
//!
//! | measure | one for each | on the day | product, sub-type, partner |
//! |---|---|---|---|
//! | leads | `leadCreated` in the feed of lead events | of the lead | the product types that it asks for; by partner and sub-type those that have places at its first rate table, each once |
//! | without offers | of these, lead whose first rate table shows no offer when it is complete | of the lead | likewise |
//! | asks | answer of a partner that was asked, in a complete rate table | of the table | of its place at the table; each sub-type that its catalog has |
//! | offers | offer of such an answer | of the table | of the place; the sub-type of the offer |
//! | shown | offer that the complete table shows | of the table | likewise |
//! | clicks | `offerClicked` | of the event | as in the feed |
//! | applied, funded | `applied`, `funded`, less those taken back | of the event, also when it comes late or is taken back later | as in the feed |
//! | taken back | `funded` that was taken back | of the event | as in the feed |
//! | payouts | payout in its feed, less those taken back | on which it was booked, also when it is taken back later | as in the feed; the sub-type of the event that earned it |
//! | payouts taken back | what of payouts was taken back | on which the payout was booked | likewise |
//! | rate tables | `appSubmitted` | of the event | the product types of the partners that have places at it, each once; by nothing else |
//! | with offers | complete rate table that shows an offer | of the table | those of its offers, likewise |
//! | suppressed | seat that a suppression list kept from a rate table | of the event | that of the seat; by nothing else |
//!
//! The console's funnel alone shows the last three.

use serde::{Deserialize, Serialize};

/// Thousandths in a cent: payouts are kept in whole numbers, so that sums do not depend on their order.
const THOUSANDTHS: f64 = 1000.0;

/// What is counted. Stored by position: a new one goes behind the others.
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
