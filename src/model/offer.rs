//! What offers of cards, mortgages and savings products have in common.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
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

record! {
    /// An institution, as it is shown beside its offers.
    Partner {
        /// The partner's id.
        uuid: Uuid,
        /// The name to show.
        name: String,
        /// Who they are, in a sentence or two.
        description: String,
        /// What must be said beside any of their offers.
        disclaimer: String,
        /// Whether the service can judge beforehand who will be approved.
        supports_pre_select: bool,
        /// Whether that judgement is to be shown.
        should_display_pre_select: bool,
        /// Whether they answer with pre-qualified or pre-approved offers.
        supports_personalized_offers: bool,
        /// Where the logo is.
        image_url: String,
        /// A line to show in place of the usual one below the name.
        subtext_override?: String,
        /// Where its head office is; not in the specification, as what follows.
        headquarters?: String,
        /// What it manages, in words.
        assets?: String,
        /// The name that it does business under.
        brand_name?: String,
        /// What that brand is known by.
        brand_uuid?: Uuid,
    }
}

/// An offer of a mortgage.
pub type MortgageOffer = Offer<MortgageOfferDetails>;

record! {
    /// The terms of an offered mortgage.
    MortgageOfferDetails {
        /// Interest of a year, fees apart.
        interest_rate: Percent,
        /// Term and rate behaviour.
        loan_type: MortgageLoanType,
        /// What the price differs from par, in percent of the loan.
        price_adjustment: Percent,
        /// The instalment of a month.
        monthly_payment: Money,
        /// Closing costs after credits and points.
        net_closing_costs: Money,
        /// Cost of a year, fees included.
        apr: Percent,
        /// The term in years.
        loan_term: i32,
        /// Whether closing costs are shifted into or out of the rate.
        adjustment_type: MortgageAdjustmentType,
    }
}

/// An offer of a savings product.
pub type SavingsOffer = Offer<SavingsOfferDetails>;

record! {
    /// The terms of an offered savings product.
    SavingsOfferDetails {
        /// Yield of a year, compounding included.
        annual_percent_yield: Percent,
        /// How often interest is added to the balance.
        compounding_method: CompoundingMethod,
        /// The least that must be deposited.
        minimum_deposit: Money,
        /// What the account costs each month.
        monthly_fee: Money,
        /// When the terms were last checked.
        effective_as_of: Timestamp,
        /// The name of the product.
        name?: String,
        /// What it is, in a sentence or two.
        description?: String,
        /// The small print.
        details?: String,
        /// Interest of a year, compounding apart.
        rate?: Percent,
        /// For how many months the introductory rate holds.
        introductory_period_months?: i32,
        /// The rate in those months.
        introductory_rate?: Percent,
        /// The least deposit that covers the fees.
        minimum_deposit_with_fees?: Money,
        /// Whether one can write cheques on the account.
        check_writing?: bool,
        /// Who insures the deposit; not in the specification, as what follows.
        federal_insurance_type?: FederalInsuranceType,
        /// What is given for opening the account.
        incentive_details?: Vec<IncentiveDetails>,
        /// The unit of the term of a certificate of deposit.
        cd_term_unit?: TermUnit,
        /// That term.
        cd_term_length?: i32,
        /// Images to load once the offer is seen, which count that for the partner.
        impression_tracking_pixel_urls?: Vec<String>,
    }

    /// Something that is given for opening an account; not in the specification.
    IncentiveDetails {
        /// How much, in the unit below.
        #[serde(serialize_with = "super::plain_number::required")]
        amount: f64,
        /// What it is counted in.
        unit: IncentiveUnit,
        /// The same in words.
        display: String,
        /// What is given.
        #[serde(rename = "type")]
        kind: IncentiveType,
    }
}
