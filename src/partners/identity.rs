//! The identity of a partner.

use serde::Deserialize;
use uuid::Uuid;

use offerd_model::{Originator, OriginatorImage, Partner};

/// The identity of a partner.
#[derive(Debug, Clone)]
pub struct PartnerIdentity {
    /// Key of the partner, from its file name.
    pub key: String,
    /// The partner as clients see it.
    pub partner: Partner,
    /// The partner as clients of loan offers see it.
    pub originator: Originator,
    /// `demandSubAccountId` of the lead actions it causes.
    pub sub_account_id: i64,
    /// Institution id in lead events.
    pub institution: Uuid,
    /// Whether it is listed among the featured institutions.
    pub featured: bool,
    /// The marketplace through which the offer comes, if another institution makes it.
    pub marketplace: Option<Partner>,
    /// Names of suppression lists; the partner is not asked about people on them.
    pub suppress: Vec<String>,
}

/// The institution behind an offer that comes through a marketplace; missing values are the partner's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Institution {
    /// Stable id.
    pub uuid: Option<Uuid>,
    /// Display name.
    pub name: Option<String>,
    /// One sentence about the institution.
    pub description: Option<String>,
    /// Disclaimer that must be shown with its offers.
    pub disclaimer: Option<String>,
    /// URL of its logo.
    pub image_url: Option<String>,
}

impl PartnerIdentity {
    /// The identity of an institution whose offers come through this partner.
    #[must_use]
    pub fn standing_for(&self, institution: &Institution) -> Self {
        let mut other = Self { marketplace: Some(self.partner.clone()), ..self.clone() };
        let (partner, originator) = (&mut other.partner, &mut other.originator);
        // These describe the marketplace only.
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
