//! Plausible values: bounds of attributes beyond the range of their types.
//!
//! A section names a bound after the attribute. From it come the check of what clients send, the error
//! message, and `minimum` and `maximum` in the OpenAPI document. Stored values are not checked again.

use chrono::NaiveDate;
use utoipa::openapi::Object;

use super::attribute_value::AttributeValue;
use super::fault::{AttributeFault, FaultKind};
use super::input::Scalar;
use super::input_kinds;

/// The bounds of an attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttributeBounds {
    /// An integer in this range.
    Integer(i64, i64),
    /// A number in this range.
    Number(f64, f64),
    /// A date from this one to the day of its arrival.
    UpToToday(NaiveDate),
    /// Text of this form.
    Text(&'static TextShape),
    /// Text without control characters.
    Plain,
}

/// The length and the characters of a text.
#[derive(Debug, PartialEq)]
pub struct TextShape {
    /// The least and the greatest number of characters.
    length: (usize, usize),
    /// The characters allowed besides letters and digits.
    also: &'static str,
    /// Letters that are not allowed, in either case.
    never: &'static str,
    /// The form in words, for errors, and as a pattern.
    wanted: &'static str,
    pattern: &'static str,
}

/// Dollars; not negative.
pub const DOLLARS: AttributeBounds = AttributeBounds::Integer(0, i32::MAX as i64);
/// Dollars to deposit, in a wider range.
pub const SAVINGS: AttributeBounds = AttributeBounds::Integer(0, i64::MAX);
/// Dollars and cents.
pub const DOLLARS_AND_CENTS: AttributeBounds = AttributeBounds::Number(0.0, i32::MAX as f64);
/// Months, units, inches and pounds.
pub const COUNT: AttributeBounds = AttributeBounds::Integer(0, i32::MAX as i64);
/// A vehicle's mileage.
pub const MILES: AttributeBounds = AttributeBounds::Integer(0, 10_000_000);
/// A FICO score.
pub const SCORE: AttributeBounds = AttributeBounds::Integer(300, 850);
/// An annual interest rate, in percent; the maximum is that for partners' answers.
pub const RATE: AttributeBounds = AttributeBounds::Number(0.0, 400.0);
/// The earliest birth date of a living person.
pub const FIRST_BIRTH: NaiveDate = NaiveDate::from_ymd_opt(1900, 1, 1).expect("it is in the calendar");
/// The birth date of a living person.
pub const BIRTH: AttributeBounds = AttributeBounds::UpToToday(FIRST_BIRTH);
/// A person's name.
pub const NAME: AttributeBounds = AttributeBounds::Plain;
/// A vehicle identification number (ISO 3779).
pub const VIN: AttributeBounds = AttributeBounds::Text(&TextShape {
    length: (17, 17),
    also: "",
    never: "IOQ",
    wanted: "17 letters and digits, none of them I, O or Q",
    pattern: "^[0-9A-HJ-NPR-Za-hj-npr-z]{17}$",
});
/// A licence plate number; no state has more than eight characters besides spaces and dashes.
pub const PLATE: AttributeBounds = AttributeBounds::Text(&TextShape {
    length: (1, 12),
    also: " -.",
    never: "",
    wanted: "1 to 12 letters, digits, spaces, dashes and dots",
    pattern: r"^[0-9A-Za-z .-]{1,12}$",
});

impl TextShape {
    fn holds(&self, text: &str) -> bool {
        let (least, most) = self.length;
        let may_stand = |letter: char| {
            self.also.contains(letter)
                || letter.is_ascii_alphanumeric() && !self.never.contains(letter.to_ascii_uppercase())
        };
        (least..=most).contains(&text.len()) && text.chars().all(may_stand)
    }
}

impl AttributeBounds {
    /// Checks a parsed value.
    pub fn fault_of(self, value: Option<AttributeValue<'_>>, today: NaiveDate) -> Option<AttributeFault> {
        let holds = match (self, value) {
            (Self::Integer(least, most), Some(AttributeValue::Number(number))) => {
                (least as f64..=most as f64).contains(&number)
            }
            (Self::Number(least, most), Some(AttributeValue::Number(number))) => {
                (least..=most).contains(&number)
            }
            (Self::UpToToday(first), Some(AttributeValue::Date(date))) => (first..=today).contains(&date),
            (Self::Text(shape), Some(AttributeValue::Text(text))) => shape.holds(text),
            (Self::Plain, Some(AttributeValue::Text(text))) => {
                !text.bytes().any(|byte| byte.is_ascii_control())
            }
            _ => true,
        };
        (!holds).then(|| self.fault(today))
    }

