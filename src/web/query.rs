//! Query parameters with types: each is read in turn, and all that is wrong with them is answered at once.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::failure::Failure;
use super::request::Request;
use crate::model::{ApiError, Enumeration, ErrorType, one_of};

/// The query of a request being read. An empty value counts as not given.
#[derive(Debug)]
pub struct Query<'a> {
    values: &'a [(String, String)],
    faults: Vec<ApiError>,
}

impl<'a> Query<'a> {
    /// The query of `request`.
    pub fn of(request: &'a Request) -> Self {
        Self { values: &request.query, faults: Vec::new() }
    }

    /// The text of a parameter, its first if it stands there more than once.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.values.iter().find(|(known, text)| known == name && !text.is_empty()).map(|(_, text)| &**text)
    }

    /// A whole number within `range`.
    pub fn integer<N>(&mut self, name: &str, range: RangeInclusive<N>) -> Option<N>
    where
        N: FromStr + PartialOrd + std::fmt::Display,
    {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        self.parsed(name, &wanted, |text| text.parse().ok().filter(|number| range.contains(number)))
    }

    /// A value of an enumeration.
    pub fn value<E: Enumeration>(&mut self, name: &str) -> Option<E> {
        self.parsed(name, &one_of(E::WIRE), E::from_wire)
    }

    /// Values of an enumeration: the parameter may be repeated, or list them with commas.
    pub fn values<E: Enumeration>(&mut self, name: &str) -> Option<Vec<E>> {
        let given = self.values.iter().filter(|(known, _)| known == name);
        let texts: Vec<&str> =
            given.flat_map(|(_, text)| text.split(',')).filter(|text| !text.is_empty()).collect();
        let values: Option<Vec<E>> = texts.iter().map(|text| E::from_wire(text)).collect();
        if values.is_none() {
            self.malformed(name, &one_of(E::WIRE));
        }
        values.filter(|values| !values.is_empty())
    }

    /// What `parse` makes of a parameter; `wanted` says what it must be.
    pub fn parsed<T>(
        &mut self,
        name: &str,
        wanted: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let parsed = parse(self.text(name)?);
        if parsed.is_none() {
            self.malformed(name, wanted);
        }
        parsed
    }

    /// Notes it when a parameter that must be there is not.
    pub fn required(&mut self, name: &str) {
        if self.text(name).is_none() {
            self.faults.push(ApiError::at(name, ErrorType::Missing, "must be given"));
        }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// 422 with everything that is wrong.
    pub fn finish(self) -> Result<(), Failure> {
        if self.faults.is_empty() { Ok(()) } else { Err(Failure::malformed(self.faults)) }
    }

    fn malformed(&mut self, name: &str, wanted: &str) {
        self.faults.push(ApiError::at(name, ErrorType::Malformed, format!("must be {wanted}")));
    }
}
