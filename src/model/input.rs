//! Lenient reading of request bodies. The fast path reads JSON straight into the types and stops at the first
//! fault; then the slow path walks the parsed document and reports every fault, both by [`FromInput`].
//! Unknown keys are ignored, `null` and blank text mean "absent", an integral float is an integer. No message
//! ever repeats a value from the body.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};

use super::api_error::{ApiError, ErrorType};
use super::attribute_value::{AttributeKind, AttributeValue};
use super::bounds::AttributeBounds;
use super::document;
use super::enumeration::Enumeration;
use super::fault::{Arrival, AttributeFault, BodyFaults, FaultKind, Path};
use super::leniency::{self, Leniency, Proposal};
use super::plain_text::trimmed;
pub use super::scalar::Scalar;
use super::schema::Components;

/// A type of a field of a request body.
pub trait FromInput: Sized {
    /// The kind of attribute that rules of partners see; `None` for a type that is not a single attribute.
    const KIND: Option<AttributeKind> = None;

    /// The expected value, to follow "must be".
    fn wanted() -> Cow<'static, str>;

    /// The schema of what should be sent; nouns become references, and are added to the components.
    fn describe(components: &mut Components) -> RefOr<Schema>;

    /// Reads any value except null, an array or an object.
    fn from_scalar(found: Scalar<'_>) -> Result<Self, AttributeFault> {
        Err(other_kind::<Self>(found))
    }

    /// Reads an array.
    fn from_seq<'de, A: SeqAccess<'de>>(_elements: A) -> Result<Self, A::Error> {
        Err(de::Error::custom(AttributeFault::other_kind(&Self::wanted(), "an array")))
    }

    /// Reads an object.
    fn from_map<'de, A: MapAccess<'de>>(_entries: A) -> Result<Self, A::Error> {
        Err(de::Error::custom(AttributeFault::other_kind(&Self::wanted(), "an object")))
    }

    /// Collects every fault of `value`.
    fn find_faults(value: &Value, at: &Path<'_>, faults: &mut BodyFaults) {
        let other_kind = || AttributeFault::other_kind(&Self::wanted(), kind_of(value));
        match Scalar::of(value).ok_or_else(other_kind).and_then(Self::from_scalar) {
            Ok(read) => read.find_implausible(at, faults),
            Err(fault) => faults.push(at, fault),
        }
    }

    /// Puts what was meant into the place of what is not read, where that is certain; returns how many values it
    /// changed.
    fn mend(_value: &mut Value, _leniency: Leniency) -> usize {
        0
    }

    /// Collects every value that was read but is not plausible.
    fn find_implausible(&self, _at: &Path<'_>, _faults: &mut BodyFaults) {}

    /// The value for rules of partners; an empty one counts as absent.
    fn attribute_value(&self) -> Option<AttributeValue<'_>> {
        None
    }
}

pub(super) fn other_kind<T: FromInput>(found: Scalar<'_>) -> AttributeFault {
    AttributeFault::other_kind(&T::wanted(), found.kind())
}

/// Reads text with `parse`, which returns `None` for text of the wrong form.
pub(super) fn text<T: FromInput>(
    found: Scalar<'_>,
    fault: FaultKind,
    parse: fn(&str) -> Option<T>,
) -> Result<T, AttributeFault> {
    match found {
        Scalar::Text(text) => parse(text).ok_or_else(|| AttributeFault::wanted(fault, &T::wanted())),
        other => Err(other_kind::<T>(other)),
    }
}

/// Reads a value of an enumeration.
pub(super) fn value<E: Enumeration + FromInput>(found: Scalar<'_>) -> Result<E, AttributeFault> {
    match found {
        Scalar::Text(text) => leniency::parse(text),
        other => Err(other_kind::<E>(other)),
    }
}

/// Puts what was meant into the place of a value, if that is read and the value is not; returns how many
/// values it changed.
pub(super) fn mend<T: FromInput>(value: &mut Value, leniency: Leniency, propose: Proposal) -> usize {
    let Some(found) = Scalar::of(value).filter(|found| T::from_scalar(*found).is_err()) else { return 0 };
    let meant = propose(found, leniency).filter(|text| T::from_scalar(Scalar::Text(text)).is_ok());
    meant.map_or(0, |text| {
        *value = Value::String(text);
        1
    })
}

