//! A stored lead as clients read it: its data, its steps through the funnel, and its status.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::enums::{LeadActionType, RejectReason};
use super::lead::Lead;
use super::timestamp::Timestamp;
use crate::record;

record! {
    /// A stored lead (specification: Lead, output): the data that the client sent, and the lead's progress.
    #[schema(as = Lead)]
    LeadView {
        /// The name of the company that sent the lead.
        lead_provider_name: String,
        /// The steps of the lead so far.
        lead_actions: Vec<LeadAction>,
        /// The lead's id.
        uuid: Uuid,
        /// The company that sent the lead.
        #[serde(rename = "companyUUID")]
        company_uuid: Uuid,
        /// Links the leads of one visit.
        session_uuid?: Uuid,
        /// The company that referred the lead.
        referral_company_uuid?: Uuid,
        /// Internal tracking.
        tracking_uuid?: Uuid,
        /// Whether a test token sent the lead.
        is_test: bool,
        /// The furthest step that the lead has reached.
        status: LeadStatus,
        /// When the lead was created.
        created_at: Timestamp,
        /// When the lead last changed.
        updated_at: Timestamp,
        /// The sections of the lead, without the fields above and those that an output lead lacks.
        #[serde(flatten)]
        #[schema(ignore)]
        sections: Lead,
    }
}

impl Lead {
    /// The sections alone, without the fields that a [`LeadView`] adds and those that an output lead lacks.
    #[must_use]
    pub fn sections(self) -> Self {
        Self {
            product_types: None,
            uuid: None,
            session_uuid: None,
            form_completed: None,
            referral_company_uuid: None,
            tracking_uuid: None,
            ..self
        }
    }
}

record! {
    /// One step of a lead.
    LeadAction {
        /// The action's id.
        uuid: Uuid,
        /// The type of the step.
        action_type: LeadActionType,
        /// The time of the step.
        action_date: Timestamp,
        /// The institution of the step.
        originator_key?: String,
        /// The demand sub-account through which the institution is asked.
        demand_sub_account_id: i64,
        /// Why the institution rejected the lead.
        reject_reason?: RejectReason,
        /// The amount of the loan, in dollars.
        amount?: i32,
        /// The origination fee, in dollars.
        origination_fee?: i32,
        /// The click that led to the step.
        offer_click_id?: i64,
        /// When the service recorded it.
        created_at: Timestamp,
        /// When it was reversed.
        deleted_at?: Timestamp,
    }
}

/// The steps of the funnel in order; all clicks have the same place.
#[rustfmt::skip]
const FUNNEL: [&[LeadActionType]; 14] = {
    use LeadActionType::*;
    [
        &[Initialized], &[ApiRejected], &[ApiApproved], &[ApiListing],
        &[
            ClickedReferralLink, ClickedSpecialOfferLink, ClickedCreditCardOfferLink, ClickedMortgageOfferLink,
            ClickedSavingsOfferLink,
        ],
        &[SpecialOfferConversion], &[Applied], &[Submitted], &[LenderQualifiedLead], &[Rejected], &[Approved],
        &[Listed], &[NotFunded], &[Funded],
    ]
};

impl LeadActionType {
    /// The position of the step in the funnel.
    fn rank(self) -> Option<usize> {
        FUNNEL.iter().position(|steps| steps.contains(&self))
    }
}

/// The furthest step that a lead has reached; ordered by the funnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct LeadStatus(pub LeadActionType);

impl LeadStatus {
    /// The status of a new lead.
    pub const INITIALIZED: Self = Self(LeadActionType::Initialized);

    /// The status after another step; it never goes back.
    #[must_use]
    pub fn after(self, step: LeadActionType) -> Self {
        if step.rank() > self.0.rank() { Self(step) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lead::SAMPLE;

    #[test]
    fn the_funnel_is_ordered() {
        use LeadActionType::*;
        let funnel = [
            Initialized,
            ApiRejected,
            ApiApproved,
            ApiListing,
            ClickedReferralLink,
            Applied,
            Rejected,
            Approved,
            Listed,
            NotFunded,
            Funded,
        ];
        for pair in funnel.windows(2) {
            assert_eq!(LeadStatus(pair[0]).after(pair[1]), LeadStatus(pair[1]));
            assert_eq!(LeadStatus(pair[1]).after(pair[0]), LeadStatus(pair[1]));
        }
    }

    #[test]
    fn a_second_click_leaves_the_first_as_status() {
        let clicked = LeadStatus(LeadActionType::ClickedSavingsOfferLink);
        assert_eq!(clicked.after(LeadActionType::ClickedReferralLink), clicked);
        assert_eq!(serde_json::to_string(&clicked).unwrap(), "\"clicked_savings_offer_link\"");
    }

    #[test]
    fn a_view_has_every_section_and_each_id_once() {
        let lead = Lead::read(SAMPLE).unwrap();
        let created_at = Timestamp::parse("2026-11-21T00:15:55.887Z").unwrap();
        let view = LeadView {
            lead_provider_name: "Acme".to_owned(),
            lead_actions: Vec::new(),
            uuid: Uuid::from_u128(1),
            company_uuid: Uuid::from_u128(2),
            session_uuid: lead.session_uuid,
            referral_company_uuid: lead.referral_company_uuid,
            tracking_uuid: lead.tracking_uuid,
            is_test: true,
            status: LeadStatus::INITIALIZED,
            created_at,
            updated_at: created_at,
            sections: lead.clone().sections(),
        };

        let json = serde_json::to_string(&view).unwrap();
        assert_eq!(json.matches("\"uuid\":").count(), 1);
        assert_eq!(json.matches("\"sessionUuid\":").count(), 1);
        for (key, present) in [("companyUUID", true), ("productTypes", false), ("formCompleted", false)] {
            assert_eq!(json.contains(key), present, "{key}");
        }
        assert_eq!(view.sections.personal_information, lead.personal_information);
        assert_eq!(serde_json::from_str::<LeadView>(&json).unwrap(), view);
    }
}
