//! Offers of savings products.

use super::enums::{CompoundingMethod, FederalInsuranceType, IncentiveType, IncentiveUnit, TermUnit};
use super::fixed_point::{Money, Percent};
use super::offer::Offer;
use super::timestamp::Timestamp;
use crate::record;

/// An offer of a savings product.
pub type SavingsOffer = Offer<SavingsOfferDetails>;

record! {
    /// The terms of an offered savings product.
    SavingsOfferDetails {
        /// The annual yield, with compounding.
        annual_percent_yield: Percent,
        /// How often interest is compounded.
        compounding_method: CompoundingMethod,
        /// The minimum deposit.
        minimum_deposit: Money,
        /// The monthly fee.
        monthly_fee: Money,
        /// When the terms were last checked.
        effective_as_of: Timestamp,
        /// The name of the product.
        name?: String,
        /// A description, in a sentence or two.
        description?: String,
        /// The small print.
        details?: String,
        /// The annual interest rate, without compounding.
        rate?: Percent,
        /// The length of the introductory period, in months.
        introductory_period_months?: i32,
        /// The rate in that period.
        introductory_rate?: Percent,
        /// The minimum deposit that covers the fees.
        minimum_deposit_with_fees?: Money,
        /// Whether the account allows cheques.
        check_writing?: bool,
        /// The insurer of the deposit; not in the specification.
        federal_insurance_type?: FederalInsuranceType,
        /// Incentives for opening the account; not in the specification.
        incentive_details?: Vec<IncentiveDetails>,
        /// The unit of a certificate of deposit's term; not in the specification.
        cd_term_unit?: TermUnit,
        /// The length of that term; not in the specification.
        cd_term_length?: i32,
        /// Tracking pixels to load once the offer is displayed, which count the impression for the partner; not in the specification.
        impression_tracking_pixel_urls?: Vec<String>,
    }

    /// An incentive for opening an account; not in the specification.
    IncentiveDetails {
        /// The amount, in `unit`.
        #[serde(serialize_with = "super::plain_number::required")]
        amount: f64,
        /// The unit of the amount.
        unit: IncentiveUnit,
        /// The incentive in words.
        display: String,
        /// The kind of the incentive.
        #[serde(rename = "type")]
        kind: IncentiveType,
    }
}
