//! All attributes of a lead as data, for the rules of partners.

use std::sync::LazyLock;

use super::attribute_value::{AttributeKind, AttributeValue};
use super::free_form::{ClientTags, JsonObject};
use super::lead::Lead;

/// One leaf attribute of a lead.
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    /// Its path: `personalInformation.dateOfBirth`.
    pub path: &'static str,
    /// The kind of its values.
    pub kind: AttributeKind,
    /// Whether the value identifies a person, and is never shown.
    pub personal: bool,
    pub(super) read: for<'a> fn(&'a Lead) -> Option<AttributeValue<'a>>,
}

static ALL: LazyLock<Vec<Attribute>> = LazyLock::new(Lead::attributes);

impl Attribute {
    /// Lists all attributes in the order of the specification.
    pub fn all() -> &'static [Self] {
        &ALL
    }

    /// Finds the attribute at `path`.
    pub fn named(path: &str) -> Option<&'static Self> {
        ALL.iter().find(|attribute| attribute.path == path)
    }

    /// Whether operators see the value only on request: values that identify a person, and all texts and
    /// dates, which can identify one in combination.
    pub fn is_masked(&self) -> bool {
        self.personal || matches!(self.kind, AttributeKind::Text | AttributeKind::Date)
    }

    /// Reads the value; `None` when it is absent, or an empty text or array.
    pub fn read<'a>(&self, lead: &'a Lead) -> Option<AttributeValue<'a>> {
        (self.read)(lead)
    }
}

/// A type of a field of a lead.
pub trait Attributes {
    /// The attributes within, if the type has a fixed place in the lead.
    fn attributes() -> Vec<Attribute> {
        Vec::new()
    }
}

impl Attributes for ClientTags {}

impl Attributes for JsonObject {}

impl<T> Attributes for Vec<T> {}

impl<T: Attributes> Attributes for Box<T> {
    fn attributes() -> Vec<Attribute> {
        T::attributes()
    }
}