/// Implements [`FromInput`] for a scalar type: expected value, kind, schema, parser, and value for rules.
macro_rules! from_scalar {
    ($type:ty, $wanted:expr, $kind:expr,
        describe: $components:pat_param => $schema:expr,
        read: $found:pat_param => $read:expr,
        show: $value:pat_param => $shown:expr,
        $(mend: $propose:expr,)?
        $(implausible: ($read_value:ident, $faults:ident) => $implausible:expr,)?
    ) => {
        impl $crate::input::FromInput for $type {
            const KIND: Option<$crate::AttributeKind> = $kind;

            fn wanted() -> std::borrow::Cow<'static, str> {
                $wanted.into()
            }

            fn describe(
                $components: &mut $crate::Components,
            ) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $schema
            }

            fn from_scalar($found: $crate::input::Scalar<'_>) -> Result<Self, $crate::fault::AttributeFault> {
                $read
            }

            fn attribute_value(&self) -> Option<$crate::AttributeValue<'_>> {
                let $value = self;
                $shown
            }

            $(fn mend(value: &mut serde_json::Value, leniency: $crate::Leniency) -> usize {
                $crate::input::mend::<Self>(value, leniency, $propose)
            })?

            $(fn find_implausible(
                &self,
                at: &$crate::fault::Path<'_>,
                $faults: &mut $crate::fault::BodyFaults,
            ) {
                let $read_value = self;
                if let Some(fault) = $implausible {
                    $faults.push(at, fault);
                }
            })?
        }

        impl $crate::attribute::Attributes for $type {}
    };
}

pub(crate) use from_scalar;

/// The kind of a JSON value, for messages.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
        Value::String(_) | Value::Bool(_) | Value::Number(_) => {
            Scalar::of(value).map_or("a value", Scalar::kind)
        }
    }
}

pub(super) fn find_field_faults<T: FromInput>(
    value: &Value,
    bounds: Option<AttributeBounds>,
    at: &Path<'_>,
    faults: &mut BodyFaults,
) {
    if !faults.twice.is_empty() && faults.twice.contains(&at.to_string()) {
        return faults.push(at, AttributeFault::TWICE);
    }
    if value.is_null() || value.as_str().is_some_and(is_blank) {
        return;
    }
    let implausible =
        |bounds: AttributeBounds| bounds.fault_of_sent(Scalar::of(value)?, faults.arrival.today);
    match bounds.and_then(implausible) {
        Some(fault) => faults.push(at, fault),
        None => T::find_faults(value, at, faults),
    }
}

pub(super) fn find_field_implausible<T: FromInput>(
    value: &T,
    bounds: Option<AttributeBounds>,
    at: &Path<'_>,
    faults: &mut BodyFaults,
) {
    let Some(bounds) = bounds else { return value.find_implausible(at, faults) };
    if let Some(fault) = bounds.fault_of(value.attribute_value(), faults.arrival.today) {
        faults.push(at, fault);
    }
}

/// Whether nothing of a text can be seen.
fn is_blank(text: &str) -> bool {
    !text.as_bytes().first().is_some_and(u8::is_ascii_graphic) && trimmed(text).is_empty()
}

/// Why a body could not be read.
#[derive(Debug, Clone, PartialEq)]
pub enum UnreadableBody {
    /// The body is not JSON, or not an object.
    NotJson(ApiError),
    /// The body is an object with these faults, in the order of the specification.
    Faults(Vec<ApiError>),
}

impl UnreadableBody {
    /// The missing ones of these required attributes.
    pub(super) fn missing<'a>(given: impl IntoIterator<Item = (&'a str, bool)>) -> Self {
        let missing = given.into_iter().filter(|(_, is_given)| !is_given);
        Self::Faults(missing.map(|(name, _)| ApiError::missing(name)).collect())
    }
}

/// Reads a request body without an upper bound for dates.
pub fn read<T: FromInput>(body: &[u8]) -> Result<T, UnreadableBody> {
    read_leniently(Arrival::ANY, Leniency::Usual, body).map(|(read, _)| read)
}

/// Reads a request body by its arrival; returns also how many of its values were changed.
pub fn read_leniently<T: FromInput>(
    arrival: Arrival,
    leniency: Leniency,
    body: &[u8],
) -> Result<(T, usize), UnreadableBody> {
    let json = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    // Values under unknown keys are not read, but must be valid text (RFC 8259, 8.1).
    let Ok(text) = std::str::from_utf8(json) else { return explain(arrival, leniency, json) };
    let mut reader = serde_json::Deserializer::from_str(text);
    let fast = InputSeed::required().deserialize(&mut reader).and_then(|read| reader.end().map(|()| read));
    match fast {
        Ok(Some(read)) => plausible(arrival, read).map(|read| (read, 0)),
        Ok(None) | Err(_) => explain(arrival, leniency, json),
    }
}

/// Returns the value read, unless part of it is not plausible.
fn plausible<T: FromInput>(arrival: Arrival, read: T) -> Result<T, UnreadableBody> {
    let mut faults = BodyFaults::of(arrival);
    read.find_implausible(&Path::Root, &mut faults);
    if faults.errors.is_empty() { Ok(read) } else { Err(UnreadableBody::Faults(faults.errors)) }
}

