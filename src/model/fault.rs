//! Faults of attributes, and where they are.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use chrono::NaiveDate;

use super::api_error::{ApiError, ErrorType};

/// What an attribute must be. Never holds the value that was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AttributeFault {
    message: Cow<'static, str>,
    /// For programs, by name.
    details: Vec<(&'static str, String)>,
}

/// What is wrong with a value, as `details.fault` tells programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It is none of the values of an enumeration.
    Enumeration,
    /// It is too small or too large.
    Range,
    /// It is a text of another form.
    Format,
    /// It is no date.
    Date,
    /// It is a text instead of a number, and the like.
    Kind,
}

impl FaultKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Enumeration => "enumeration",
            Self::Range => "range",
            Self::Format => "format",
            Self::Date => "date",
            Self::Kind => "kind",
        }
    }
}

impl AttributeFault {
    /// The right kind of value, in the wrong form.
    pub fn wanted(kind: FaultKind, wanted: &str) -> Self {
        Self::of(kind, format!("must be {wanted}"))
    }

    /// The wrong kind of value.
    pub fn other_kind(wanted: &str, got: &str) -> Self {
        let found = got.trim_start_matches("an ").trim_start_matches("a ");
        Self::of(FaultKind::Kind, format!("must be {wanted}, got {got}")).with("found", found)
    }

    /// None of these values; perhaps one of them was meant.
    pub fn none_of(values: &[&str], meant: Option<&str>) -> Self {
        let fault = Self::wanted(FaultKind::Enumeration, &one_of(values)).with("allowed", values.join(","));
        let Some(meant) = meant else { return fault };
        Self { message: format!("{fault}; did you mean `{meant}`?").into(), ..fault }.with("likely", meant)
    }

    /// Outside of a range.
    pub fn outside(wanted: &str, least: impl fmt::Display, most: impl fmt::Display) -> Self {
        let fault = Self::wanted(FaultKind::Range, wanted);
        fault.with("min", least.to_string()).with("max", most.to_string())
    }

    /// Of two values under one key, neither is the sender's word.
    pub const TWICE: Self =
        Self { message: Cow::Borrowed("is given twice; leave one of the two out"), details: Vec::new() };

    /// The error of the attribute at `path`.
    pub fn at(self, path: impl Into<String>) -> ApiError {
        let Self { message, details } = self;
        let error = ApiError::at(path, ErrorType::Malformed, message);
        details.into_iter().fold(error, |error, (name, found)| error.with(name, found))
    }

    fn of(kind: FaultKind, message: String) -> Self {
        Self { message: message.into(), details: vec![("fault", kind.as_str().to_owned())] }
    }

    fn with(mut self, name: &'static str, found: impl Into<String>) -> Self {
        self.details.push((name, found.into()));
        self
    }
}

/// Lists the accepted values: "one of `a`, `b`".
pub fn one_of(values: &[&str]) -> String {
    format!("one of `{}`", values.join("`, `"))
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
    /// When the body arrived, and from whom.
    pub arrival: Arrival,
    /// The paths of what the body gives more than once.
    pub twice: BTreeSet<String>,
}

/// The arrival of a body, on which the values that it may have depend.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// The day, which bounds dates of birth.
    pub today: NaiveDate,
    /// Whether it is about a test lead, which may have the sample social security number.
    pub test: bool,
}

impl Arrival {
    /// Any day, of a test lead: refuses least.
    pub const ANY: Self = Self { today: NaiveDate::MAX, test: true };
}

impl BodyFaults {
    /// More than the attributes of a lead; bounds the answer to a hostile array.
    pub const MAX: usize = 500;

    /// No faults yet, for a body that arrived so.
    pub const fn of(arrival: Arrival) -> Self {
        Self { errors: Vec::new(), arrival, twice: BTreeSet::new() }
    }

    /// Adds a fault of the attribute at `path`; at the limit, adds once that there are more.
    pub fn push(&mut self, path: &Path<'_>, fault: AttributeFault) {
        if self.errors.len() < Self::MAX {
            self.errors.push(fault.at(path.to_string()));
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
        let mut faults = BodyFaults::of(Arrival::ANY);
        for _ in 0..2 * BodyFaults::MAX {
            faults.push(&Path::Root, AttributeFault::wanted(FaultKind::Format, "something else"));
        }
        let errors = faults.errors;
        assert_eq!(errors.len(), BodyFaults::MAX + 1);
        assert_eq!(errors[BodyFaults::MAX].attribute, None, "the last one says that there are more");
    }
}
