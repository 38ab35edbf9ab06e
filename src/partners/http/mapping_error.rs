//! Errors of mappings at run time.

use std::borrow::Cow;
use std::error::Error as _;

use minijinja::{Error, ErrorKind};

use super::signing::has_no_value;

/// Instructions that one run of a mapping may take.
pub(super) const FUEL: u64 = 50_000;

/// The name of a compiled template in its environment.
pub(super) const TEMPLATE: &str = "template";

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

/// What a mapping gives, or why it could not be run.
pub type MappingResult<T> = Result<T, MappingError>;

/// Marks errors of our filters whose words hold no mapped value.
#[derive(Debug, thiserror::Error)]
#[error("in our own words")]
struct OwnWords;

/// An error of a filter in words that hold no mapped value.
pub(super) fn own_words(words: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, words).with_source(OwnWords)
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
        let words = error.detail().unwrap_or_default();
        let is_ours = error.source().is_some_and(|source| source.is::<OwnWords>());
        // Our own words name the values that they miss.
        let is_of_it = |name: &&String| !is_ours || words.contains(name.as_str());
        let missing = match error.kind() {
            ErrorKind::InvalidOperation => missing(&not_given.iter().filter(is_of_it).collect::<Vec<_>>()),
            _ => String::new(),
        };
        let detail = match words {
            _ if error.kind() == ErrorKind::OutOfFuel => format!("takes more than {FUEL} instructions"),
            "" => error.kind().to_string(),
            words if is_ours => words.to_owned(),
            words => format!("{}: {words}", error.kind()),
        };
        // Jinja's words are free of values only where they name the kinds.
        let has_no_value =
            is_ours || words.starts_with("tried to use ") || error.kind() == ErrorKind::OutOfFuel;
        let cause = if has_no_value { detail.clone() } else { error.kind().to_string() };
        Self {
            key: key.to_owned(),
            cause: format!("{cause}{line}{missing}"),
            detail: format!("{detail}{line}{missing}"),
        }
    }

    /// The full error, for readers that may see the values.
    pub fn in_full(&self) -> String {
        format!("`{}`: {}", self.key, self.detail)
    }
}

fn missing(not_given: &[&String]) -> String {
    let named = || not_given.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match not_given {
        [] => String::new(),
        [first, ..] if first.starts_with("lead.") => {
            format!("; missing: {} (`needs` excludes such leads, `|default(...)` gives a value)", named())
        }
        [..] => format!("; missing: {}", named()),
    }
}
