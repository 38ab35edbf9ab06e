//! Reading of numbers, flags, dates and arrays.

use std::borrow::Cow;

use chrono::NaiveDate;
use serde::de::{self, MapAccess, SeqAccess};
use serde_json::Value;
use utoipa::Number;
use utoipa::openapi::schema::{KnownFormat, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use uuid::Uuid;

use super::attribute_value::{AttributeKind, AttributeValue};
use super::enumeration::Enumeration;
use super::fault::{AttributeFault, BodyFaults, FaultKind, Path};
use super::input::{FromInput, InputSeed, Scalar, from_scalar, kind_of, other_kind, text};
use super::leniency::{self, Leniency};
use super::schema::{self, Components};

macro_rules! integer {
    ($($type:ty: $format:ident)+) => { $(
        from_scalar! {
            $type, "an integer", Some(AttributeKind::Number),
            describe: _ => number(Type::Integer, KnownFormat::$format, Self::MIN, Self::MAX),
            read: found => {
                let integer = match found {
                    Scalar::Integer(integer) => Some(integer),
                    Scalar::Float(float) if float.fract() != 0.0 => {
                        return Err(AttributeFault::other_kind(&Self::wanted(), "a number with a fraction"));
                    }
                    Scalar::Float(float) => integral(float),
                    other => return Err(other_kind::<Self>(other)),
                };
                integer.and_then(|integer| Self::try_from(integer).ok()).ok_or_else(|| {
                    let wanted = format!("an integer between {} and {}", Self::MIN, Self::MAX);
                    AttributeFault::outside(&wanted, Self::MIN, Self::MAX)
                })
            },
            show: integer => Some(AttributeValue::Number(*integer as f64)),
        }
    )+ };
}

integer! { i32: Int32 i64: Int64 }

fn number(kind: Type, format: KnownFormat, min: impl Into<Number>, max: impl Into<Number>) -> RefOr<Schema> {
    let format = Some(SchemaFormat::KnownFormat(format));
    schema::of(kind).format(format).minimum(Some(min)).maximum(Some(max)).into()
}

/// The integer that an integral float stands for, if it is in range.
fn integral(float: f64) -> Option<i64> {
    // Exact in binary; an integer that is too long is read as the nearest float.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    (float.abs() < LIMIT).then_some(float as i64)
}

from_scalar! {
    f64, "a number", Some(AttributeKind::Number),
    describe: _ => number(Type::Number, KnownFormat::Double, Self::MIN, Self::MAX),
    read: found => match found {
        Scalar::Integer(integer) => Ok(integer as Self),
        Scalar::Float(float) => Ok(float),
        other => Err(other_kind::<Self>(other)),
    },
    show: number => Some(AttributeValue::Number(*number)),
}

from_scalar! {
    bool, "a boolean", Some(AttributeKind::Flag),
    describe: _ => schema::of(Type::Boolean).into(),
    read: found => match found {
        Scalar::Flag(flag) => Ok(flag),
        other => Err(other_kind::<Self>(other)),
    },
    show: flag => Some(AttributeValue::Flag(*flag)),
}

from_scalar! {
    String, "a string", Some(AttributeKind::Text),
    describe: _ => schema::of(Type::String).into(),
    read: found => text(found, FaultKind::Format, |text| Some(text.to_owned())),
    show: text => (!text.is_empty()).then_some(AttributeValue::Text(text)),
}

from_scalar! {
    NaiveDate, "a date `YYYY-MM-DD`", Some(AttributeKind::Date),
    describe: _ => schema::text("date"),
    read: found => text(found, FaultKind::Date, date),
    show: date => Some(AttributeValue::Date(*date)),
    mend: leniency::day,
}

/// Parses exactly `YYYY-MM-DD`; chrono alone accepts signs, blanks and single digits too.
pub(super) fn date(text: &str) -> Option<NaiveDate> {
    let shaped = has_shape(text, "0000-00-00");
    shaped.then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()).flatten()
}

/// Whether `text` has a digit where `shape` has `0`, and equals it elsewhere.
pub(super) fn has_shape(text: &str, shape: &str) -> bool {
    let fits =
        |(found, wanted): (u8, u8)| if wanted == b'0' { found.is_ascii_digit() } else { found == wanted };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

from_scalar! {
    Uuid, "a UUID", None,
    describe: _ => schema::text("uuid"),
    read: found => text(found, FaultKind::Format, |text| {
        const HYPHENATED_LENGTH: usize = 36;
        Self::try_parse(text).ok().filter(|_| text.len() == HYPHENATED_LENGTH)
    }),
    show: _ => None,
}

/// A boxed section, read and written as if it were not boxed, so only from an object. A large section that is
/// rarely given takes only a pointer of an open table's memory.
impl<T: FromInput> FromInput for Box<T> {
    fn wanted() -> Cow<'static, str> {
        T::wanted()
    }

    fn describe(components: &mut Components) -> RefOr<Schema> {
        T::describe(components)
    }

    fn from_map<'de, A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        T::from_map(entries).map(Self::new)
    }

    fn find_faults(value: &Value, at: &Path<'_>, faults: &mut BodyFaults) {
        T::find_faults(value, at, faults);
    }

    fn mend(value: &mut Value, leniency: Leniency) -> usize {
        T::mend(value, leniency)
    }

    fn find_implausible(&self, at: &Path<'_>, faults: &mut BodyFaults) {
        T::find_implausible(self, at, faults);
    }
}

