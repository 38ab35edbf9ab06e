//! What a client reads when a request fails: an array of [`ApiError`] (specification, Errors).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::record;

record! {
    /// One fault of a request. An answer carries all of them, as an array.
    ///
    /// Never holds personal data: a message says what was wanted and what kind of thing was found, not the value of a
    /// personal attribute. `message` comes first when there is no `attribute`, because an old client cuts the text out of
    /// `[{"message":"…`.
    #[derive(Eq)]
    ApiError {
        /// The attribute path (`refinanceLoans[1].interestRate`) or query parameter; absent when tied to none.
        attribute?: String,
        /// English text for a person.
        message?: String,
        /// Classification for a program.
        #[serde(rename = "type")]
        error_type?: ErrorType,
        /// Variables for a template.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        details: BTreeMap<String, String>,
    }
}

/// The closed set of `type` values (facts, Errors).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ErrorType {
    /// Something required is not there.
    Missing,
    /// Something does not have the wanted shape.
    Malformed,
    /// A well-formed uuid names nothing of the caller's company.
    InvalidUuidReference,
    /// The lead exists already.
    Duplicate,
    /// No token, an unknown one, or one without the scope.
    Unauthorized,
    /// A named size limit was passed.
    TooLarge,
    /// Path, method, content type or edition that is not offered.
    Unsupported,
    /// A named limit of the service is reached, or it is about to stop; try again later.
    Unavailable,
}

impl ApiError {
    /// A fault tied to no attribute.
    pub fn new(error_type: ErrorType, message: impl Into<String>) -> Self {
        Self {
            attribute: None,
            message: Some(message.into()),
            error_type: Some(error_type),
            details: BTreeMap::new(),
        }
    }

    /// A fault of the attribute at `path`.
    pub fn at(path: impl Into<String>, error_type: ErrorType, message: impl Into<String>) -> Self {
        Self { attribute: Some(path.into()), ..Self::new(error_type, message) }
    }

    /// The attribute at `path` must be given, and is not.
    pub fn missing(path: &str) -> Self {
        Self::at(path, ErrorType::Missing, "must be given")
    }

    /// A well-formed uuid at `path` that names no `noun` of the caller's.
    pub fn unknown_uuid(path: impl Into<String>, noun: &str, uuid: Uuid) -> Self {
        let message = format!("{noun} for UUID {uuid} does not exist");
        Self::at(path, ErrorType::InvalidUuidReference, message)
            .with("referenceType", noun)
            .with("specified", uuid.to_string())
    }

    /// Adds one template variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}
