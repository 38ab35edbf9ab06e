//! Values of JSON and XML as mappings see them. What cannot be read exactly is an error of the mapping that
//! uses it, and of no other.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, Value as Mapped};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::mapping_error::own_words;

/// Maximum number of values of an answer: of XML, its elements and attributes.
pub(super) const NODES: u32 = 100_000;

/// Key of an element's own text, if it also has elements or attributes.
pub const TEXT: &str = "#text";

/// The name of the attribute by which an element says that it is nothing.
pub(super) const NIL: &str = "@nil";

/// From here on, whole numbers of JSON are rounded.
const WHOLE_MAX: f64 = 9_223_372_036_854_775_808.0;

const ROUNDED: &str =
    "finds a whole number that is too long to be read exactly: the partner must send it as a text";

const TWICE: &str = "finds a name that stands twice in one object of the answer, with different values: the \
    partner must send it once";

/// A value that a document holds.
pub(super) struct Parsed(pub(super) Mapped);

/// What a document with more values than [`NODES`] is.
pub(super) const TOO_MANY: &str = "has more than 100000 values: the partner must send fewer";

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        ParsedVisitor(&Cell::new(0)).deserialize(from).map(Self)
    }
}

/// Reads a value, and counts all values of the document.
#[derive(Clone, Copy)]
struct ParsedVisitor<'c>(&'c Cell<u32>);

impl<'de> DeserializeSeed<'de> for ParsedVisitor<'_> {
    type Value = Mapped;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Mapped, D::Error> {
        self.0.set(self.0.get() + 1);
        if self.0.get() > NODES {
            return Err(D::Error::custom(TOO_MANY));
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ParsedVisitor<'_> {
    type Value = Mapped;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Mapped, E> {
        Ok(Mapped::from(()))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Mapped, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, whole: i64) -> Result<Mapped, E> {
        Ok(whole.into())
    }

    fn visit_u64<E>(self, whole: u64) -> Result<Mapped, E> {
        Ok(whole.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Mapped, E> {
        let is_exact = number.abs() < WHOLE_MAX;
        Ok(if is_exact { number.into() } else { own_words(ROUNDED).into() })
    }

    fn visit_str<E>(self, text: &str) -> Result<Mapped, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Mapped, A::Error> {
        let mut list = Vec::new();
        while let Some(one) = from.next_element_seed(self)? {
            list.push(one);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Mapped, A::Error> {
        let mut table = BTreeMap::new();
        while let Some(name) = from.next_key::<String>()? {
            let mut value = from.next_value_seed(self)?;
            if table.get(&name).is_some_and(|first| *first != value) {
                value = own_words(TWICE).into();
            }
            table.insert(name, value);
        }
        Ok(table_of(table))
    }
}

/// A table, or an element of XML with a text.
pub(super) fn table_of(table: BTreeMap<String, Mapped>) -> Mapped {
    let is_text = table.contains_key(TEXT) || is_nil(table.get(NIL).and_then(Mapped::as_str));
    if is_text { Mapped::from_object(TextElement(table)) } else { table.into() }
}

/// Whether an element is nil, by its attribute `xsi:nil`.
pub(super) fn is_nil(attribute: Option<&str>) -> bool {
    matches!(attribute, Some("true" | "1"))
}

/// An element of XML with a text and attributes: a table that is written as its text.
#[derive(Debug)]
struct TextElement(BTreeMap<String, Mapped>);

impl Object for TextElement {
    fn get_value(self: &Arc<Self>, name: &Mapped) -> Option<Mapped> {
        self.0.get(name.as_str()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.keys().map(Mapped::from).collect())
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.get(TEXT).map_or(Ok(()), |text| write!(out, "{text}"))
    }
}
