//! Values with a check: deserialised as one type, checked, and converted to another.

use std::fmt::Display;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::{DeserializeSeed, Error};
use serde::{Deserialize, Deserializer};

use super::duration::HumanDuration;
use super::read::BETWEEN;

/// The faults of a value, a sentence each, to follow the key.
pub type ValueFaults = Vec<String>;

/// Deserialises an `R` and converts it with a check.
#[derive(Debug)]
pub struct Checked<R, F>(F, PhantomData<R>);

/// Deserialises an `R` and converts it with `check`.
pub fn checked<R, T, F: FnOnce(R) -> Result<T, ValueFaults>>(check: F) -> Checked<R, F> {
    Checked(check, PhantomData)
}

impl<'de, R: Deserialize<'de>, T, F: FnOnce(R) -> Result<T, ValueFaults>> DeserializeSeed<'de>
    for Checked<R, F>
{
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        let told = |faults: ValueFaults| {
            let faults: Vec<String> = faults.iter().map(|fault| fault.replace(BETWEEN, " ")).collect();
            D::Error::custom(faults.join(BETWEEN))
        };
        (self.0)(R::deserialize(deserializer)?).map_err(told)
    }
}

/// `value`, unless there are faults.
///
/// # Errors
/// The faults.
pub fn unless<T>(faults: ValueFaults, value: T) -> Result<T, ValueFaults> {
    if faults.is_empty() { Ok(value) } else { Err(faults) }
}

/// An integer within bounds, inclusive.
pub fn count<T: TryFrom<i64>>(least: i64, greatest: i64) -> impl Fn(i64) -> Result<T, ValueFaults> {
    move |number| {
        let within = Some(number).filter(|number| (least..=greatest).contains(number));
        let taken = within.and_then(|number| T::try_from(number).ok());
        taken.ok_or_else(|| vec![outside(least, greatest, number)])
    }
}

/// A duration within bounds, inclusive.
pub fn span(least: Duration, greatest: Duration) -> impl Fn(HumanDuration) -> Result<Duration, ValueFaults> {
    move |HumanDuration(span)| {
        let is_within = (least..=greatest).contains(&span);
        if is_within { Ok(span) } else { Err(vec![outside_span(least, greatest, span)]) }
    }
}

/// A number within bounds, inclusive.
pub fn figure(least: f64, greatest: f64) -> impl Fn(f64) -> Result<f64, ValueFaults> {
    move |figure| {
        let is_within = (least..=greatest).contains(&figure);
        if is_within { Ok(figure) } else { Err(vec![outside(least, greatest, figure)]) }
    }
}

/// An optional value, checked if present.
pub fn if_any<R, T>(
    check: impl Fn(R) -> Result<T, ValueFaults>,
) -> impl Fn(R) -> Result<Option<T>, ValueFaults> {
    move |value| check(value).map(Some)
}

/// The fault of a value outside bounds.
pub fn outside(least: impl Display, greatest: impl Display, got: impl Display) -> String {
    format!("must be from {least} to {greatest}, got {got}")
}

fn outside_span(least: Duration, greatest: Duration, got: Duration) -> String {
    outside(HumanDuration(least), HumanDuration(greatest), HumanDuration(got))
}
