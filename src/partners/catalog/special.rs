//! Special offers: insurance, life insurance, and other products, second look among them.

use serde::Serialize;
use uuid::Uuid;

use super::super::declared;
use super::super::identity::Identity;
use super::super::quote::SpecialTerms;
use super::super::template::{Ending, Template};
use crate::declaration::Checker;
use crate::model::{LifeInsuranceOfferDetails, ProductSubType, ProductType};

/// A special offer.
#[derive(Debug)]
pub struct Special {
    sub_type: Option<ProductSubType>,
    policy: Option<Box<LifeInsuranceOfferDetails>>,
}

/// The sub-types of life insurance.
const LIFE: &[ProductSubType] = &[
    ProductSubType::AccidentalDeathBenefits,
    ProductSubType::TermLife,
    ProductSubType::TermLifeInstant,
    ProductSubType::WholeLife,
];

/// Checks a declared special offer.
pub(super) fn declared(
    offer: &declared::Offer,
    product_type: ProductType,
    check: &mut Checker,
) -> Option<Special> {
    check.given("name", offer.name.is_some());
    check.given("description", offer.description.is_some());
    let sub_type = match product_type {
        ProductType::LifeInsurance => Some(check.sub_type(offer.sub_type, LIFE)?),
        _ => offer.sub_type,
    };
    if product_type != ProductType::LifeInsurance && offer.policy.is_some() {
        check.at("policy", "is for `products.life_insurance` only");
    }
    let policy = match &offer.policy {
        Some(policy) => Some(Box::new(check.policy(policy)?)),
        None => None,
    };
    Some(Special { sub_type, policy })
}

impl Special {
    /// What does not depend on the lead.
    pub(super) fn text(&self, offer: &declared::Offer, identity: &Identity) -> Template {
        Template::new(
            Ending::Offer,
            &SpecialText {
                product_sub_type: self.sub_type.unwrap_or(ProductSubType::Uncategorized),
                disclaimer: offer.disclaimer.as_deref(),
                name: offer.name.as_deref().unwrap_or_default(),
                desc: offer.description.as_deref().unwrap_or_default(),
                partner_name: &identity.partner.name,
                partner_image_url: &identity.partner.image_url,
                financial_institution_uuid: identity.institution,
                details: self.policy.as_deref(),
            },
            Some(offer.imprint(None)),
        )
    }

    /// Payout, and the auction the offer stands in.
    pub(super) fn quote(&self, payout: f64) -> SpecialTerms {
        SpecialTerms { payout, lot: self.sub_type.map(ProductSubType::ordinal) }
    }
}

/// The part of the specification's SpecialOffer that does not depend on the lead.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpecialText<'a> {
    product_sub_type: ProductSubType,
    #[serde(skip_serializing_if = "Option::is_none")]
    disclaimer: Option<&'a str>,
    name: &'a str,
    desc: &'a str,
    partner_name: &'a str,
    partner_image_url: &'a str,
    financial_institution_uuid: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a LifeInsuranceOfferDetails>,
}