/// Mends a body that the fast path refused, or reports its every fault.
fn explain<T: FromInput>(
    arrival: Arrival,
    leniency: Leniency,
    json: &[u8],
) -> Result<(T, usize), UnreadableBody> {
    let not_json = |message| UnreadableBody::NotJson(ApiError::new(ErrorType::Malformed, message));
    let broken_at = |error: serde_json::Error| {
        not_json(format!("the body is not JSON: see line {}, column {}", error.line(), error.column()))
    };
    if json.trim_ascii().is_empty() {
        return Err(not_json("the body is empty, a JSON object is wanted".to_owned()));
    }
    let mend =
        |document: &mut Value| if leniency == Leniency::Strict { 0 } else { T::mend(document, leniency) };
    let mut document = document::parse(json).map_err(broken_at)?;
    if !document.is_object() {
        return Err(not_json(format!("the body must be a JSON object, got {}", kind_of(&document))));
    }
    let changed = mend(&mut document);
    let mut faults = BodyFaults::of(arrival);
    faults.twice = document::given_twice(json);
    T::find_faults(&document, &Path::Root, &mut faults);
    if !faults.errors.is_empty() {
        return Err(UnreadableBody::Faults(faults.errors));
    }
    document = serde_json::from_slice(json).map_err(broken_at)?;
    mend(&mut document);
    match InputSeed::required().deserialize(document) {
        Ok(Some(read)) => Ok((read, changed)),
        Ok(None) | Err(_) => Err(not_json("the body cannot be read".to_owned())),
    }
}

/// The attributes of a `T` that a body gives more than once, for a reader of parsed documents, which keep one of them.
pub fn given_twice<T: FromInput>(body: &[u8]) -> Vec<ApiError> {
    let mut faults = BodyFaults::of(Arrival::ANY);
    faults.twice = document::given_twice(body);
    if let (false, Ok(document)) = (faults.twice.is_empty(), document::parse(body)) {
        T::find_faults(&document, &Path::Root, &mut faults);
    }
    let twice = |fault: &ApiError| fault.attribute.as_ref().is_some_and(|path| faults.twice.contains(path));
    faults.errors.iter().filter(|fault| twice(fault)).cloned().collect()
}

/// Reads one value as a `T`; yields `None` only where the value may be absent.
pub(super) struct InputSeed<T> {
    may_be_absent: bool,
    read: PhantomData<T>,
}

impl<T> InputSeed<T> {
    /// Reads a field: `null` and blank text mean "absent".
    pub(super) fn optional() -> Self {
        Self { may_be_absent: true, read: PhantomData }
    }

    /// Reads an element of an array, or a whole body.
    pub(super) fn required() -> Self {
        Self { may_be_absent: false, read: PhantomData }
    }
}

impl<'de, T: FromInput> DeserializeSeed<'de> for InputSeed<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: FromInput> Visitor<'de> for InputSeed<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&T::wanted())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Option<T>, E> {
        let fault = || AttributeFault::other_kind(&T::wanted(), "null");
        if self.may_be_absent { Ok(None) } else { Err(E::custom(fault())) }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<T>, E> {
        if self.may_be_absent && is_blank(text) { Ok(None) } else { scalar(Scalar::Text(text)) }
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Option<T>, E> {
        scalar(Scalar::Flag(flag))
    }

    fn visit_i64<E: de::Error>(self, integer: i64) -> Result<Option<T>, E> {
        scalar(Scalar::Integer(integer))
    }

    fn visit_u64<E: de::Error>(self, integer: u64) -> Result<Option<T>, E> {
        scalar(i64::try_from(integer).map_or(Scalar::Float(integer as f64), Scalar::Integer))
    }

    fn visit_f64<E: de::Error>(self, float: f64) -> Result<Option<T>, E> {
        scalar(Scalar::Float(float))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Option<T>, A::Error> {
        T::from_seq(elements).map(Some)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Option<T>, A::Error> {
        T::from_map(entries).map(Some)
    }
}

fn scalar<T: FromInput, E: de::Error>(found: Scalar<'_>) -> Result<Option<T>, E> {
    T::from_scalar(found).map(Some).map_err(E::custom)
}

/// Recognises an object's key without copying it.
pub(super) struct KeySeed<'r, K>(pub(super) &'r dyn Fn(&str) -> K);

impl<'de, K> DeserializeSeed<'de> for KeySeed<'_, K> {
    type Value = K;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<K> Visitor<'_> for KeySeed<'_, K> {
    type Value = K;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<K, E> {
        Ok((self.0)(key))
    }
}
