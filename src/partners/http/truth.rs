//! Truth values and texts of answers.

use minijinja::value::{Value, ValueKind};

use super::document::TEXT;
use crate::truth::{self, truth};

/// A value as true or false, texts by their meaning; `None` for a text that means neither.
pub(super) fn truth_of(value: &Value) -> Option<bool> {
    match own_text(value).as_ref().unwrap_or(value).as_str() {
        Some(text) => truth(text),
        None => Some(value.is_true()),
    }
}

/// Whether a value is a text that may stand for nothing.
pub(super) fn says_nothing(value: &Value) -> bool {
    own_text(value).as_ref().unwrap_or(value).as_str().is_some_and(truth::says_nothing)
}

/// The text of an element of XML that has attributes as well.
pub(super) fn own_text(value: &Value) -> Option<Value> {
    let text = (value.kind() == ValueKind::Map).then(|| value.get_attr(TEXT).ok()).flatten();
    text.filter(|text| !text.is_undefined())
}
