//! One of the calls of an ask, compiled.

use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderName;
use minijinja::value::{Value as Mapped, ValueKind};

use super::document::leaf;
use super::expression::{Expression, TextTemplate};
use super::mapping_error::{MappingError, MappingResult};

/// Names, each with its value.
pub(super) type Fields = Vec<(String, Expression)>;

/// A call: its request, and the mappings of its answer that decide what follows.
#[derive(Debug)]
pub struct CallStep {
    /// Key prefix in the partner file: empty, or `steps[0].`.
    pub(super) prefix: String,
    pub(super) method: Method,
    /// `None` if the partner only calls back.
    pub(super) url: Option<TextTemplate>,
    pub(super) sandbox_url: Option<TextTemplate>,
    pub(super) query: Fields,
    pub(super) headers: Vec<(HeaderName, Expression)>,
    /// Whether a header is computed from the rest of the request.
    pub(super) signs: bool,
    pub(super) body: BodyMapping,
    pub(super) when: Option<Expression>,
    pub(super) polling: Option<PollingRule>,
    pub(super) error: Option<Expression>,
    pub(super) declined: Option<Expression>,
    pub(super) keep: Fields,
    /// The partner's bid; makes the step a ping.
    pub bid: Option<Expression>,
    /// Whether it is made at most once per ask.
    pub once_per_ask: bool,
    /// Whether it is made at most once per lead, across all its tables.
    pub once_per_lead: bool,
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
    /// A constant, as JSON.
    Fixed(String),
    /// The value of an expression; omitted if undefined.
    Of(Expression),
    /// An object, by name with quotes and colon.
    Object(Vec<(String, JsonMapping)>),
    /// An array.
    Array(Vec<JsonMapping>),
}

impl JsonMapping {
    /// Writes the value; false, with nothing written, if it is omitted.
    pub(super) fn write(&self, context: &Mapped, json: &mut Vec<u8>) -> MappingResult<bool> {
        match self {
            Self::Fixed(text) => json.extend_from_slice(text.as_bytes()),
            Self::Of(expression) => {
                let value = expression.run(context)?;
                if value.is_undefined() {
                    return Ok(false);
                }
                let unfit = |_| MappingError::new(&expression.key, "is not a JSON value");
                match value.kind() {
                    // An element of XML with attributes is its text.
                    ValueKind::Map => {
                        let value = leaf(serde_json::to_value(&value).map_err(unfit)?);
                        serde_json::to_writer(json, &value).map_err(unfit)?;
                    }
                    _ => serde_json::to_writer(json, &value).map_err(unfit)?,
                }
            }
            Self::Object(entries) => {
                let start = json.len();
                json.push(b'{');
                for (name, shape) in entries {
                    written(name, shape, context, json)?;
                }
                // A table without any given value is omitted.
                if json.len() == start + 1 && !entries.is_empty() {
                    json.truncate(start);
                    return Ok(false);
                }
                json.push(b'}');
            }
            Self::Array(elements) => {
                json.push(b'[');
                for element in elements {
                    written("", element, context, json)?;
                }
                json.push(b']');
            }
        }
        Ok(true)
    }
}

/// Writes an element of an object or an array, with its comma; nothing if it is omitted.
fn written(name: &str, shape: &JsonMapping, context: &Mapped, json: &mut Vec<u8>) -> MappingResult<()> {
    let before = json.len();
    if !json.ends_with(b"{") && !json.ends_with(b"[") {
        json.push(b',');
    }
    json.extend_from_slice(name.as_bytes());
    if !shape.write(context, json)? {
        json.truncate(before);
    }
    Ok(())
}
