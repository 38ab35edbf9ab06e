//! Who a partner is.

use serde::Deserialize;
use uuid::Uuid;

use offerd_model::{Originator, OriginatorImage, Partner};

/// Who a partner is.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Name of its file.
    pub key: String,
    /// As clients see it.
    pub partner: Partner,
    /// As clients of loan offers see it.
    pub originator: Originator,
    /// `demandSubAccountId` of the lead actions it causes.
    pub sub_account_id: i64,
    /// Institution in lead events.
    pub institution: Uuid,
    /// Whether it stands among the featured institutions.
    pub featured: bool,
    /// Through whom an offer comes, where somebody else makes it.
    pub marketplace: Option<Partner>,
    /// Suppression lists by name: it is not asked about who is on one of them.
    pub suppress: Vec<String>,
}

/// Who makes an offer that comes through the partner of a file. What is not given is as the file has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Institution {
    /// Its stable id.
    pub uuid: Option<Uuid>,
    /// Its name as shown to people.
    pub name: Option<String>,
    /// One sentence on who it is.
    pub description: Option<String>,
    /// What must be shown with its offers.
    pub disclaimer: Option<String>,
    /// Where its logo is.
    pub image_url: Option<String>,
}

impl Identity {
    /// Somebody else, whose offer comes through this partner.
    #[must_use]
    pub fn standing_for(&self, institution: &Institution) -> Self {
        let mut other = Self { marketplace: Some(self.partner.clone()), ..self.clone() };
        let (partner, originator) = (&mut other.partner, &mut other.originator);
        // What these say is of the marketplace alone.
        (partner.subtext_override, partner.headquarters, partner.assets) = (None, None, None);
        (partner.brand_name, partner.brand_uuid, originator.company_uuid) = (None, None, None);
        if let Some(uuid) = institution.uuid {
            (partner.uuid, other.institution, originator.financial_institution_uuid) =
                (uuid, uuid, Some(uuid));
        }
        if let Some(name) = &institution.name {
            (partner.name, originator.name) = (name.clone(), name.clone());
        }
        if let Some(description) = &institution.description {
            (partner.description, originator.description) = (description.clone(), Some(description.clone()));
        }
        if let Some(disclaimer) = &institution.disclaimer {
            (partner.disclaimer, originator.disclaimer) = (disclaimer.clone(), Some(disclaimer.clone()));
        }
        if let Some(url) = &institution.image_url {
            partner.image_url.clone_from(url);
            originator.images = vec![OriginatorImage { size_key: "default".to_owned(), url: url.clone() }];
        }
        other
    }
}
