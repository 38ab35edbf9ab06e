//! Offers of mortgages.

use super::enums::{MortgageAdjustmentType, MortgageLoanType};
use super::money::Money;
use super::offer::Offer;
use super::percent::Percent;
use super::record::record;

/// An offer of a mortgage.
pub type MortgageOffer = Offer<MortgageOfferDetails>;

record! {
    /// The terms of an offered mortgage.
    MortgageOfferDetails {
        /// Interest of a year, fees apart.
        interest_rate: Percent,
        /// Term and rate behaviour.
        loan_type: MortgageLoanType,
        /// What the price differs from par, in percent of the loan.
        price_adjustment: Percent,
        /// The instalment of a month.
        monthly_payment: Money,
        /// Closing costs after credits and points.
        net_closing_costs: Money,
        /// Cost of a year, fees included.
        apr: Percent,
        /// The term in years.
        loan_term: i32,
        /// Whether closing costs are shifted into or out of the rate.
        adjustment_type: MortgageAdjustmentType,
    }
}
