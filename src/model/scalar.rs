//! Scalar JSON values.

use serde_json::Value;

/// A scalar JSON value.
#[derive(Clone, Copy)]
pub enum Scalar<'a> {
    /// A string.
    Text(&'a str),
    /// A number without fraction and exponent.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// `true` or `false`.
    Flag(bool),
}

impl<'a> Scalar<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text)),
            Value::Bool(flag) => Some(Self::Flag(*flag)),
            Value::Number(number) => number.as_i64().map(Self::Integer).or(number.as_f64().map(Self::Float)),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The kind of the value, for messages.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Flag(_) => "a boolean",
        }
    }
}
