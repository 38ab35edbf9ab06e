//! The body of a failed request: an array of [`ApiError`] (specification, Errors).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::record;

record! {
    /// One error of a request. An answer carries all of them, as an array.
    ///
    /// Never holds personal data: a message names the expected value and the kind of value found, not the
    /// value of a personal attribute. `message` comes first when there is no `attribute`, because an old
    /// client cuts the text out of `[{"message":"…`.
    #[derive(Eq)]
    ApiError {
        /// The attribute path (`refinanceLoans[1].interestRate`) or query parameter; absent if the error
        /// concerns none.
        attribute?: String,
        /// A message in English, for people.
        #[schema(required)]
        message?: String,
        /// The type of the error, for programs.
        #[schema(required)]
        #[serde(rename = "type")]
        error_type?: ErrorType,
        /// Variables for a message template.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        details: BTreeMap<String, String>,
    }
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ErrorType {
    /// A required value is missing.
    Missing,
    /// A value has the wrong form.
    Malformed,
    /// A well-formed uuid names no record of the caller's company.
    InvalidUuidReference,
    /// The lead exists already.
    Duplicate,
    /// No token, an unknown one, or one of the wrong kind.
    Unauthorized,
    /// A size limit is exceeded.
    TooLarge,
    /// A path, method, content type or edition that is not supported.
    Unsupported,
    /// A named limit of the service is reached, or it is about to stop; try again later.
    Unavailable,
}

impl ApiError {
    /// An error that concerns no attribute.
    pub fn new(error_type: ErrorType, message: impl Into<String>) -> Self {
        Self {
            attribute: None,
            message: Some(message.into()),
            error_type: Some(error_type),
            details: BTreeMap::new(),
        }
    }

    /// An error of the attribute at `path`.
    pub fn at(path: impl Into<String>, error_type: ErrorType, message: impl Into<String>) -> Self {
        Self { attribute: Some(path.into()), ..Self::new(error_type, message) }
    }

    /// The required attribute at `path` is missing.
    pub fn missing(path: &str) -> Self {
        Self::at(path, ErrorType::Missing, "must be given")
    }

    /// The well-formed uuid at `path` names no `noun` of the caller's company.
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
