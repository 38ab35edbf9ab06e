//! Offers of mortgages.

use super::enums::{MortgageAdjustmentType, MortgageLoanType};
use super::fixed_point::{Money, Percent};
use super::offer::Offer;
use crate::record;

/// An offer of a mortgage.
pub type MortgageOffer = Offer<MortgageOfferDetails>;

record! {
    /// The terms of an offered mortgage.
    MortgageOfferDetails {
        /// The annual interest rate, without fees.
        interest_rate: Percent,
        /// The loan type: term and rate type.
        loan_type: MortgageLoanType,
        /// The deviation of the price from par, in percent of the loan.
        price_adjustment: Percent,
        /// The monthly payment.
        monthly_payment: Money,
        /// Closing costs, net of credits and points.
        net_closing_costs: Money,
        /// The annual rate, fees included.
        apr: Percent,
        /// The term, in months.
        loan_term: i32,
        /// Whether closing costs are moved into or out of the rate.
        adjustment_type: MortgageAdjustmentType,
    }
}
