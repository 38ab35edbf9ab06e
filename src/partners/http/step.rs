//! One of the calls of an ask, compiled.

use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderName;
use minijinja::value::Value as Mapped;
use serde_json::{Map, Value};

use super::document::leaf;
use super::expression::{Expression, Template};
use super::mapping_error::MappingError;

/// A call: how its request is made, and what its answer means for those that follow.
#[derive(Debug)]
pub struct Step {
    /// What its keys stand behind in the partner file: nothing, or `steps[0].`.
    pub(super) prefix: String,
    pub(super) method: Method,
    /// `None` where the partner only calls us.
    pub(super) url: Option<Template>,
    pub(super) sandbox_url: Option<Template>,
    pub(super) query: Vec<(String, Expression)>,
    pub(super) headers: Vec<(HeaderName, Expression)>,
    /// Whether a header is made of the rest of the request.
    pub(super) signs: bool,
    pub(super) body: Body,
    pub(super) when: Option<Expression>,
    pub(super) polling: Option<Polling>,
    pub(super) error: Option<Expression>,
    pub(super) declined: Option<Expression>,
    pub(super) keep: Vec<(String, Expression)>,
    /// What it says the partner bids; it is a ping then.
    pub bid: Option<Expression>,
    /// Whether it is made at most once for an ask.
    pub once: bool,
    /// Whether it is made at most once for a lead, however many tables that has.
    pub once_a_lead: bool,
    /// Whether the partner answers it by calling us.
    pub(super) callback: bool,
    /// Whether such a call is signed as it should be.
    pub(super) verify: Option<Expression>,
}

/// How a call is made again while the partner is at work.
#[derive(Debug)]
pub(super) struct Polling {
    pub(super) pending: Expression,
    pub(super) every: Duration,
}

impl Step {
    /// The mappings that look at an answer.
    pub(super) fn of_answers(&self) -> impl Iterator<Item = &Expression> {
        let pending = self.polling.as_ref().map(|polling| &polling.pending);
        [pending, self.error.as_ref(), self.declined.as_ref(), self.bid.as_ref()].into_iter().flatten()
    }
}

/// What is sent in the body.
#[derive(Debug)]
pub enum Body {
    /// Nothing.
    Empty,
    /// JSON.
    Json(Shape),
    /// Form fields.
    Form(Vec<(String, Expression)>),
    /// XML.
    Xml(Template),
}

/// A value of JSON to be.
#[derive(Debug)]
pub enum Shape {
    /// As it stands.
    Fixed(Value),
    /// What an expression gives; left out when undefined.
    Of(Expression),
    /// An object.
    Object(Vec<(String, Shape)>),
    /// An array.
    Array(Vec<Shape>),
}

impl Shape {
    /// The value; `None` when it is left out.
    pub(super) fn fill(&self, context: &Mapped) -> Result<Option<Value>, MappingError> {
        Ok(match self {
            Self::Fixed(value) => Some(value.clone()),
            Self::Of(expression) => {
                let value = expression.run(context)?;
                if value.is_undefined() {
                    return Ok(None);
                }
                let unfit = |_| MappingError::new(&expression.key, "is no value of JSON");
                Some(leaf(serde_json::to_value(&value).map_err(unfit)?))
            }
            Self::Object(entries) => {
                let mut object = Map::new();
                for (name, shape) in entries {
                    if let Some(value) = shape.fill(context)? {
                        object.insert(name.clone(), value);
                    }
                }
                // A table of which nothing is given says nothing.
                (!object.is_empty() || entries.is_empty()).then_some(Value::Object(object))
            }
            Self::Array(elements) => {
                let filled: Result<Vec<_>, _> = elements.iter().map(|shape| shape.fill(context)).collect();
                Some(filled?.into_iter().flatten().collect())
            }
        })
    }
}