    /// Checks a value as it was sent; `None` also for a value of another kind.
    pub(super) fn fault_of_sent(self, sent: Scalar<'_>, today: NaiveDate) -> Option<AttributeFault> {
        let value = match sent {
            Scalar::Integer(integer) => AttributeValue::Number(integer as f64),
            Scalar::Float(float) => AttributeValue::Number(float),
            Scalar::Text(text) if matches!(self, Self::Text(_) | Self::Plain) => AttributeValue::Text(text),
            Scalar::Text(text) => AttributeValue::Date(input_kinds::date(text)?),
            Scalar::Flag(_) => return None,
        };
        self.fault_of(Some(value), today)
    }

    fn fault(self, today: NaiveDate) -> AttributeFault {
        match self {
            Self::Integer(least, most) => {
                AttributeFault::outside(&format!("an integer between {least} and {most}"), least, most)
            }
            Self::Number(least, most) => {
                AttributeFault::outside(&format!("a number between {least} and {most}"), least, most)
            }
            Self::UpToToday(first) => {
                AttributeFault::outside(&format!("a date between {first} and today"), first, today)
            }
            Self::Text(shape) => AttributeFault::wanted(FaultKind::Format, shape.wanted),
            Self::Plain => AttributeFault::wanted(FaultKind::Format, "text without control characters"),
        }
    }

    pub(super) fn describe(self, object: &mut Object) {
        match self {
            Self::Integer(least, most) => {
                (object.minimum, object.maximum) =
                    (Some((least as isize).into()), Some((most as isize).into()));
            }
            Self::Number(least, most) => {
                (object.minimum, object.maximum) = (Some(least.into()), Some(most.into()));
            }
            Self::Text(shape) => object.pattern = Some(shape.pattern.to_owned()),
            Self::Plain => object.pattern = Some(r"^[^\u0000-\u001f\u007f]*$".to_owned()),
            Self::UpToToday(first) => {
                object.description = Some(format!("Between {first} and the day on which it is sent."));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 11, 21).unwrap();

    fn fault(bounds: AttributeBounds, sent: Scalar<'_>) -> Option<String> {
        bounds.fault_of_sent(sent, TODAY).map(|fault| fault.to_string())
    }

    #[test]
    fn both_ends_are_plausible_and_what_lies_beyond_is_not() {
        for (bounds, least, most) in [(DOLLARS, 0, 2_147_483_647), (SCORE, 300, 850), (SAVINGS, 0, i64::MAX)]
        {
            assert_eq!(fault(bounds, Scalar::Integer(least)), None);
            assert_eq!(fault(bounds, Scalar::Integer(most)), None);
            let wanted = Some(format!("must be an integer between {least} and {most}"));
            assert_eq!(fault(bounds, Scalar::Integer(least - 1)), wanted);
            assert_eq!(fault(bounds, Scalar::Float(1e30)), wanted);
        }
        assert_eq!(fault(RATE, Scalar::Float(400.0)), None);
        assert_eq!(fault(RATE, Scalar::Float(400.5)).unwrap(), "must be a number between 0 and 400");
        assert_eq!(fault(DOLLARS, Scalar::Float(-0.0)), None);
    }

    #[test]
    fn nobody_is_born_tomorrow_or_before_1900() {
        for plausible in ["1900-01-01", "2026-11-21"] {
            assert_eq!(fault(BIRTH, Scalar::Text(plausible)), None, "{plausible}");
        }
        for implausible in ["1899-12-31", "2026-11-22"] {
            let told = fault(BIRTH, Scalar::Text(implausible)).unwrap();
            assert_eq!(told, "must be a date between 1900-01-01 and today", "{implausible}");
        }
    }

    #[test]
    fn a_name_has_no_control_characters() {
        for name in ["Ottoline", "O'Neil-Ray", "Zoë 山田", "O\u{92}Brien"] {
            assert_eq!(fault(NAME, Scalar::Text(name)), None, "{name}");
        }
        for name in ["Otto\nline", "\u{7f}Otto", "Otto\0"] {
            let told = fault(NAME, Scalar::Text(name)).unwrap();
            assert_eq!(told, "must be text without control characters", "{name:?}");
        }
    }

    #[test]
    fn what_is_of_another_kind_is_a_fault_of_the_type() {
        assert_eq!(fault(DOLLARS, Scalar::Text("lots")), None);
        assert_eq!(fault(SCORE, Scalar::Flag(true)), None);
        assert_eq!(fault(BIRTH, Scalar::Text("1.2.1980")), None);
    }
}
