//! Why a lead has the offers that it has, for its company (ours; not in the specification).

use uuid::Uuid;

use super::enums::{ConversionSource, OfferResult, PartnerResult, ProductType, RejectReason};
use super::timestamp::Timestamp;
use crate::record;

record! {
    /// Explains which offers a lead has, and why.
    LeadExplanation {
        /// The lead.
        lead_uuid: Uuid,
        /// Its rate tables, oldest first.
        rate_tables: Vec<RateTableExplanation>,
    }

    /// Explains a rate table.
    RateTableExplanation {
        /// The rate table's id.
        uuid: Uuid,
        /// When it was created.
        created_at: Timestamp,
        /// Whether a response is still pending.
        pending: bool,
        /// Whether partner files or the lead have changed since; if so, conditions are evaluated as of now.
        changed_since: bool,
        /// Every partner, by product type; partners with a seat at the table come first.
        partners: Vec<PartnerExplanation>,
    }

    /// The result of a partner at a rate table.
    PartnerExplanation {
        /// The partner.
        partner_uuid: Uuid,
        /// The partner's name.
        partner_name: String,
        /// The product type that it is asked for.
        product_type: ProductType,
        /// The result.
        result: PartnerResult,
        /// The conditions on the lead that kept the partner from being asked.
        conditions: Vec<UnmetCondition>,
        /// Its offers, shown or not.
        offers: Vec<OfferExplanation>,
        /// Why the partner rejected the person.
        reject_reason?: RejectReason,
        /// When it was asked.
        asked_at?: Timestamp,
        /// The time until its answer or its timeout, in milliseconds.
        answered_after_ms?: i64,
    }

    /// The result of an offer at a rate table.
    OfferExplanation {
        /// The partner's name for the offer.
        name: String,
        /// The result.
        result: OfferResult,
        /// The conditions that the lead does not meet.
        conditions: Vec<UnmetCondition>,
        /// The offer's id, if the partner answered with it.
        uuid?: Uuid,
        /// The source of its conversion probability, if it was ranked and the partner file sets none.
        conversion_from?: ConversionSource,
    }

    /// A condition on the lead that is not met.
    UnmetCondition {
        /// The required value.
        wanted: String,
        /// The value found; personal values are not shown.
        found: String,
        /// The attribute of the lead, a client tag (`clientTags.<name>`), or a derived value: `age`,
        /// `creditScore`, `debtToIncome`, `loanToValue`, `mortgageLoanAmount`, `newerValues`,
        /// `combinedLoanToValue`, `loanToIncome`, `mortgageToIncome`, `paymentToIncome`,
        /// `unsecuredDebtToIncome`, `vehiclePaymentToIncome`.
        attribute?: String,
    }
}
