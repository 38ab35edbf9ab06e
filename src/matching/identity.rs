//! Who a lead is, for the company's duplicate look-back: a keyed hash, so that the record names nobody.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

use crate::model::{Lead, ProductType};

/// Key under which a lead's identity is kept: the company, and the HMAC-SHA-256 of the normalised social security
/// number, or else e-mail and date of birth, or else primary phone and last name, with the set of product types
/// (facts, Duplicates). `None` for a lead without any of them, which is never a duplicate.
pub fn identity_key(secret: &[u8], company: Uuid, lead: &Lead) -> Option<Vec<u8>> {
    let person = lead.personal_information.as_ref()?;
    let identity = if let Some(ssn) = &person.ssn {
        format!("ssn\0{}", digits(ssn.as_str()))
    } else if let (Some(email), Some(born)) = (&person.email, &person.date_of_birth) {
        format!("email\0{}\0{born}", email.as_str().to_lowercase())
    } else if let (Some(phone), Some(name)) = (&person.primary_phone, &person.last_name) {
        format!("phone\0{}\0{}", phone.as_str(), name.trim().to_lowercase())
    } else {
        return None;
    };

    let mut products: Vec<ProductType> = lead.product_types.clone().unwrap_or_default();
    if products.is_empty() {
        products = ProductType::ALL.to_vec();
    }
    products.sort_unstable();
    products.dedup();

    let mut hmac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    hmac.update(identity.as_bytes());
    for product in products {
        hmac.update(b"\0");
        hmac.update(product.as_str().as_bytes());
    }
    Some([&company.as_bytes()[..], &hmac.finalize().into_bytes()].concat())
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}
