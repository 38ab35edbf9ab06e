//! Bands: the rows of terms of an offer, each for a group of leads.

#[derive(Debug, Clone, Copy)]
pub(super) struct TermsBand {
    /// Credit ratings, one bit per ordinal.
    pub(super) ratings: u64,
    /// Dollars, inclusive.
    pub(super) amount: (f64, f64),
    /// Loan to value in percent, inclusive.
    pub(super) loan_to_value: (f64, f64),
    /// Lowest and highest yearly rate in percent.
    pub(super) rate: (f64, f64),
    /// Lowest and highest origination fee in percent.
    pub(super) fee_rate: (f64, f64),
    /// Origination fee in dollars.
    pub(super) fee_fixed: f64,
    /// Points or credit in percent.
    pub(super) price_adjustment: f64,
}

impl TermsBand {
    /// Whether the known attributes of the lead are within the band; unknown ones count as within.
    pub(super) fn fits(&self, rating: Option<u64>, amount: Option<f64>, loan_to_value: Option<f64>) -> bool {
        let within = |x: Option<f64>, (min, max): (f64, f64)| x.is_none_or(|x| min <= x && x <= max);
        rating.is_none_or(|bit| self.ratings & bit != 0)
            && within(amount, self.amount)
            && within(loan_to_value, self.loan_to_value)
    }
}
