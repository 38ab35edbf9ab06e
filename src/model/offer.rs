//! What offers of cards, mortgages and savings products have in common.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::enums::{ProductSubType, ProductType};
use super::partner::Partner;
use super::plain_number;

/// An offer with the details of its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer<D> {
    /// The offer's id.
    pub uuid: Uuid,
    /// Who makes the offer.
    pub partner: Partner,
    /// Through whom the partner's offer came, when not from the partner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marketplace: Option<Partner>,
    /// The kind of product.
    pub product_type: ProductType,
    /// The finer kind of product.
    pub product_sub_type: ProductSubType,
    /// Where a click on the offer leads; one for each shown offer.
    pub url: String,
    /// The value of showing the offer, by which offers are sorted.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "plain_number::optional")]
    pub recommendation_score: Option<f64>,
    /// What must be said beside the offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclaimer: Option<String>,
    /// What must be said beside offers of this finer kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_sub_type_disclaimer: Option<String>,
    /// What only offers of this kind have.
    pub details: D,
    /// How customers rate the partner, out of 100; card offers have none.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "plain_number::optional")]
    pub consumer_rating: Option<f64>,
}
