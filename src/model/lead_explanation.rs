//! Why a lead has the offers that it has, as its supply partner may read it (ours; the specification has nothing like it).

use uuid::Uuid;

use super::enums::{ConversionSource, OfferResult, PartnerResult, ProductType, RejectReason};
use super::timestamp::Timestamp;
use crate::record;

record! {
    /// Why a lead has the offers that it has.
    LeadExplanation {
        /// The lead.
        lead_uuid: Uuid,
        /// Its rate tables, oldest first.
        rate_tables: Vec<RateTableExplanation>,
    }

    /// Why a rate table is as it is.
    RateTableExplanation {
        /// The rate table's id.
        uuid: Uuid,
        /// When it was made.
        created_at: Timestamp,
        /// Whether a partner is still outstanding.
        pending: bool,
        /// Whether partners or lead have changed since: conditions are then those of now, and so is what they find.
        changed_since: bool,
        /// Every partner, by product type: those who had a place at the table first.
        partners: Vec<PartnerExplanation>,
    }

    /// What became of a partner at a rate table.
    PartnerExplanation {
        /// The partner.
        partner_uuid: Uuid,
        /// Its name.
        partner_name: String,
        /// What it is asked for.
        product_type: ProductType,
        /// What became of it.
        result: PartnerResult,
        /// Why it was not asked, when the lead is the reason.
        conditions: Vec<UnmetCondition>,
        /// Its offers, shown or not.
        offers: Vec<OfferExplanation>,
        /// Why it rejected the person.
        reject_reason?: RejectReason,
        /// When it was asked.
        asked_at?: Timestamp,
        /// How long its answer took, or the wait for it, in milliseconds.
        answered_after_ms?: i64,
    }

    /// What became of an offer at a rate table.
    OfferExplanation {
        /// What the partner calls it.
        name: String,
        /// What became of it.
        result: OfferResult,
        /// Why it is not for this lead.
        conditions: Vec<UnmetCondition>,
        /// The offer's id, when the partner answered with it.
        uuid?: Uuid,
        /// Where its conversion probability is from, when it was ranked; else the partner's file says it.
        conversion_from?: ConversionSource,
    }

    /// A condition on the lead that is not met.
    UnmetCondition {
        /// What is wanted.
        wanted: String,
        /// What was found; personal values are not shown.
        found: String,
        /// The attribute of the lead, a client tag (`clientTags.<name>`), or what is derived from several: `age`, `creditScore`,
        /// `debtToIncome`, `loanToValue`, `mortgageLoanAmount`, `newerValues`, `combinedLoanToValue`, `loanToIncome`,
        /// `mortgageToIncome`, `paymentToIncome`, `unsecuredDebtToIncome`, `vehiclePaymentToIncome`.
        attribute?: String,
    }
}