/// The elements of arrays. Rules of partners see most arrays as their length.
pub trait Element: FromInput {
    /// The kind of an array of these elements.
    const ARRAY_KIND: Option<AttributeKind> = Some(AttributeKind::Number);

    /// The value of an array; an empty one counts as absent.
    fn array_value(elements: &[Self]) -> Option<AttributeValue<'_>> {
        (!elements.is_empty()).then_some(AttributeValue::Number(elements.len() as f64))
    }
}

impl<E: Enumeration + FromInput> Element for E {
    const ARRAY_KIND: Option<AttributeKind> = Some(AttributeKind::Set(E::WIRE));

    fn array_value(elements: &[Self]) -> Option<AttributeValue<'_>> {
        let set = elements.iter().fold(0, |set, element| set | 1 << element.ordinal());
        (set != 0).then_some(AttributeValue::Set(set))
    }
}

impl Element for String {
    const ARRAY_KIND: Option<AttributeKind> = None;

    fn array_value(_elements: &[Self]) -> Option<AttributeValue<'_>> {
        None
    }
}

impl<T: Element> FromInput for Vec<T> {
    const KIND: Option<AttributeKind> = T::ARRAY_KIND;

    fn wanted() -> Cow<'static, str> {
        "an array".into()
    }

    fn describe(components: &mut Components) -> RefOr<Schema> {
        schema::array(T::describe(components))
    }

    fn from_seq<'de, A: SeqAccess<'de>>(mut elements: A) -> Result<Self, A::Error> {
        let mut read = Self::new();
        while let Some(element) = elements.next_element_seed(InputSeed::required())? {
            let none = || de::Error::custom(AttributeFault::other_kind(&T::wanted(), "null"));
            read.push(element.ok_or_else(none)?);
        }
        Ok(read)
    }

    fn find_faults(value: &Value, at: &Path<'_>, faults: &mut BodyFaults) {
        let Some(elements) = value.as_array() else {
            return faults.push(at, AttributeFault::other_kind(&Self::wanted(), kind_of(value)));
        };
        for (index, element) in elements.iter().enumerate() {
            T::find_faults(element, &Path::Index(at, index), faults);
        }
    }

    fn mend(value: &mut Value, leniency: Leniency) -> usize {
        value.as_array_mut().into_iter().flatten().map(|element| T::mend(element, leniency)).sum()
    }

    fn find_implausible(&self, at: &Path<'_>, faults: &mut BodyFaults) {
        for (index, element) in self.iter().enumerate() {
            element.find_implausible(&Path::Index(at, index), faults);
        }
    }

    fn attribute_value(&self) -> Option<AttributeValue<'_>> {
        T::array_value(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads<T: FromInput>(found: Scalar<'_>) -> bool {
        T::from_scalar(found).is_ok()
    }

    #[test]
    fn integers_are_integral_numbers_in_range() {
        assert_eq!(i32::from_scalar(Scalar::Float(1e4)), Ok(10_000));
        assert_eq!(i64::from_scalar(Scalar::Float(-4e18)), Ok(-4_000_000_000_000_000_000));
        assert!(!reads::<i32>(Scalar::Float(2_147_483_648.0)));
        assert!(!reads::<i32>(Scalar::Integer(-2_147_483_649)));
        assert!(!reads::<i64>(Scalar::Float(9_223_372_036_854_775_808.0)));
        assert!(!reads::<i64>(Scalar::Float(-9_223_372_036_854_775_808.0)), "it may stand for one less");
        assert!(reads::<i64>(Scalar::Integer(i64::MIN)));
        assert!(!reads::<i32>(Scalar::Float(0.5)));
        let fault = i32::from_scalar(Scalar::Text("5000")).unwrap_err();
        assert_eq!(fault.to_string(), "must be an integer, got a string");
    }

    #[test]
    fn dates_are_strict() {
        for text in ["2020-02-29", "1984-07-14", "0001-01-01"] {
            assert!(reads::<NaiveDate>(Scalar::Text(text)), "{text}");
        }
        for text in
            ["2021-02-29", "1984-7-14", "1984-07-14T00:00:00Z", "07/14/1984", "+984-07-14", " 1984-07-14"]
        {
            assert!(!reads::<NaiveDate>(Scalar::Text(text)), "{text}");
        }
    }

    #[test]
    fn uuids_are_hyphenated() {
        assert!(reads::<Uuid>(Scalar::Text("0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8c01")));
        assert!(!reads::<Uuid>(Scalar::Text("0198c1f27d5e7a119f3c2b7d4e6a8c01")));
        assert!(!reads::<Uuid>(Scalar::Text("{0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8c01}")));
    }
}
