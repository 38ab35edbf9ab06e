//! What is plausible: the least and the most that an attribute may be, beyond what its type can hold.
//!
//! Every bound stands in the table of this file and nowhere else. A section names it behind the attribute, and from
//! there come the check of what clients send, the sentence of the refusal, and `minimum` and `maximum` of the OpenAPI document.
//! What is stored was plausible when it came; reading it again asks nothing.

use chrono::NaiveDate;
use utoipa::openapi::Object;

use super::attribute_value::AttributeValue;
use super::fault::Fault;
use super::input::Scalar;
use super::input_kinds;

/// The least and the most that an attribute may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bounds {
    /// An integer between these.
    Integer(i64, i64),
    /// A number between these.
    Number(f64, f64),
    /// A date between this and the day on which it is sent.
    UpToToday(NaiveDate),
    /// Text of this shape.
    Text(&'static Shape),
}

/// How long a text is, and what it is made of.
#[derive(Debug, PartialEq)]
pub struct Shape {
    /// The least and the most characters.
    length: (usize, usize),
    /// What may stand there beside letters and digits.
    also: &'static str,
    /// Letters that may not, small or capital.
    never: &'static str,
    /// The same in words, and as a pattern.
    wanted: &'static str,
    pattern: &'static str,
}

/// Dollars: none is plausible, less is not.
pub const DOLLARS: Bounds = Bounds::Integer(0, i32::MAX as i64);
/// Dollars to save, which may be more than others.
pub const SAVINGS: Bounds = Bounds::Integer(0, i64::MAX);
/// Dollars and cents.
pub const DOLLARS_AND_CENTS: Bounds = Bounds::Number(0.0, i32::MAX as f64);
/// Months, units, inches and pounds.
pub const COUNT: Bounds = Bounds::Integer(0, i32::MAX as i64);
/// How far a vehicle may have gone.
pub const MILES: Bounds = Bounds::Integer(0, 10_000_000);
/// A FICO score.
pub const SCORE: Bounds = Bounds::Integer(300, 850);
/// An interest rate of a year, in percent; the most is that of what partners answer.
pub const RATE: Bounds = Bounds::Number(0.0, 400.0);
/// The birth of somebody who lives.
pub const BIRTH: Bounds =
    Bounds::UpToToday(NaiveDate::from_ymd_opt(1900, 1, 1).expect("it is in the calendar"));
/// The number of a vehicle (ISO 3779).
pub const VIN: Bounds = Bounds::Text(&Shape {
    length: (17, 17),
    also: "",
    never: "IOQ",
    wanted: "17 letters and digits, none of them I, O or Q",
    pattern: "^[0-9A-HJ-NPR-Za-hj-npr-z]{17}$",
});
/// The number on a licence plate; no state has more than eight characters, spaces and dashes apart.
pub const PLATE: Bounds = Bounds::Text(&Shape {
    length: (1, 12),
    also: " -.",
    never: "",
    wanted: "1 to 12 letters, digits, spaces, dashes and dots",
    pattern: r"^[0-9A-Za-z .-]{1,12}$",
});

impl Shape {
    fn holds(&self, text: &str) -> bool {
        let (least, most) = self.length;
        let may_stand = |letter: char| {
            self.also.contains(letter)
                || letter.is_ascii_alphanumeric() && !self.never.contains(letter.to_ascii_uppercase())
        };
        (least..=most).contains(&text.len()) && text.chars().all(may_stand)
    }
}

impl Bounds {
    /// What keeps a value that was read from being plausible.
    pub fn fault_of(self, value: Option<AttributeValue<'_>>, today: NaiveDate) -> Option<Fault> {
        let holds = match (self, value) {
            (Self::Integer(least, most), Some(AttributeValue::Number(number))) => {
                (least as f64..=most as f64).contains(&number)
            }
            (Self::Number(least, most), Some(AttributeValue::Number(number))) => {
                (least..=most).contains(&number)
            }
            (Self::UpToToday(first), Some(AttributeValue::Date(date))) => (first..=today).contains(&date),
            (Self::Text(shape), Some(AttributeValue::Text(text))) => shape.holds(text),
            _ => true,
        };
        (!holds).then(|| self.fault())
    }

    /// What keeps a value as it was sent from being plausible; nothing when it is of another kind.
    pub(super) fn fault_of_sent(self, sent: Scalar<'_>, today: NaiveDate) -> Option<Fault> {
        let value = match sent {
            Scalar::Integer(integer) => AttributeValue::Number(integer as f64),
            Scalar::Float(float) => AttributeValue::Number(float),
            Scalar::Text(text) if matches!(self, Self::Text(_)) => AttributeValue::Text(text),
            Scalar::Text(text) => AttributeValue::Date(input_kinds::date(text)?),
            Scalar::Flag(_) => return None,
        };
        self.fault_of(Some(value), today)
    }

    fn fault(self) -> Fault {
        Fault::wanted(&match self {
            Self::Integer(least, most) => format!("an integer between {least} and {most}"),
            Self::Number(least, most) => format!("a number between {least} and {most}"),
            Self::UpToToday(first) => format!("a date between {first} and today"),
            Self::Text(shape) => shape.wanted.to_owned(),
        })
    }

    /// Says in the schema of the attribute's type what more is asked of it.
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

    fn fault(bounds: Bounds, sent: Scalar<'_>) -> Option<String> {
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
    fn what_is_of_another_kind_is_a_fault_of_the_type() {
        assert_eq!(fault(DOLLARS, Scalar::Text("lots")), None);
        assert_eq!(fault(SCORE, Scalar::Flag(true)), None);
        assert_eq!(fault(BIRTH, Scalar::Text("1.2.1980")), None);
    }
}
