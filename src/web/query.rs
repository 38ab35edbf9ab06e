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
//! A kind of value is a function that parses a text, or returns its fault.
//! Parameters that a handler does not read are ignored; of a repeated one the first counts.

use std::ops::RangeInclusive;

use super::failure::Failure;
use super::request::Request;
use offerd_model::{
    ApiError, AttributeFault, Enumeration, ErrorType, FaultKind, Leniency, meant, parse_value, trimmed,
};

/// The query parameters of a request, with the faults found so far.
#[derive(Debug)]
pub struct Query<'q> {
    parameters: &'q [(String, String)],
    leniency: Leniency,
    faults: Vec<ApiError>,
    changed: usize,
}

/// Reads the parameters in `take`, or 422 with one error per faulty parameter. `take` reads all first.
pub fn read<'q, T>(request: &'q Request, of: impl FnOnce(&mut Query<'q>) -> Option<T>) -> Result<T, Failure> {
    let (read, changed) = Query::of(&request.query, request.leniency).read(of)?;
    request.note_changed(changed);
    Ok(read)
}

impl<'q> Query<'q> {
    fn of(parameters: &'q [(String, String)], leniency: Leniency) -> Self {
        Self { parameters, leniency, faults: Vec::new(), changed: 0 }
    }

    /// The value of an optional parameter.
    pub fn optional<T>(
        &mut self,
        name: &str,
        kind: impl FnOnce(&'q str) -> Result<T, AttributeFault>,
    ) -> Option<T> {
        kind(self.value(name)?).map_err(|fault| self.malformed(name, fault)).ok()
    }

    /// The value of an optional parameter, or without the blanks around it.
    pub fn trimmed<T>(
        &mut self,
        name: &str,
        kind: impl Fn(&'q str) -> Result<T, AttributeFault>,
    ) -> Option<T> {
        let text = self.value(name)?;
        let read = kind(text).or_else(|fault| match self.leniency {
            Leniency::Strict => Err(fault),
            Leniency::Usual | Leniency::Lenient => kind(trimmed(text)).inspect(|_| self.changed += 1),
        });
        read.map_err(|fault| self.malformed(name, fault)).ok()
    }

    /// A value of an enumeration.
    pub fn choice<E: Enumeration>(&mut self, name: &str) -> Option<E> {
        let chosen = self.chosen(self.value(name)?);
        chosen.map_err(|fault| self.malformed(name, fault)).ok()
    }

    /// Values of an enumeration, separated by commas.
    pub fn choices<E: Enumeration>(&mut self, name: &str) -> Option<Vec<E>> {
        let chosen: Result<Vec<E>, _> = self.value(name)?.split(',').map(|text| self.chosen(text)).collect();
        chosen.map_err(|fault| self.malformed(name, fault)).ok()
    }

    fn chosen<E: Enumeration>(&mut self, text: &str) -> Result<E, AttributeFault> {
        let meant = if self.leniency == Leniency::Lenient { meant(E::WIRE, text) } else { None };
        self.changed += usize::from(meant.is_some_and(|meant| meant != text));
        parse_value(meant.unwrap_or(text))
    }

    /// The value of a required parameter; `None` only once its fault is noted.
    pub fn required<T>(
        &mut self,
        name: &str,
        kind: impl FnOnce(&'q str) -> Result<T, AttributeFault>,
    ) -> Option<T> {
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

    fn read<T>(mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Result<(T, usize), Failure> {
        let taken = take(&mut self);
        debug_assert!(taken.is_some() || !self.faults.is_empty(), "nothing is taken only for a fault");
        match taken {
            _ if !self.faults.is_empty() => Err(Failure::invalid(self.faults)),
            Some(value) => Ok((value, self.changed)),
            None => Err(Failure::internal()),
        }
    }

    fn value(&self, name: &str) -> Option<&'q str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn malformed(&mut self, name: &str, fault: AttributeFault) {
        let message = format!("Query parameter {name} {fault}");
        self.fault(ApiError { message: Some(message), ..fault.at(name) });
    }
}

/// Any text.
pub fn text(value: &str) -> Result<&str, AttributeFault> {
    Ok(value)
}

/// A decimal integer within bounds, and within its type.
pub fn integer<T: TryFrom<i64>>(bounds: RangeInclusive<i64>) -> impl Fn(&str) -> Result<T, AttributeFault> {
    move |value| {
        let (least, most) = (bounds.start(), bounds.end());
        let wanted = || match most {
            &i64::MAX => format!("an integer, {least} or more"),
            most => format!("an integer from {least} to {most}"),
        };
        let number = value.parse::<i64>().map_err(|_| AttributeFault::wanted(FaultKind::Kind, &wanted()))?;
        let fitting = Some(number).filter(|number| bounds.contains(number));
        let fitting = fitting.and_then(|number| T::try_from(number).ok());
        fitting.ok_or_else(|| AttributeFault::outside(&wanted(), least, most))
    }
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
        let read = Query::of(&parameters, Leniency::Usual).read(take);
        read.err().map(|failure| failure.errors).unwrap_or_default()
    }

    fn messages(faults: &[ApiError]) -> Vec<&str> {
        faults.iter().filter_map(|fault| fault.message.as_deref()).collect()
    }

    #[test]
    fn values_have_their_types() {
        let parameters = parameters(&[("size", "-3"), ("kind", "fixed"), ("name", "a b"), ("size", "x")]);
        let query = Query::of(&parameters, Leniency::Strict);
        let read = query.read(|query| {
            let size = query.required("size", integer::<i64>(-3..=3));
            let kind = query.choice::<AprType>("kind");
            let name = query.required("name", text);
            let absent = query.optional("absent", integer::<i64>(0..=1));
            Some((size?, kind?, name?, absent))
        });
        assert_eq!(read.unwrap(), ((-3, AprType::Fixed, "a b", None), 0));
    }

    #[test]
    fn every_fault_is_told_in_the_order_of_the_questions() {
        let faults = faults(&[("size", "4"), ("kind", "Fixed"), ("count", "-1")], |query| {
            let missing = query.required("name", text);
            let _: Option<i64> = query.optional("size", integer(1..=3));
            let _: Option<AprType> = query.choice("kind");
            query.required("count", integer::<i64>(0..=i64::MAX));
            missing.map(|_| ())
        });
        let wanted = [
            "Query parameter name must be specified",
            "Query parameter size must be an integer from 1 to 3",
            "Query parameter kind must be one of `variable`, `regular`, `fixed`; did you mean `fixed`?",
            "Query parameter count must be an integer, 0 or more",
        ];
        assert_eq!(messages(&faults), wanted);
        let types: Vec<_> = faults.iter().filter_map(|fault| fault.error_type).collect();
        use ErrorType::{Malformed, Missing};
        assert_eq!(types, [Missing, Malformed, Malformed, Malformed]);
    }

    #[test]
    fn what_is_meant_is_read_as_far_as_the_request_is_lenient() {
        let parameters = parameters(&[("kinds", "Fixed,regular"), ("size", " 7 ")]);
        let read = |leniency| {
            let read = Query::of(&parameters, leniency).read(|query| {
                let size: Option<i32> = query.trimmed("size", integer(0..=9));
                let kinds: Option<Vec<AprType>> = query.choices("kinds");
                Some((size?, kinds?))
            });
            read.map_err(|failure| failure.errors.len())
        };
        assert_eq!(read(Leniency::Lenient), Ok(((7, vec![AprType::Fixed, AprType::Regular]), 2)));
        assert_eq!((read(Leniency::Usual), read(Leniency::Strict)), (Err(1), Err(2)));
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
