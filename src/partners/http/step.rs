//! One of the calls of an ask, compiled.

use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderName;
use minijinja::value::Value as Mapped;
use serde_json::{Map, Value};

use super::document::leaf;
use super::expression::{Expression, TextTemplate};
use super::mapping_error::MappingError;

/// A call: its request, and the mappings of its answer that decide what follows.
#[derive(Debug)]
pub struct CallStep {
    /// Key prefix in the partner file: empty, or `steps[0].`.
    pub(super) prefix: String,
    pub(super) method: Method,
    /// `None` if the partner only calls back.
    pub(super) url: Option<TextTemplate>,
    pub(super) sandbox_url: Option<TextTemplate>,
    pub(super) query: Vec<(String, Expression)>,
    pub(super) headers: Vec<(HeaderName, Expression)>,
    /// Whether a header is computed from the rest of the request.
    pub(super) signs: bool,
    pub(super) body: BodyMapping,
    pub(super) when: Option<Expression>,
    pub(super) polling: Option<PollingRule>,
    pub(super) error: Option<Expression>,
    pub(super) declined: Option<Expression>,
    pub(super) keep: Vec<(String, Expression)>,
    /// The partner's bid; makes the step a ping.
    pub bid: Option<Expression>,
    /// Whether it is made at most once per ask.
    pub once: bool,
    /// Whether it is made at most once per lead, across all its tables.
    pub once_a_lead: bool,
    pub(super) callback: bool,
    /// Whether a callback is properly signed.
    pub(super) verify: Option<Expression>,
}

/// How the call is repeated while the partner is working.
#[derive(Debug)]
pub(super) struct PollingRule {
    pub(super) pending: Expression,
    pub(super) every: Duration,
}

impl CallStep {
    /// The mappings that read the answer.
    pub(super) fn of_answers(&self) -> impl Iterator<Item = &Expression> {
        let pending = self.polling.as_ref().map(|polling| &polling.pending);
        [pending, self.error.as_ref(), self.declined.as_ref(), self.bid.as_ref()].into_iter().flatten()
    }
}

/// The body of a request.
#[derive(Debug)]
pub enum BodyMapping {
    /// No body.
    Empty,
    /// A JSON value.
    Json(JsonMapping),
    /// URL-encoded form fields.
    Form(Vec<(String, Expression)>),
    /// An XML document.
    Xml(TextTemplate),
}

/// A JSON value to be filled in.
#[derive(Debug)]
pub enum JsonMapping {
    /// A constant.
    Fixed(Value),
    /// The value of an expression; omitted if undefined.
    Of(Expression),
    /// An object.
    Object(Vec<(String, JsonMapping)>),
    /// An array.
    Array(Vec<JsonMapping>),
}

impl JsonMapping {
    /// The value; `None` if omitted.
    pub(super) fn fill(&self, context: &Mapped) -> Result<Option<Value>, MappingError> {
        Ok(match self {
            Self::Fixed(value) => Some(value.clone()),
            Self::Of(expression) => {
                let value = expression.run(context)?;
                if value.is_undefined() {
                    return Ok(None);
                }
                let unfit = |_| MappingError::new(&expression.key, "is not a JSON value");
                Some(leaf(serde_json::to_value(&value).map_err(unfit)?))
            }
            Self::Object(entries) => {
                let mut object = Map::new();
                for (name, shape) in entries {
                    if let Some(value) = shape.fill(context)? {
                        object.insert(name.clone(), value);
                    }
                }
                // A table without any given value is omitted.
                (!object.is_empty() || entries.is_empty()).then_some(Value::Object(object))
            }
            Self::Array(elements) => {
                let filled: Result<Vec<_>, _> = elements.iter().map(|shape| shape.fill(context)).collect();
                Some(filled?.into_iter().flatten().collect())
            }
        })
    }
}
