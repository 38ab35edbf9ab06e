//! OpenAPI schemas that utoipa's derive cannot express.
//!
//! The derive describes what is answered; `FromInput::describe` what is read, leniently.

use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::extensions::{Extensions, ExtensionsBuilder};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{ArrayBuilder, Ref, RefOr, Schema, SchemaFormat};

use super::bounds::AttributeBounds;

/// Schemas, by the names that references use.
pub type Components = Vec<(String, RefOr<Schema>)>;

/// A reference to the schema of a noun. Adds the noun, and all that it refers to, to the components.
pub fn reference<T: ToSchema>(components: &mut Components) -> RefOr<Schema> {
    let name = T::name();
    if !components.iter().any(|(known, _)| *known == name) {
        components.push((name.clone().into_owned(), T::schema()));
        T::schemas(components);
    }
    Ref::from_schema_name(name).into()
}

/// A value of a type of JSON.
pub fn of(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(kind)
}

/// An object with these properties; the flag marks a required one.
pub fn object<'p>(properties: impl IntoIterator<Item = (&'p str, RefOr<Schema>, bool)>) -> ObjectBuilder {
    properties.into_iter().fold(of(Type::Object), |object, (name, schema, required)| {
        let object = object.property(name, schema);
        if required { object.required(name) } else { object }
    })
}

/// An array.
pub fn array(elements: RefOr<Schema>) -> RefOr<Schema> {
    ArrayBuilder::new().items(elements).into()
}

/// Text in a standard format.
pub fn text(format: &str) -> RefOr<Schema> {
    of(Type::String).format(Some(SchemaFormat::Custom(format.to_owned()))).into()
}

/// The text that a checked format accepts.
pub enum Accepted {
    /// Text that matches this pattern.
    Pattern(&'static str),
    /// Text in this format.
    Format(&'static str),
}

pub(super) fn checked_text(accepted: Accepted, about: &[&str]) -> RefOr<Schema> {
    let text = of(Type::String).description(Some(sentence(about)));
    match accepted {
        Accepted::Pattern(pattern) => text.pattern(Some(pattern)).into(),
        Accepted::Format(format) => text.format(Some(SchemaFormat::Custom(format.to_owned()))).into(),
    }
}

/// Adds the bounds, if any, to a schema.
pub(super) fn bounded(mut wanted: RefOr<Schema>, bounds: Option<AttributeBounds>) -> RefOr<Schema> {
    if let (RefOr::T(Schema::Object(object)), Some(bounds)) = (&mut wanted, bounds) {
        bounds.describe(object);
    }
    wanted
}

/// A field of a request body: a value, or null. Empty text is read as absent, too, but not described: generators make
/// one plain type of a field.
pub(super) fn optional(wanted: RefOr<Schema>, meaning: &[&str]) -> RefOr<Schema> {
    // With what the value itself has to say, such as its bounds.
    let about = |own: Option<&str>| {
        let own = [own.unwrap_or_default()];
        Some(sentence(&[meaning, own.as_slice()].concat()))
    };
    match wanted {
        RefOr::T(Schema::Object(mut object)) => {
            or_null(&mut object.schema_type);
            object.description = about(object.description.as_deref());
            object.into()
        }
        RefOr::T(Schema::Array(mut array)) => {
            or_null(&mut array.schema_type);
            array.description = about(array.description.as_deref());
            array.into()
        }
        named => OneOfBuilder::new().item(named).item(of(Type::Null)).description(about(None)).into(),
    }
}

fn or_null(kind: &mut SchemaType) {
    if let SchemaType::Type(known) = kind {
        *kind = SchemaType::from_iter([known.clone(), Type::Null]);
    }
}

/// Key of the second names of attributes, each with its first name. They are no properties: generators cannot tell
/// `zipcode` from `zipCode`.
pub(super) const ALIASES: &str = "x-aliases";

pub(super) fn aliases(names: &[(&str, &str)]) -> Option<Extensions> {
    let names: serde_json::Map<String, Value> =
        names.iter().map(|(alias, name)| ((*alias).to_owned(), Value::from(*name))).collect();
    (!names.is_empty()).then(|| ExtensionsBuilder::new().add(ALIASES, names).build())
}

pub(super) fn sentence(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, Lead};

    /// Resolves the properties of a field that refers to an object.
    fn properties<'a>(field: &'a Value, components: &'a Value) -> Option<&'a Value> {
        let wanted = field["oneOf"].get(0).unwrap_or(field);
        match wanted["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
            Some(name) => components.get(name)?.get("properties"),
            None => wanted.get("properties"),
        }
    }

    #[test]
    fn every_attribute_of_a_lead_is_described_and_may_be_null() {
        let mut components = Components::new();
        let lead = serde_json::to_value(reference::<Lead>(&mut components)).unwrap();
        let components: serde_json::Map<String, Value> = components
            .into_iter()
            .map(|(name, schema)| (name, serde_json::to_value(schema).unwrap()))
            .collect();
        let components = Value::Object(components);
        for attribute in Attribute::all() {
            let found = attribute
                .path
                .split('.')
                .try_fold(&lead, |noun, name| properties(noun, &components)?.get(name));
            let field = found.unwrap_or_else(|| panic!("{} is not described", attribute.path));
            let null = field["oneOf"].get(1).unwrap_or(field)["type"].to_string();
            assert!(null.contains("null"), "{}", attribute.path);
            assert!(field["description"].as_str().is_some_and(|text| !text.is_empty()), "{}", attribute.path);
        }
        assert!(Attribute::all().len() > 100);
    }
}
