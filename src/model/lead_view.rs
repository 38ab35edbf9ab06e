//! A lead as it is read back.

use uuid::Uuid;

use super::lead::Lead;
use super::lead_action::{LeadAction, LeadStatus};
use super::record::record;
use super::timestamp::Timestamp;

record! {
    /// A stored lead (specification: Lead, output): what the client sent, and what became of it.
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
        /// Links the leads of one user's visit.
        session_uuid?: Uuid,
        /// The company that referred the lead.
        referral_company_uuid?: Uuid,
        /// Internal tracking.
        tracking_uuid?: Uuid,
        /// Whether a test token sent the lead.
        is_test: bool,
        /// The furthest step that the lead has reached.
        status: LeadStatus,
        /// When the lead came.
        created_at: Timestamp,
        /// When anything of it last changed.
        updated_at: Timestamp,
        /// The sections of the lead, without what stands above and what an output lead lacks.
        #[serde(flatten)]
        #[schema(ignore)]
        sections: Lead,
    }
}

impl LeadView {
    /// A view of a lead to which nothing has happened yet.
    pub fn new(
        uuid: Uuid,
        company_uuid: Uuid,
        lead_provider_name: String,
        is_test: bool,
        created_at: Timestamp,
        lead: Lead,
    ) -> Self {
        Self {
            lead_provider_name,
            lead_actions: Vec::new(),
            uuid,
            company_uuid,
            session_uuid: lead.session_uuid,
            referral_company_uuid: lead.referral_company_uuid,
            tracking_uuid: lead.tracking_uuid,
            is_test,
            status: LeadStatus::INITIALIZED,
            created_at,
            updated_at: created_at,
            sections: Lead {
                product_types: None,
                uuid: None,
                session_uuid: None,
                form_completed: None,
                referral_company_uuid: None,
                tracking_uuid: None,
                ..lead
            },
        }
    }

    /// The view without anything that was sent but ids.
    #[must_use]
    pub fn without_what_was_sent(self) -> Self {
        Self { sections: Lead::default(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::lead::SAMPLE;

    #[test]
    fn a_view_has_every_section_and_each_id_once() {
        let lead = Lead::read(SAMPLE).unwrap();
        let created_at = Timestamp::parse("2026-11-21T00:15:55.887Z").unwrap();
        let view = LeadView::new(
            Uuid::from_u128(1),
            Uuid::from_u128(2),
            "Acme".to_owned(),
            true,
            created_at,
            lead.clone(),
        );

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
