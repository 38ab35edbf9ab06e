//! Faults of attributes, and where they are.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use chrono::NaiveDate;

use super::api_error::{ApiError, ErrorType};

/// What an attribute must be. Never holds the value that was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AttributeFault(Cow<'static, str>);

impl AttributeFault {
    /// The right kind of value, in the wrong form.
    pub fn wanted(wanted: &str) -> Self {
        Self(Cow::Owned(format!("must be {wanted}")))
    }

    /// The wrong kind of value.
    pub fn other_kind(wanted: &str, got: &str) -> Self {
        Self(Cow::Owned(format!("must be {wanted}, got {got}")))
    }

    /// Of two values under one key, neither is the sender's word.
    pub const TWICE: Self = Self(Cow::Borrowed("is given twice; leave one of the two out"));
}

/// The path of an attribute; rendered only for a fault.
#[derive(Clone, Copy)]
pub enum Path<'a> {
    /// The body itself.
    Root,
    /// An entry of an object.
    Key(&'a Path<'a>, &'a str),
    /// An element of an array.
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// The faults of one body.
#[derive(Debug)]
pub struct BodyFaults {
    /// As errors of the answer.
    pub errors: Vec<ApiError>,
    /// The day on which the body arrived.
    pub today: NaiveDate,
    /// The paths of what the body gives more than once.
    pub twice: BTreeSet<String>,
}

impl BodyFaults {
    /// More than the attributes of a lead; bounds the answer to a hostile array.
    pub const MAX: usize = 500;

    /// No faults yet, for a body that arrived on this day.
    pub const fn on(today: NaiveDate) -> Self {
        Self { errors: Vec::new(), today, twice: BTreeSet::new() }
    }

    /// Adds a fault of the attribute at `path`; at the limit, adds once that there are more.
    pub fn push(&mut self, path: &Path<'_>, fault: AttributeFault) {
        if self.errors.len() < Self::MAX {
            self.errors.push(ApiError::at(path.to_string(), ErrorType::Malformed, fault.0));
        } else if self.errors.len() == Self::MAX {
            let message = format!("more faults follow; the first {} are listed", Self::MAX);
            self.errors.push(ApiError::new(ErrorType::Malformed, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_a_client_writes_them() {
        let loans = Path::Key(&Path::Root, "refinanceLoans");
        let second = Path::Index(&loans, 1);
        assert_eq!(Path::Key(&second, "interestRate").to_string(), "refinanceLoans[1].interestRate");
    }

    #[test]
    fn faults_are_bounded() {
        let mut faults = BodyFaults::on(NaiveDate::MAX);
        for _ in 0..2 * BodyFaults::MAX {
            faults.push(&Path::Root, AttributeFault::wanted("something else"));
        }
        let errors = faults.errors;
        assert_eq!(errors.len(), BodyFaults::MAX + 1);
        assert_eq!(errors[BodyFaults::MAX].attribute, None, "the last one says that there are more");
    }
}
