//! Truth values and texts of answers.

use minijinja::value::{Value, ValueKind};

use super::document::TEXT;
use crate::truth::truth;

/// A value as true or false, texts by their meaning; `None` for a text that means neither.
pub(super) fn truth_of(value: &Value) -> Option<bool> {
    match own_text(value).as_ref().unwrap_or(value).as_str() {
        Some(text) => truth(text),
        None => Some(value.is_true()),
    }
}

/// The text of an XML element that also has attributes.
pub(super) fn own_text(value: &Value) -> Option<Value> {
    let text = (value.kind() == ValueKind::Map).then(|| value.get_attr(TEXT).ok()).flatten();
    text.filter(|text| !text.is_undefined())
}
