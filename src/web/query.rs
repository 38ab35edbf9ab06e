//! Typed query parameters; all faults are reported at once.
//!
//! ```text
//! let (name, limit) = query::read(&context.request, |query| {
//!     let name = query.optional("name", query::text);
//!     let limit = query.required("limit", query::integer::<i64>(1..=100));
//!     Some((name, limit?))
//! })?;
//! ```
//!
//! A kind of value is a function that parses a text, or returns the words that follow "must be" in the error.
//! Parameters that a handler does not read are ignored; of a repeated one the first counts.

use std::ops::RangeInclusive;

use super::failure::Failure;
use super::request::Request;
use offerd_model::{ApiError, Enumeration, ErrorType, one_of};

/// The query parameters of a request, with the faults found so far.
#[derive(Debug)]
pub struct Query<'q> {
    parameters: &'q [(String, String)],
    faults: Vec<ApiError>,
}

/// Reads the parameters in `take`, or 422 with one error per faulty parameter. `take` reads all first.
pub fn read<'q, T>(request: &'q Request, of: impl FnOnce(&mut Query<'q>) -> Option<T>) -> Result<T, Failure> {
    Query { parameters: &request.query, faults: Vec::new() }.read(of)
}

impl<'q> Query<'q> {
    /// The value of an optional parameter.
    pub fn optional<T>(&mut self, name: &str, kind: impl FnOnce(&'q str) -> Result<T, String>) -> Option<T> {
        kind(self.value(name)?).map_err(|wanted| self.malformed(name, &wanted)).ok()
    }

    /// The value of a required parameter; `None` only once its fault is noted.
    pub fn required<T>(&mut self, name: &str, kind: impl FnOnce(&'q str) -> Result<T, String>) -> Option<T> {
        if self.value(name).is_none() {
            let message = format!("Query parameter {name} must be specified");
            self.fault(ApiError::at(name, ErrorType::Missing, message));
        }
        self.optional(name, kind)
    }

    /// The value from a custom parser; `None` once its fault is noted.
    pub fn accept<T>(&mut self, read: Result<T, ApiError>) -> Option<T> {
        read.map_err(|fault| self.fault(fault)).ok()
    }

    /// Notes a fault.
    pub fn fault(&mut self, fault: ApiError) {
        self.faults.push(fault);
    }

    fn read<T>(mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Result<T, Failure> {
        let taken = take(&mut self);
        debug_assert!(taken.is_some() || !self.faults.is_empty(), "nothing is taken only for a fault");
        match taken {
            _ if !self.faults.is_empty() => Err(Failure::invalid(self.faults)),
            Some(value) => Ok(value),
            None => Err(Failure::internal()),
        }
    }

    fn value(&self, name: &str) -> Option<&'q str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn malformed(&mut self, name: &str, wanted: &str) {
        let message = format!("Query parameter {name} must be {wanted}");
        self.fault(ApiError::at(name, ErrorType::Malformed, message));
    }
}

/// Any text.
pub fn text(value: &str) -> Result<&str, String> {
    Ok(value)
}

/// A decimal integer within bounds, and within its type.
pub fn integer<T: TryFrom<i64>>(bounds: RangeInclusive<i64>) -> impl Fn(&str) -> Result<T, String> {
    move |value| {
        let number = value.parse::<i64>().ok().filter(|number| bounds.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            match (bounds.start(), bounds.end()) {
                (least, &i64::MAX) => format!("an integer, {least} or more"),
                (least, most) => format!("an integer from {least} to {most}"),
            }
        })
    }
}

/// Wire values of an enumeration, separated by commas.
pub fn choices<E: Enumeration>(value: &str) -> Result<Vec<E>, String> {
    value.split(',').map(choice).collect()
}

/// A wire value of an enumeration.
pub fn choice<E: Enumeration>(value: &str) -> Result<E, String> {
    E::from_wire(value).ok_or_else(|| one_of(E::WIRE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_model::AprType;

    fn parameters(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn faults(pairs: &[(&str, &str)], take: impl FnOnce(&mut Query<'_>) -> Option<()>) -> Vec<ApiError> {
        let parameters = parameters(pairs);
        let read = Query { parameters: &parameters, faults: Vec::new() }.read(take);
        read.err().map(|failure| failure.errors).unwrap_or_default()
    }

    fn messages(faults: &[ApiError]) -> Vec<&str> {
        faults.iter().filter_map(|fault| fault.message.as_deref()).collect()
    }

    #[test]
    fn values_have_their_types() {
        let parameters = parameters(&[("size", "-3"), ("kind", "fixed"), ("name", "a b"), ("size", "x")]);
        let query = Query { parameters: &parameters, faults: Vec::new() };
        let read = query.read(|query| {
            let size = query.required("size", integer::<i64>(-3..=3));
            let kind = query.optional("kind", choice::<AprType>);
            let name = query.required("name", text);
            let absent = query.optional("absent", integer::<i64>(0..=1));
            Some((size?, kind?, name?, absent))
        });
        assert_eq!(read.unwrap(), (-3, AprType::Fixed, "a b", None));
    }

    #[test]
    fn every_fault_is_told_in_the_order_of_the_questions() {
        let faults = faults(&[("size", "4"), ("kind", "Fixed"), ("count", "-1")], |query| {
            let missing = query.required("name", text);
            let _: Option<i64> = query.optional("size", integer(1..=3));
            let _: Option<AprType> = query.optional("kind", choice);
            query.required("count", integer::<i64>(0..=i64::MAX));
            missing.map(|_| ())
        });
        let wanted = [
            "Query parameter name must be specified",
            "Query parameter size must be an integer from 1 to 3",
            "Query parameter kind must be one of `variable`, `regular`, `fixed`",
            "Query parameter count must be an integer, 0 or more",
        ];
        assert_eq!(messages(&faults), wanted);
        let types: Vec<_> = faults.iter().filter_map(|fault| fault.error_type).collect();
        use ErrorType::{Malformed, Missing};
        assert_eq!(types, [Missing, Malformed, Malformed, Malformed]);
    }

    #[test]
    fn what_is_no_integer_is_malformed() {
        for text in ["", " 1", "1.0", "1e2", "ten", "99999999999999999999", "٣"] {
            let faults = faults(&[("size", text)], |query| {
                query.required("size", integer::<i64>(i64::MIN..=i64::MAX)).map(|_| ())
            });
            assert_eq!(faults.len(), 1, "{text}");
            assert_eq!(faults[0].error_type, Some(ErrorType::Malformed), "{text}");
        }
    }
}
