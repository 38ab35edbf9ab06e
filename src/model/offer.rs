//! The common part of offers for cards, mortgages and savings products.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{KnownFormat, Ref, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::enums::{ProductSubType, ProductType};
use super::partner::Partner;
use super::plain_number;
use super::schema::{self, Components};
use super::timestamp::Timestamp;

/// An offer, with the details of its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer<D> {
    /// The offer's id.
    pub uuid: Uuid,
    /// The partner of the offer.
    pub partner: Partner,
    /// The marketplace, if the offer did not come from the partner itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marketplace: Option<Partner>,
    /// The kind of product.
    pub product_type: ProductType,
    /// The product subtype.
    pub product_sub_type: ProductSubType,
    /// The link that a click opens; unique for each shown offer.
    pub url: String,
    /// The value of showing the offer, by which offers are sorted.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "plain_number::optional")]
    pub recommendation_score: Option<f64>,
    /// The disclaimer that must be shown with the offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclaimer: Option<String>,
    /// The disclaimer that must be shown with offers of this subtype.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_sub_type_disclaimer: Option<String>,
    /// The fields of this kind of offer.
    pub details: D,
    /// The consumer rating of the partner, out of 100; not for card offers.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "plain_number::optional")]
    pub consumer_rating: Option<f64>,
    /// The offer's position in its list, from 1; not in the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<i32>,
    /// When the offer's link expires; not in the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl<D: ToSchema> PartialSchema for Offer<D> {
    /// Written by hand, since a derived schema cannot have a name for each kind of details.
    fn schema() -> RefOr<Schema> {
        let noun = |name: Cow<'static, str>, about: &str| {
            Ref::builder().ref_location_from_schema_name(name).description(Some(about)).build().into()
        };
        let plain = |kind, about: &str| schema::of(kind).description(Some(about));
        let text = |about| plain(Type::String, about).into();
        let number = |about| plain(Type::Number, about).into();
        let rank = plain(Type::Integer, "The offer's place in its list, from 1; not in the specification.");
        let rank = rank.format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32)));
        let through = "The intermediary that the offer came through, if not directly from the partner.";
        let score = number("The value of showing the offer, by which offers are sorted.");
        let of_kind = text("The text required beside offers of this sub-type.");
        let rating = number("How customers rate the partner, out of 100; card offers have none.");
        let until = "Until when the offer can be opened; not in the specification.";
        let object = schema::object([
            ("uuid", schema::text("uuid"), true),
            ("partner", noun(Partner::name(), "Who makes the offer."), true),
            ("marketplace", noun(Partner::name(), through), false),
            ("productType", noun(ProductType::name(), "The kind of product."), true),
            ("productSubType", noun(ProductSubType::name(), "The sub-type of the product."), true),
            ("url", text("Where a click on the offer leads; one for each shown offer."), true),
            ("recommendationScore", score, false),
            ("disclaimer", text("The text required beside the offer."), false),
            ("productSubTypeDisclaimer", of_kind, false),
            ("details", noun(D::name(), "Attributes that only offers of this kind have."), true),
            ("consumerRating", rating, false),
            ("rank", rank.into(), false),
            ("expiresAt", noun(Timestamp::name(), until), false),
        ]);
        object.into()
    }
}

impl<D: ToSchema> ToSchema for Offer<D> {
    /// `SavingsOffer` for `SavingsOfferDetails`.
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
