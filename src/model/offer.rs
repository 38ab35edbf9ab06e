//! The common part of offers for cards, mortgages and savings products.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{KnownFormat, Ref, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::enums::{
    CompoundingMethod, FederalInsuranceType, IncentiveType, IncentiveUnit, MortgageAdjustmentType,
    MortgageLoanType, ProductSubType, ProductType, TermUnit,
};
use super::fixed_point::{Money, Percent};
use super::plain_number;
use super::schema::{self, Components};
use super::timestamp::Timestamp;
use crate::record;

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

record! {
    /// An institution, as shown with its offers.
    Partner {
        /// The partner's id.
        uuid: Uuid,
        /// The name to show.
        name: String,
        /// A description, in a sentence or two.
        description: String,
        /// The disclaimer that must be shown with each of its offers.
        disclaimer: String,
        /// Whether the service can pre-select: predict who will be approved.
        supports_pre_select: bool,
        /// Whether to show the pre-selection.
        should_display_pre_select: bool,
        /// Whether it answers with pre-qualified or pre-approved offers.
        supports_personalized_offers: bool,
        /// The address of the logo.
        image_url: String,
        /// Text to show instead of the usual line below the name.
        subtext_override?: String,
        /// The location of its headquarters; not in the specification.
        headquarters?: String,
        /// The assets that it manages, in words; not in the specification.
        assets?: String,
        /// Its brand name; not in the specification.
        brand_name?: String,
        /// The brand's id; not in the specification.
        brand_uuid?: Uuid,
    }
}

/// An offer of a mortgage.
pub type MortgageOffer = Offer<MortgageOfferDetails>;

record! {
    /// The terms of an offered mortgage.
    MortgageOfferDetails {
        /// The annual interest rate, without fees.
        interest_rate: Percent,
        /// The loan type: term and rate type.
        loan_type: MortgageLoanType,
        /// The deviation of the price from par, in percent of the loan.
        price_adjustment: Percent,
        /// The monthly payment.
        monthly_payment: Money,
        /// Closing costs, net of credits and points.
        net_closing_costs: Money,
        /// The annual rate, fees included.
        apr: Percent,
        /// The term, in years.
        loan_term: i32,
        /// Whether closing costs are moved into or out of the rate.
        adjustment_type: MortgageAdjustmentType,
    }
}

/// An offer of a savings product.
pub type SavingsOffer = Offer<SavingsOfferDetails>;

record! {
    /// The terms of an offered savings product.
    SavingsOfferDetails {
        /// The annual yield, with compounding.
        annual_percent_yield: Percent,
        /// How often interest is compounded.
        compounding_method: CompoundingMethod,
        /// The minimum deposit.
        minimum_deposit: Money,
        /// The monthly fee.
        monthly_fee: Money,
        /// When the terms were last checked.
        effective_as_of: Timestamp,
        /// The name of the product.
        name?: String,
        /// A description, in a sentence or two.
        description?: String,
        /// The small print.
        details?: String,
        /// The annual interest rate, without compounding.
        rate?: Percent,
        /// The length of the introductory period, in months.
        introductory_period_months?: i32,
        /// The rate in that period.
        introductory_rate?: Percent,
        /// The minimum deposit that covers the fees.
        minimum_deposit_with_fees?: Money,
        /// Whether the account allows cheques.
        check_writing?: bool,
        /// The insurer of the deposit; not in the specification.
        federal_insurance_type?: FederalInsuranceType,
        /// Incentives for opening the account; not in the specification.
        incentive_details?: Vec<IncentiveDetails>,
        /// The unit of a certificate of deposit's term; not in the specification.
        cd_term_unit?: TermUnit,
        /// The length of that term; not in the specification.
        cd_term_length?: i32,
        /// Tracking pixels to load once the offer is displayed, which count the impression for the partner; not in the specification.
        impression_tracking_pixel_urls?: Vec<String>,
    }

    /// An incentive for opening an account; not in the specification.
    IncentiveDetails {
        /// The amount, in `unit`.
        #[serde(serialize_with = "super::plain_number::required")]
        amount: f64,
        /// The unit of the amount.
        unit: IncentiveUnit,
        /// The incentive in words.
        display: String,
        /// The kind of the incentive.
        #[serde(rename = "type")]
        kind: IncentiveType,
    }
}
