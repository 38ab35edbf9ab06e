//! Offers of loans.

use uuid::Uuid;

use super::enums::{AprType, ProductSubType, ProductType, TermUnit};
use super::fixed_point::{Money, Percent};
use crate::record;

record! {
    /// An offer of a secured or unsecured loan, or of a line of credit. Values are ranges unless the offer is
    /// personal.
    LoanOffer {
        /// The offer's id.
        uuid: Uuid,
        /// The kind of product.
        product_type: ProductType,
        /// The product subtype.
        product_sub_type: ProductSubType,
        /// The originator of the offer.
        originator: Originator,
        /// Whether approval is likely (four in five).
        pre_qualified: bool,
        /// Whether approval is nearly certain (nineteen in twenty).
        pre_approved: bool,
        /// Whether the loan is secured by collateral.
        secured: bool,
        /// Whether the offer includes the co-applicant.
        co_applicant: bool,
        /// Whether the originator paid for the offer's position.
        sponsored: bool,
        /// The maximum amount, in dollars.
        max_amount: i32,
        /// The length of the term, in `termUnit`.
        term_length: i32,
        /// The unit of the term.
        term_unit: TermUnit,
        /// The type of the rate.
        apr_type: AprType,
        /// Whether the loan may be paid back early.
        allow_prepayment: bool,
        /// The disclaimer that must be shown with offers of this subtype.
        product_sub_type_disclaimer?: String,
        /// The link that a click opens.
        #[schema(required)]
        url?: String,
        /// The minimum amount, in dollars.
        min_amount?: i32,
        /// The text to show before the amount; not in the specification.
        amount_prefix?: String,
        /// The unit to show the term in.
        display_term_unit?: String,
        /// The term in words.
        term_description?: String,
        /// The rate in words.
        apr_description?: String,
        /// The monthly payment in words.
        monthly_payment_description?: String,
        /// The highest APR.
        max_apr?: Percent,
        /// The lowest APR.
        min_apr?: Percent,
        /// The mean of both.
        mean_apr?: Percent,
        /// The value of showing the offer; comparable with that of special offers.
        #[serde(serialize_with = "super::plain_number::optional")]
        recommendation_score?: f64,
        /// The payout for a conversion.
        payout?: Money,
        /// The probability of a conversion, from 0 to 1.
        #[serde(serialize_with = "super::plain_number::optional")]
        conversion_probability?: f64,
        /// The originator's id of the offer.
        originator_id?: String | null,
        /// The small print.
        terms?: String | null,
        /// Deprecated: the same as `maxFeeRate`.
        fee_rate?: Percent | null,
        /// The highest fee, in percent of the amount.
        max_fee_rate?: Percent | null,
        /// The lowest fee, in percent of the amount.
        min_fee_rate?: Percent | null,
        /// Deprecated: the same as `maxFeeFixed`.
        fee_fixed?: Money | null,
        /// The highest fixed fee.
        max_fee_fixed?: Money | null,
        /// The lowest fixed fee.
        min_fee_fixed?: Money | null,
        /// The fee for early repayment.
        prepayment_fee?: Money | null,
        /// Deprecated: the same as `maxMonthlyPayment`.
        monthly_payment?: Money | null,
        /// The highest monthly payment.
        max_monthly_payment?: Money | null,
        /// The lowest monthly payment.
        min_monthly_payment?: Money | null,
        /// The mean of both.
        mean_monthly_payment?: Money | null,
        /// The highest total payment.
        max_total_payment?: Money | null,
        /// The lowest total payment.
        min_total_payment?: Money | null,
        /// The mean of both.
        mean_total_payment?: Money | null,
    }

    /// The institution behind a loan offer.
    Originator {
        /// A short name for programs, which never changes.
        key: String,
        /// The name to show.
        name: String,
        /// A description, in a sentence or two.
        description?: String,
        /// The logo, in one or more sizes; clients fail if it is empty.
        images: Vec<OriginatorImage>,
        /// The disclaimer that must be shown with each of its offers.
        disclaimer?: String,
        /// The company's id.
        company_uuid?: Uuid,
        /// The institution's id; group events by this.
        financial_institution_uuid?: Uuid,
    }

    /// A logo in one size.
    #[derive(Eq)]
    OriginatorImage {
        /// The name of the size.
        size_key: String,
        /// The address of the image.
        url: String,
    }
}
