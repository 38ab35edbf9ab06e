//! Bands: the rows of terms of an offer, each for some leads.

/// One row of terms, checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Band {
    /// Bit per ordinal of the credit ratings.
    pub(super) ratings: u64,
    /// Dollars, both included.
    pub(super) amount: (f64, f64),
    /// Loan to value in percent, both included.
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

impl Band {
    /// Whether what is known of the lead falls into the band; what is not known does not speak against it.
    pub(super) fn fits(&self, rating: Option<u64>, amount: Option<f64>, loan_to_value: Option<f64>) -> bool {
        let within = |value: Option<f64>, (min, max): (f64, f64)| {
            value.is_none_or(|value| min <= value && value <= max)
        };
        rating.is_none_or(|bit| self.ratings & bit != 0)
            && within(amount, self.amount)
            && within(loan_to_value, self.loan_to_value)
    }
}
