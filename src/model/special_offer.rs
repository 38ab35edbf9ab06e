//! Offers of everything that has no array of its own.

use uuid::Uuid;

use super::enums::{CarrierDecisionType, MedicalExam, PackageType, ProductSubType, TermUnit};
use super::fixed_point::Money;
use crate::record;

record! {
    /// An offer for insurance, debt relief and other products, described in words.
    SpecialOffer {
        /// The offer's id.
        uuid: Uuid,
        /// The finer kind of product; not in the specification, as the disclaimer.
        product_sub_type: ProductSubType,
        /// What is offered.
        name: String,
        /// What it is, in a sentence or two.
        desc: String,
        /// Where a click on the offer leads.
        url: String,
        /// Who makes the offer.
        partner_name: String,
        /// Where their logo is.
        partner_image_url: String,
        /// What must be said beside the offer.
        disclaimer?: String,
        /// The institution behind the offer; not in the specification.
        financial_institution_uuid?: Uuid,
        /// What a policy of life insurance covers and costs; not in the specification.
        details?: LifeInsuranceOfferDetails,
        /// The value of showing the offer; compares with that of loan offers.
        #[serde(serialize_with = "super::plain_number::optional")]
        recommendation_score?: f64,
        /// What a conversion earns.
        payout?: Money,
    }

    /// The terms of an offered policy. They stand at a special offer.
    LifeInsuranceOfferDetails {
        /// What is paid at death, in dollars.
        policy_amount: i64,
        /// The premium of a month.
        monthly_premium_amount: Money,
        /// How long it covers, in the unit below.
        term_length?: i64,
        /// The unit of that time.
        term_unit?: TermUnit,
        /// The premium of a year.
        annual_premium_amount?: Money,
        /// The premium of half a year.
        semi_annual_premium_amount?: Money,
        /// Whether one can apply online.
        online_app_available?: bool,
        /// Whether no test of health is needed.
        no_medical_test?: bool,
        /// How much it covers beside death.
        package_type?: PackageType,
        /// Whether the insurer advises this one.
        recommended?: bool,
        /// Whether a doctor looks at who is to be insured.
        medical_exam?: MedicalExam,
        /// The name of the policy.
        policy_name?: String,
        /// How long the insurer takes to decide.
        carrier_decision_type?: CarrierDecisionType,
        /// The insurer's own name for the quote.
        partner_quote_id?: String,
        /// Whether it can become one for life.
        convert_to_permanent?: bool,
        /// What it covers of children.
        child_rider?: String,
        /// Whether a part is paid to who falls terminally ill.
        accelerated_death_benefit?: bool,
        /// When premiums need not be paid.
        waiver_of_premium?: String,
        /// Whether the whole application is made online.
        is_online_application?: bool,
        /// How the policy is delivered.
        delivery_method?: String,
        /// Which examination is needed, in words.
        exam_required?: String,
    }
}
