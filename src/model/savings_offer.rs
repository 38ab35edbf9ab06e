//! Offers of savings products.

use super::enums::{CompoundingMethod, FederalInsuranceType, IncentiveType, IncentiveUnit, TermUnit};
use super::money::Money;
use super::offer::Offer;
use super::percent::Percent;
use super::record::record;
use super::timestamp::Timestamp;

/// An offer of a savings product.
pub type SavingsOffer = Offer<SavingsOfferDetails>;

record! {
    /// The terms of an offered savings product.
    SavingsOfferDetails {
        /// Yield of a year, compounding included.
        annual_percent_yield: Percent,
        /// How often interest is added to the balance.
        compounding_method: CompoundingMethod,
        /// The least that must be deposited.
        minimum_deposit: Money,
        /// What the account costs each month.
        monthly_fee: Money,
        /// When the terms were last checked.
        effective_as_of: Timestamp,
        /// The name of the product.
        name?: String,
        /// What it is, in a sentence or two.
        description?: String,
        /// The small print.
        details?: String,
        /// Interest of a year, compounding apart.
        rate?: Percent,
        /// For how many months the introductory rate holds.
        introductory_period_months?: i32,
        /// The rate in those months.
        introductory_rate?: Percent,
        /// The least deposit that covers the fees.
        minimum_deposit_with_fees?: Money,
        /// Whether one can write cheques on the account.
        check_writing?: bool,
        /// Who insures the deposit; not in the specification, as what follows.
        federal_insurance_type?: FederalInsuranceType,
        /// What is given for opening the account.
        incentive_details?: Vec<IncentiveDetails>,
        /// The unit of the term of a certificate of deposit.
        cd_term_unit?: TermUnit,
        /// That term.
        cd_term_length?: i32,
        /// Images to load once the offer is seen, which count that for the partner.
        impression_tracking_pixel_urls?: Vec<String>,
    }

    /// Something that is given for opening an account; not in the specification.
    IncentiveDetails {
        /// How much, in the unit below.
        #[serde(serialize_with = "super::plain_number::required")]
        amount: f64,
        /// What it is counted in.
        unit: IncentiveUnit,
        /// The same in words.
        display: String,
        /// What is given.
        #[serde(rename = "type")]
        kind: IncentiveType,
    }
}
