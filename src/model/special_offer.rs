//! Offers of everything that has no array of its own.

use uuid::Uuid;

use super::enums::ProductSubType;
use super::life_insurance::LifeInsuranceOfferDetails;
use super::money::Money;
use super::record::record;

record! {
    /// An offer for insurance, debt relief and other products, described in words.
    SpecialOffer {
        /// The offer's id.
        uuid: Uuid,
        /// The finer kind of product; not in the specification, as the disclaimer.
        #[serde(default = "unsorted")]
        #[schema(required = true)]
        product_sub_type: ProductSubType,
        /// What is offered.
        name: String,
        /// What it is, in a sentence or two.
        desc: String,
        /// Where a click on the offer leads.
        url: String,
        /// Who makes the offer.
        partner_name: String,
        /// Where their logo is.
        partner_image_url: String,
        /// What must be said beside the offer.
        disclaimer?: String,
        /// The institution behind the offer; not in the specification.
        financial_institution_uuid?: Uuid,
        /// What a policy of life insurance covers and costs; not in the specification.
        details?: LifeInsuranceOfferDetails,
        /// The value of showing the offer; compares with that of loan offers.
        #[serde(serialize_with = "super::plain_number::optional")]
        recommendation_score?: f64,
        /// What a conversion earns.
        payout?: Money,
    }
}

/// What offers are that were stored when they had no finer kind.
fn unsorted() -> ProductSubType {
    ProductSubType::Uncategorized
}
