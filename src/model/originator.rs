//! Institutions in the form that loan offers show them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// The institution behind a loan offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Originator {
    /// A short name for programs, never changed.
    pub key: String,
    /// The name to show.
    pub name: String,
    /// Who they are, in a sentence or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub description: Option<String>,
    /// The logo, in one size or more; clients break when there is none.
    pub images: Vec<OriginatorImage>,
    /// What must be said beside any of their offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub disclaimer: Option<String>,
    /// The company's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub company_uuid: Option<Uuid>,
    /// The institution's id, the one that events are grouped by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub financial_institution_uuid: Option<Uuid>,
}

/// A logo in one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OriginatorImage {
    /// The name of the size.
    pub size_key: String,
    /// Where the image is.
    pub url: String,
}
