//! From a lead to the request that a partner is sent.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method};
use minijinja::value::{Value as Mapped, ValueKind};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::check::HttpSource;
use super::expression::{Expression, Template};
use super::given::Given;
use super::mapping_error::MappingError;
use super::secret::Secrets;
use crate::planted::{Planted, planted};

/// What a partner is asked about, beside what the lead says.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The lead.
    pub lead: Uuid,
    /// The rate table.
    pub rate_table: Uuid,
    /// Whether the lead is a test, which only the sandbox side may see.
    pub test: bool,
    /// When.
    pub now: DateTime<Utc>,
}

/// A request to a partner, ready to be sent. Holds a person's data and secrets, so it is not `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// Where to, query included.
    pub url: String,
    /// All headers but those that show who we are.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
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
    /// What an expression gives; left out when undefined. The key is told when it fails.
    Of(String, Expression),
    /// An object.
    Object(Vec<(String, Shape)>),
    /// An array.
    Array(Vec<Shape>),
}

impl HttpSource {
    /// Makes the request for a lead; `None` for a test lead of a partner that has no sandbox.
    ///
    /// # Errors
    /// The first mapping that could not be run.
    pub fn request(&self, given: &Given, secrets: Secrets) -> Result<Option<HttpRequest>, MappingError> {
        let test = given.test() && !planted(Planted::TestsGoLive);
        let (key, url) = match (&self.sandbox_url, test) {
            (Some(sandbox), true) => ("sandbox_url", sandbox),
            (None, true) => return Ok(None),
            (_, false) => ("url", &self.url),
        };
        let context = given.context(self.revealed(secrets));
        let mut url = url.run(key, &context)?;
        let query = fields("query", &self.query, &context)?;
        if !query.is_empty() {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&encoded(&query));
        }

        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let key = format!("headers.{name}");
            let value = value.run(&key, &context)?;
            if let Some(text) = text(&value) {
                let value = HeaderValue::try_from(text);
                let value = value.map_err(|_| MappingError::new(&key, "holds what no header may hold"))?;
                headers.insert(name.clone(), value);
            }
        }
        headers.extend(self.basic(&context)?.map(|credentials| (AUTHORIZATION, credentials)));
        let (content_type, body) = match &self.body {
            Body::Empty => (None, Bytes::new()),
            Body::Json(shape) => {
                let value = shape.fill(&context)?.unwrap_or_default();
                (Some("application/json"), value.to_string().into())
            }
            Body::Form(form) => {
                let fields = fields("form", form, &context)?;
                (Some("application/x-www-form-urlencoded"), encoded(&fields).into())
            }
            Body::Xml(template) => (Some("application/xml"), template.run("xml", &context)?.into()),
        };
        if let Some(content_type) = content_type {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(content_type));
        }
        Ok(Some(HttpRequest { method: self.method.clone(), url, headers, body }))
    }
}

impl Shape {
    /// The value; `None` when it is left out.
    fn fill(&self, context: &Mapped) -> Result<Option<Value>, MappingError> {
        Ok(match self {
            Self::Fixed(value) => Some(value.clone()),
            Self::Of(key, expression) => {
                let value = expression.run(key, context)?;
                if value.is_undefined() {
                    return Ok(None);
                }
                let unfit = |_| MappingError::new(key, "is no value of JSON");
                Some(serde_json::to_value(&value).map_err(unfit)?)
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

/// The fields that have a value.
fn fields(
    key: &str,
    fields: &[(String, Expression)],
    context: &Mapped,
) -> Result<Vec<(String, String)>, MappingError> {
    let mut filled = Vec::with_capacity(fields.len());
    for (name, expression) in fields {
        let value = expression.run(&format!("{key}.{name}"), context)?;
        filled.extend(text(&value).map(|text| (name.clone(), text)));
    }
    Ok(filled)
}

fn encoded(fields: &[(String, String)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// A value as text; `None` when it is not given.
pub(super) fn text(value: &Mapped) -> Option<String> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => None,
        _ => Some(value.to_string()),
    }
}

/// Header names of a declaration.
pub(super) fn header_name(name: &str) -> Option<HeaderName> {
    HeaderName::try_from(name).ok()
}
