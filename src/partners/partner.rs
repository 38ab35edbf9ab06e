//! A partner as the engine knows it: its seats, one per product type that it answers for.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::catalog::CatalogOffer;
use super::declared::{AdaptiveTimeout, Simulate};
use super::eligibility::Rule;
use super::facts::Facts;
use super::http::HttpSource;
use super::identity::Identity;
use super::limits::{Exclusive, Limits};
use super::template::Template;
use offerd_model::{Originator, Partner, ProductSubType, ProductType};

/// A partner's place at the rate tables of one product type.
#[derive(Debug)]
pub struct Seat {
    /// Who sits there.
    pub identity: Identity,
    /// What it is asked about.
    pub product_type: ProductType,
    /// Asked only when no first-look partner had a loan offer.
    pub second_look: bool,
    /// Taken out of the panel for now.
    pub paused: bool,
    /// When and how often it is asked.
    pub limits: Limits,
    /// Among whom it takes a lead alone.
    pub exclusive: Option<Exclusive>,
    /// Who has a place where there are too few: the higher first.
    pub priority: i32,
    /// How likely it is to have one among those of the same priority.
    pub weight: Option<f64>,
    /// Longest wait for its answer.
    pub timeout: Duration,
    /// The line of its file that says so.
    pub timeout_line: Option<usize>,
    /// How the wait follows the pace of its answers.
    pub adaptive_timeout: Option<AdaptiveTimeout>,
    /// Which leads it is asked about.
    pub rule: Rule,
    /// How it pretends to be far away.
    pub simulate: Option<Simulate>,
    /// How it is asked over HTTP; without it the catalog answers.
    pub http: Option<HttpSource>,
    /// Its catalog.
    pub offers: Vec<CatalogOffer>,
    /// What the tables that it sits at must know of it.
    pub known_as: Arc<SeatTemplate>,
    /// `known_as`, as it is stored with those tables.
    pub text: Template,
}

impl Seat {
    /// Whether it is the seat of a partner, by its key, for a product type.
    pub fn is_of(&self, partner: &str, product_type: ProductType) -> bool {
        self.identity.key == partner && self.product_type == product_type
    }

    /// Whether it lives elsewhere and is not sent a lead, since no answer of it could be shown.
    pub fn fits_nothing(&self, facts: &Facts) -> bool {
        self.http.is_some() && !self.offers.iter().any(|offer| offer.rule.holds(facts))
    }

    /// Whether its answer takes no time.
    pub fn answers_at_once(&self) -> bool {
        self.simulate.is_none() && self.http.is_none()
    }
}

/// What a rate table must know of a seat for as long as it can be read, whatever becomes of the partner's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatTemplate {
    /// Key of the partner.
    pub key: String,
    /// What it was asked about.
    pub product_type: ProductType,
    /// Whether it has second look.
    pub second_look: bool,
    /// As clients see it.
    pub partner: Partner,
    /// As clients of loan offers see it.
    pub originator: Originator,
    /// `demandSubAccountId` of the lead actions it causes.
    pub sub_account_id: i64,
    /// Institution in lead events.
    pub institution: Uuid,
    /// The finer kinds of the offers of its catalog, each once.
    pub sub_types: Vec<ProductSubType>,
}

impl SeatTemplate {
    /// Whether it is the seat of a partner, by its key, for a product type.
    pub fn is_of(&self, partner: &str, product_type: ProductType) -> bool {
        self.key == partner && self.product_type == product_type
    }
}
