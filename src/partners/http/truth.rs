//! Truth values and texts of answers.

use minijinja::value::{Value, ValueKind};

use super::parsed::{NIL, TEXT, is_nil};
use crate::truth::{self, truth};

/// A value as true or false, texts by their meaning; `None` for a text that means neither. A list is true
/// unless all its elements are false.
pub(super) fn truth_of(value: &Value) -> Option<bool> {
    if let (ValueKind::Seq | ValueKind::Iterable, Ok(mut list)) = (value.kind(), value.try_iter()) {
        return Some(list.any(|one| truth_of(&one) != Some(false)));
    }
    match plain(value).as_str() {
        Some(text) => truth(text),
        None => Some(value.is_true()),
    }
}

/// Whether a value is a text that may stand for nothing.
pub(super) fn says_nothing(value: &Value) -> bool {
    plain(value).as_str().is_some_and(truth::says_nothing)
}

/// A value, or in its place the text of an element of XML that has attributes as well.
pub(super) fn plain(value: &Value) -> Value {
    own_text(value).unwrap_or_else(|| value.clone())
}

/// The text of an element of XML that has attributes as well.
pub(super) fn own_text(value: &Value) -> Option<Value> {
    let attribute = |name| value.get_attr(name).ok().filter(|found| !found.is_undefined());
    let nil = || attribute(NIL).filter(|nil| is_nil(nil.as_str())).map(|_| Value::from(""));
    (value.kind() == ValueKind::Map).then(|| attribute(TEXT).or_else(nil)).flatten()
}
