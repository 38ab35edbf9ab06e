//! Errors of mappings at run time.

use minijinja::{Error, ErrorKind};

use super::conditions::NO_TRUTH;
use super::expression::TEMPLATE;
use super::signing::has_no_value;

/// Why a mapping could not be run: the kind of failure, without the mapped values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {cause}")]
pub struct MappingError {
    /// Key of the mapping in the partner file.
    pub key: String,
    /// The cause in general words.
    pub cause: String,
    /// The cause with the values involved, for readers that may see them.
    pub detail: String,
}

impl MappingError {
    /// An error whose cause contains no mapped values.
    pub fn new(key: &str, cause: impl Into<String>) -> Self {
        let cause = cause.into();
        Self { key: key.to_owned(), detail: cause.clone(), cause }
    }

    /// A failed run, with the undefined variables that may have caused it.
    pub(super) fn of(key: &str, error: &Error, not_given: &[String]) -> Self {
        if let Some(fault) = error.detail().filter(|detail| has_no_value(detail)) {
            return Self::new(key, fault);
        }
        let line = error.line().filter(|_| error.name() == Some(TEMPLATE));
        let line = line.map_or_else(String::new, |line| format!(", in line {line}"));
        let detail = error.detail().map_or_else(String::new, |detail| format!(": {detail}"));
        // Of what is said in detail these alone name kinds of values, and no value.
        let has_no_value = detail.starts_with(": tried to use ") || detail.ends_with(NO_TRUTH);
        let kinds = if has_no_value { detail.as_str() } else { "" };
        let missing = match error.kind() {
            ErrorKind::InvalidOperation => missing(not_given),
            _ => String::new(),
        };
        Self {
            key: key.to_owned(),
            cause: format!("{}{kinds}{line}{missing}", error.kind()),
            detail: format!("{}{detail}{line}{missing}", error.kind()),
        }
    }

    /// The full error, for readers that may see the values.
    pub fn in_full(&self) -> String {
        format!("`{}`: {}", self.key, self.detail)
    }
}

fn missing(not_given: &[String]) -> String {
    let named = || not_given.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match not_given {
        [] => String::new(),
        [first, ..] if first.starts_with("lead.") => {
            format!("; missing: {} (`needs` excludes such leads, `|default(...)` gives a value)", named())
        }
        [..] => format!("; missing: {}", named()),
    }
}
