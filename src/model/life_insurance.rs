//! What an offered policy of life insurance covers and costs; not in the specification.

use super::enums::{CarrierDecisionType, MedicalExam, PackageType, TermUnit};
use super::money::Money;
use super::record::record;

record! {
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
