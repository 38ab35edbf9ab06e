//! One of the calls of an ask, compiled.

use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderName;

use super::body::Body;
use super::expression::{Expression, Template};
use super::mapping_error::MappingError;

/// A call: how its request is made, and what its answer means for those that follow.
#[derive(Debug)]
pub(super) struct Step {
    /// What its keys stand behind in the partner file: nothing, or `steps[0].`.
    pub(super) prefix: String,
    pub(super) method: Method,
    pub(super) url: Template,
    pub(super) sandbox_url: Option<Template>,
    pub(super) query: Vec<(String, Expression)>,
    pub(super) headers: Vec<(HeaderName, Expression)>,
    pub(super) body: Body,
    pub(super) when: Option<Expression>,
    pub(super) polling: Option<Polling>,
    pub(super) error: Option<Expression>,
    pub(super) declined: Option<Expression>,
    pub(super) keep: Vec<(String, Expression)>,
}

/// How a call is made again while the partner is at work.
#[derive(Debug)]
pub(super) struct Polling {
    pub(super) pending: Expression,
    pub(super) every: Duration,
}

impl Step {
    /// The same failure, by its whole key.
    pub(super) fn placed(&self, error: MappingError) -> MappingError {
        MappingError { key: format!("{}{}", self.prefix, error.key), ..error }
    }
}
