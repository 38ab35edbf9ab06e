//! The identity of a lead for the duplicate look-back: a keyed hash, so that the record names nobody.

use std::collections::BTreeSet;

use offerd_model::{ProductType, name_in_lists};
use offerd_store::Store;
use offerd_store::entities::LeadRecord;

/// The identity of a lead: a [keyed hash](Store::blind) of the social security number, or
/// e-mail and date of birth, or primary phone and last name, with the set of product types.
pub fn identity_of(store: &Store, record: &LeadRecord) -> Option<[u8; 32]> {
    let LeadRecord { test, lead, .. } = record;
    let person = lead.personal_information.as_ref()?;
    let identity = if let Some(ssn) = &person.ssn {
        let digits: String = ssn.as_str().chars().filter(char::is_ascii_digit).collect();
        format!("ssn\0{digits}")
    } else if let (Some(email), Some(born)) = (&person.email, &person.date_of_birth) {
        format!("email\0{}\0{born}", email.as_str().to_lowercase())
    } else if let (Some(phone), Some(name)) = (&person.primary_phone, &person.last_name) {
        format!("phone\0{}\0{}", phone.as_str(), name_in_lists(name))
    } else {
        return None;
    };

    let given = lead.product_types.as_deref().filter(|given| !given.is_empty());
    let products: BTreeSet<&ProductType> = given.unwrap_or(ProductType::SPECIFIED).iter().collect();

    // Test leads and live leads do not duplicate each other.
    let mut text = if *test { format!("test\0{identity}") } else { identity };
    for product in products {
        text.push('\0');
        text.push_str(product.as_str());
    }
    Some(store.blind("identity", text.as_bytes()))
}
