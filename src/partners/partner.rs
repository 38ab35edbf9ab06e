//! A partner as the engine sees it: one seat per product type.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::catalog::CatalogOffer;
use super::declared::{AdaptiveTimeout, Simulate};
use super::eligibility::EligibilityRule;
use super::facts::Facts;
use super::http::HttpSource;
use super::identity::PartnerIdentity;
use super::limits::{Exclusive, Limits};
use super::template::Template;
use offerd_model::{Originator, Partner, ProductSubType, ProductType};

/// A partner's place at the rate tables of one product type.
#[derive(Debug)]
pub struct Seat {
    /// The partner.
    pub identity: PartnerIdentity,
    /// Product type that it is asked about.
    pub product_type: ProductType,
    /// Asked only when no first-look partner had a loan offer.
    pub second_look: bool,
    /// Whether it is not asked for now.
    pub paused: bool,
    /// When and how often it is asked.
    pub limits: Limits,
    /// The seats among which it takes a lead exclusively.
    pub exclusive: Option<Exclusive>,
    /// Priority when more partners fit than may be asked: higher goes first.
    pub priority: i32,
    /// Relative chance of being asked among seats of equal priority.
    pub weight: Option<f64>,
    /// Longest wait for its answer.
    pub timeout: Duration,
    /// Line of the partner file that sets `timeout`.
    pub timeout_line: Option<usize>,
    /// How the wait follows the partner's response times.
    pub adaptive_timeout: Option<AdaptiveTimeout>,
    /// Eligibility: which leads it is asked about.
    pub rule: EligibilityRule,
    /// How it imitates a remote partner.
    pub simulate: Option<Simulate>,
    /// How it is asked over HTTP; `None` when the catalog answers.
    pub http: Option<HttpSource>,
    /// Its catalog.
    pub offers: Vec<CatalogOffer>,
    /// The part of the seat that rate tables store.
    pub known_as: Arc<SeatTemplate>,
    /// `known_as` in its stored form.
    pub text: Template,
}

impl Seat {
    /// Whether this is the seat of the partner with this key for this product type.
    pub fn is_of(&self, partner: &str, product_type: ProductType) -> bool {
        self.identity.key == partner && self.product_type == product_type
    }

    /// Whether a remote partner has no offer that fits the lead, and so is not sent it.
    pub fn fits_nothing(&self, facts: &Facts) -> bool {
        self.http.is_some() && !self.offers.iter().any(|offer| offer.rule.holds(facts))
    }

    /// Whether it answers without delay, from its catalog.
    pub fn answers_at_once(&self) -> bool {
        self.simulate.is_none() && self.http.is_none()
    }
}

/// What a rate table stores about a seat, so that it stays readable whatever happens to the partner file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatTemplate {
    /// Key of the partner.
    pub key: String,
    /// Product type that it was asked about.
    pub product_type: ProductType,
    /// Whether it is asked in second look.
    pub second_look: bool,
    /// The partner as clients see it.
    pub partner: Partner,
    /// The partner as clients of loan offers see it.
    pub originator: Originator,
    /// `demandSubAccountId` of the lead actions it causes.
    pub sub_account_id: i64,
    /// Institution id in lead events.
    pub institution: Uuid,
    /// The sub-types of its catalog's offers, without duplicates.
    pub sub_types: Vec<ProductSubType>,
}

impl SeatTemplate {
    /// Whether this is the seat of the partner with this key for this product type.
    pub fn is_of(&self, partner: &str, product_type: ProductType) -> bool {
        self.key == partner && self.product_type == product_type
    }
}
