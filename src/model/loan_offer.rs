//! Offers of loans.

use uuid::Uuid;

use super::enums::{AprType, ProductSubType, ProductType, TermUnit};
use super::fixed_point::{Money, Percent};
use crate::record;

record! {
    /// An offer of a loan, secured or not, or of a line of credit. Ranges where it is not personal.
    LoanOffer {
        /// The offer's id.
        uuid: Uuid,
        /// The kind of product.
        product_type: ProductType,
        /// The finer kind of product.
        product_sub_type: ProductSubType,
        /// Who makes the offer.
        originator: Originator,
        /// Whether approval is likely (four in five).
        pre_qualified: bool,
        /// Whether approval is nearly certain (nineteen in twenty).
        pre_approved: bool,
        /// Whether something is pledged for the loan.
        secured: bool,
        /// Whether the offer counts on the co-applicant.
        co_applicant: bool,
        /// Whether the originator paid for the place of the offer.
        sponsored: bool,
        /// The most that can be borrowed, in dollars.
        max_amount: i32,
        /// The term, in the unit below.
        term_length: i32,
        /// The unit of the term.
        term_unit: TermUnit,
        /// How the rate behaves.
        apr_type: AprType,
        /// Whether the loan may be paid back early.
        allow_prepayment: bool,
        /// What must be said beside offers of this finer kind.
        product_sub_type_disclaimer?: String,
        /// Where a click on the offer leads.
        url?: String,
        /// The least that can be borrowed, in dollars.
        min_amount?: i32,
        /// What stands before the amount where it is shown; not in the specification.
        amount_prefix?: String,
        /// The unit to show the term in.
        display_term_unit?: String,
        /// The term in words.
        term_description?: String,
        /// The rate in words.
        apr_description?: String,
        /// The instalment in words.
        monthly_payment_description?: String,
        /// The highest cost of a year.
        max_apr?: Percent,
        /// The lowest cost of a year.
        min_apr?: Percent,
        /// The middle between the two.
        mean_apr?: Percent,
        /// The value of showing the offer; compares with that of special offers.
        #[serde(serialize_with = "super::plain_number::optional")]
        recommendation_score?: f64,
        /// What a conversion earns.
        payout?: Money,
        /// How likely a conversion is, from 0 to 1.
        #[serde(serialize_with = "super::plain_number::optional")]
        conversion_probability?: f64,
        /// The originator's own name for the offer.
        originator_id?: String | null,
        /// The small print.
        terms?: String | null,
        /// Deprecated spelling of `max_fee_rate`.
        fee_rate?: Percent | null,
        /// The highest fee, in percent of the amount.
        max_fee_rate?: Percent | null,
        /// The lowest fee, in percent of the amount.
        min_fee_rate?: Percent | null,
        /// Deprecated spelling of `max_fee_fixed`.
        fee_fixed?: Money | null,
        /// The highest fee that does not depend on the amount.
        max_fee_fixed?: Money | null,
        /// The lowest fee that does not depend on the amount.
        min_fee_fixed?: Money | null,
        /// What paying back early costs.
        prepayment_fee?: Money | null,
        /// Deprecated spelling of `max_monthly_payment`.
        monthly_payment?: Money | null,
        /// The highest instalment of a month.
        max_monthly_payment?: Money | null,
        /// The lowest instalment of a month.
        min_monthly_payment?: Money | null,
        /// The middle between the two.
        mean_monthly_payment?: Money | null,
        /// The most that is paid back altogether.
        max_total_payment?: Money | null,
        /// The least that is paid back altogether.
        min_total_payment?: Money | null,
        /// The middle between the two.
        mean_total_payment?: Money | null,
    }

    /// The institution behind a loan offer.
    Originator {
        /// A short name for programs, never changed.
        key: String,
        /// The name to show.
        name: String,
        /// Who they are, in a sentence or two.
        description?: String,
        /// The logo, in one size or more; clients break when there is none.
        images: Vec<OriginatorImage>,
        /// What must be said beside any of their offers.
        disclaimer?: String,
        /// The company's id.
        company_uuid?: Uuid,
        /// The institution's id, the one that events are grouped by.
        financial_institution_uuid?: Uuid,
    }

    /// A logo in one size.
    #[derive(Eq)]
    OriginatorImage {
        /// The name of the size.
        size_key: String,
        /// Where the image is.
        url: String,
    }
}
