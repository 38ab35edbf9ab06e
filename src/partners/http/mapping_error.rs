//! Why a mapping could not be run.

use minijinja::{Error, ErrorKind};

use super::expression::TEMPLATE;

/// Why a mapping could not be run: the kind of failure, without what was being mapped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {cause}")]
pub struct MappingError {
    /// Where it stands in the partner file.
    pub key: String,
    /// What went wrong, in general words.
    pub cause: String,
    /// What went wrong, with the values at hand: for whoever may see them.
    pub detail: String,
}

impl MappingError {
    /// A failure whose cause holds nothing of what was being mapped.
    pub fn new(key: &str, cause: impl Into<String>) -> Self {
        let cause = cause.into();
        Self { key: key.to_owned(), detail: cause.clone(), cause }
    }

    /// A run that failed, and the variables that were not there, one of which may be why.
    pub(super) fn of(key: &str, error: &Error, not_given: &[String]) -> Self {
        let line = error.line().filter(|_| error.name() == Some(TEMPLATE));
        let line = line.map_or_else(String::new, |line| format!(", in its line {line}"));
        let detail = error.detail().map_or_else(String::new, |detail| format!(": {detail}"));
        // Of what is said in detail this alone names kinds of values, and no value.
        let kinds = if detail.starts_with(": tried to use ") { detail.as_str() } else { "" };
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

    /// All that is known, for whoever may see the values at hand.
    pub fn in_full(&self) -> String {
        format!("`{}`: {}", self.key, self.detail)
    }
}

/// Names the variables that a run lacked.
fn missing(not_given: &[String]) -> String {
    let named = || not_given.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match not_given {
        [] => String::new(),
        [first, ..] if first.starts_with("lead.") => {
            format!("; not given: {} (`needs` keeps such leads away, `|default(...)` gives a value)", named())
        }
        [..] => format!("; not given: {}", named()),
    }
}
