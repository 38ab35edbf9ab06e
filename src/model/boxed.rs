//! A section that takes no more room than a pointer where it is not given.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use serde::Serialize;
use serde::de::{MapAccess, SeqAccess};
use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};

use super::attribute_value::{AttributeKind, AttributeValue};
use super::fault::{Fault, Faults, Path};
use super::input::{FromInput, Scalar};
use super::schema::Components;

/// What it holds, elsewhere. A lead stays in memory as long as its rate table is open, and its large sections are seldom
/// given. Read and written as what it holds; a type of its own, since for all that is a `Box` others may decide what it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Boxed<T>(Box<T>);

impl<T> From<T> for Boxed<T> {
    fn from(held: T) -> Self {
        Self(Box::new(held))
    }
}

impl<T> Deref for Boxed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Boxed<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: FromInput> FromInput for Boxed<T> {
    const KIND: Option<AttributeKind> = T::KIND;

    fn wanted() -> Cow<'static, str> {
        T::wanted()
    }

    fn describe(components: &mut Components) -> RefOr<Schema> {
        T::describe(components)
    }

    fn from_scalar(found: Scalar<'_>) -> Result<Self, Fault> {
        T::from_scalar(found).map(Self::from)
    }

    fn from_seq<'de, A: SeqAccess<'de>>(elements: A) -> Result<Self, A::Error> {
        T::from_seq(elements).map(Self::from)
    }

    fn from_map<'de, A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        T::from_map(entries).map(Self::from)
    }

    fn find_faults(value: &Value, at: &Path<'_>, faults: &mut Faults) {
        T::find_faults(value, at, faults);
    }

    fn find_implausible(&self, at: &Path<'_>, faults: &mut Faults) {
        T::find_implausible(self, at, faults);
    }

    fn attribute_value(&self) -> Option<AttributeValue<'_>> {
        T::attribute_value(self)
    }
}
