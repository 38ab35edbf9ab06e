//! Yes and no, and texts, as answers have them.

use minijinja::value::{Value, ValueKind};

use super::document::TEXT;
use crate::truth::truth;

/// What a value says where yes or no is wanted, a text in words; `None` where a text says neither.
pub(super) fn truth_of(value: &Value) -> Option<bool> {
    match own_text(value).as_ref().unwrap_or(value).as_str() {
        Some(text) => truth(text),
        None => Some(value.is_true()),
    }
}

/// The text of an element of XML that has attributes as well.
pub(super) fn own_text(value: &Value) -> Option<Value> {
    let text = (value.kind() == ValueKind::Map).then(|| value.get_attr(TEXT).ok()).flatten();
    text.filter(|text| !text.is_undefined())
}
