//! The featured institutions of a book.

use std::collections::BTreeMap;

use uuid::Uuid;

use offerd_model::FeaturedFinancialInstitution;
use offerd_partners::base_url::absolute;
use offerd_partners::{Book, PartnerIdentity};

/// Lists the featured institutions by name, each once. Partners of one institution share its uuid; the first
/// of them represents it. `base_url` replaces the placeholder in URLs of partner files.
pub fn featured_institutions(book: &Book, base_url: &str) -> Vec<FeaturedFinancialInstitution> {
    let mut by_uuid: BTreeMap<Uuid, FeaturedFinancialInstitution> = BTreeMap::new();
    for identity in book.partners().into_iter().filter(|identity| identity.featured) {
        by_uuid.entry(identity.institution).or_insert_with(|| shown(identity, base_url));
    }
    let mut institutions: Vec<_> = by_uuid.into_values().collect();
    institutions.sort_by(|one, other| one.name.cmp(&other.name));
    institutions
}

fn shown(identity: &PartnerIdentity, base_url: &str) -> FeaturedFinancialInstitution {
    let (partner, uuid) = (&identity.partner, identity.institution);
    let logo_url = absolute(&partner.image_url, base_url);
    FeaturedFinancialInstitution { uuid, name: partner.name.clone(), logo_url }
}
