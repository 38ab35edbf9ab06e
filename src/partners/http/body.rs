//! The body of a request to be.

use minijinja::value::Value as Mapped;
use serde_json::{Map, Value};

use super::expression::{Expression, Template};
use super::mapping_error::MappingError;

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
