//! Special offers: all products without an offer array of their own.

use uuid::Uuid;

use super::enums::{CarrierDecisionType, MedicalExam, PackageType, ProductSubType, TermUnit};
use super::fixed_point::Money;
use crate::record;

record! {
    /// An offer of insurance, debt relief or another product, described in words.
    SpecialOffer {
        /// The offer's id.
        uuid: Uuid,
        /// The product subtype; not in the specification, nor is the disclaimer.
        product_sub_type: ProductSubType,
        /// The name of the offer.
        name: String,
        /// A description, in a sentence or two.
        desc: String,
        /// The link that a click opens.
        url: String,
        /// The partner's name.
        partner_name: String,
        /// The address of the partner's logo.
        partner_image_url: String,
        /// The disclaimer that must be shown with the offer.
        disclaimer?: String,
        /// The institution behind the offer; not in the specification.
        financial_institution_uuid?: Uuid,
        /// Cover and price of a life insurance policy; not in the specification.
        details?: LifeInsuranceOfferDetails,
        /// The value of showing the offer; comparable with that of loan offers.
        #[serde(serialize_with = "super::plain_number::optional")]
        recommendation_score?: f64,
        /// The payout for a conversion.
        payout?: Money,
    }

    /// The terms of a life insurance policy, in a special offer.
    LifeInsuranceOfferDetails {
        /// The death benefit, in dollars.
        policy_amount: i64,
        /// The monthly premium.
        monthly_premium_amount: Money,
        /// The length of the term, in `termUnit`.
        term_length?: i64,
        /// The unit of the term.
        term_unit?: TermUnit,
        /// The annual premium.
        annual_premium_amount?: Money,
        /// The semi-annual premium.
        semi_annual_premium_amount?: Money,
        /// Whether an online application is available.
        online_app_available?: bool,
        /// Whether no medical test is required.
        no_medical_test?: bool,
        /// The extent of cover beyond death.
        package_type?: PackageType,
        /// Whether the insurer recommends this policy.
        recommended?: bool,
        /// Whether a medical exam is required.
        medical_exam?: MedicalExam,
        /// The name of the policy.
        policy_name?: String,
        /// How long the insurer takes to decide.
        carrier_decision_type?: CarrierDecisionType,
        /// The insurer's id of the quote.
        partner_quote_id?: String,
        /// Whether it can be converted to permanent insurance.
        convert_to_permanent?: bool,
        /// The child rider.
        child_rider?: String,
        /// Whether part of the benefit is paid early in terminal illness.
        accelerated_death_benefit?: bool,
        /// When premiums are waived.
        waiver_of_premium?: String,
        /// Whether the whole application is made online.
        is_online_application?: bool,
        /// How the policy is delivered.
        delivery_method?: String,
        /// The examination that is required, in words.
        exam_required?: String,
    }
}
