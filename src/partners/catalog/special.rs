//! Special offers: insurance, life insurance, and other products, second look among them.

use super::super::declared::Offer;
use super::super::identity::PartnerIdentity;
use super::super::json_object::JsonObjectWriter;
use super::super::quote::{QuoteTerms, SpecialTerms};
use super::{Quoted, STATIC_SUITABILITY};
use crate::check::checker::PartnerFileChecker as Checker;
use offerd_model::{LifeInsuranceOfferDetails, ProductSubType, ProductType};

/// A special offer.
#[derive(Debug)]
pub struct Special {
    sub_type: Option<ProductSubType>,
    policy: Option<Box<LifeInsuranceOfferDetails>>,
}

const LIFE: &[ProductSubType] = &[
    ProductSubType::AccidentalDeathBenefits,
    ProductSubType::TermLife,
    ProductSubType::TermLifeInstant,
    ProductSubType::WholeLife,
];

pub(super) fn declared(offer: &Offer, product_type: ProductType, check: &mut Checker) -> Option<Special> {
    check.given("name", offer.name.is_some());
    check.given("description", offer.description.is_some());
    let sub_type = match product_type {
        ProductType::LifeInsurance => Some(check.sub_type(offer, LIFE)?),
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
    pub(super) fn text(&self, text: &mut JsonObjectWriter<'_>, offer: &Offer, identity: &PartnerIdentity) {
        text.set("productSubType", &self.sub_type.unwrap_or(ProductSubType::Uncategorized))
            .set_some("disclaimer", offer.disclaimer.as_deref())
            .set("name", offer.name.as_deref().unwrap_or_default())
            .set("desc", offer.description.as_deref().unwrap_or_default())
            .set("partnerName", &identity.partner.name)
            .set("partnerImageUrl", &identity.partner.image_url)
            .set("financialInstitutionUuid", &identity.institution)
            .set_some("details", self.policy.as_deref());
    }

    /// The offer's terms; its payout is not known yet.
    pub(super) fn quote(&self) -> Quoted {
        let terms = SpecialTerms { payout: 0.0, competes_as: self.sub_type.map(ProductSubType::ordinal) };
        (QuoteTerms::Special(terms), STATIC_SUITABILITY, None)
    }
}
