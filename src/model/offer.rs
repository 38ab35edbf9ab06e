//! What offers of cards, mortgages and savings products have in common.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{KnownFormat, Ref, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::enums::{ProductSubType, ProductType};
use super::partner::Partner;
use super::plain_number;
use super::schema::{self, Components};
use super::timestamp::Timestamp;

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
    /// The offer's place in its list, from 1; not in the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<i32>,
    /// Until when the offer can be opened; not in the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl<D: ToSchema> PartialSchema for Offer<D> {
    /// By hand, because one derived schema cannot have a name for each kind of details.
    fn schema() -> RefOr<Schema> {
        let noun = |name: Cow<'static, str>, about: &str| {
            Ref::builder().ref_location_from_schema_name(name).description(Some(about)).build().into()
        };
        let plain = |kind, about: &str| ObjectBuilder::new().schema_type(kind).description(Some(about));
        let text = |about| plain(Type::String, about).into();
        let number = |about| plain(Type::Number, about).into();
        let rank = plain(Type::Integer, "The offer's place in its list, from 1.");
        let rank = rank.format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32)));
        let marketplace = noun(Partner::name(), "Through whom the offer came, if not from the partner.");
        let score = number("The value of showing the offer, by which offers are sorted.");
        let of_kind = text("What must be said beside offers of this finer kind.");
        let rating = number("How customers rate the partner, out of 100; card offers have none.");
        let object = schema::object([
            ("uuid", schema::text("uuid"), true),
            ("partner", noun(Partner::name(), "Who makes the offer."), true),
            ("marketplace", marketplace, false),
            ("productType", noun(ProductType::name(), "The kind of product."), true),
            ("productSubType", noun(ProductSubType::name(), "The finer kind of product."), true),
            ("url", text("Where a click on the offer leads; one for each shown offer."), true),
            ("recommendationScore", score, false),
            ("disclaimer", text("What must be said beside the offer."), false),
            ("productSubTypeDisclaimer", of_kind, false),
            ("details", noun(D::name(), "What only offers of this kind have."), true),
            ("consumerRating", rating, false),
            ("rank", rank.into(), false),
            ("expiresAt", noun(Timestamp::name(), "Until when the offer can be opened."), false),
        ]);
        object.into()
    }
}

impl<D: ToSchema> ToSchema for Offer<D> {
    /// `SavingsOffer`, of `SavingsOfferDetails`.
    fn name() -> Cow<'static, str> {
        D::name().trim_end_matches("Details").to_owned().into()
    }

    fn schemas(components: &mut Components) {
        schema::reference::<Partner>(components);
        schema::reference::<ProductType>(components);
        schema::reference::<ProductSubType>(components);
        schema::reference::<Timestamp>(components);
        schema::reference::<D>(components);
    }
}
