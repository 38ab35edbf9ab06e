//! OpenAPI schemas that utoipa's derive cannot express.
//!
//! The derive describes what is answered; `FromInput::describe` what is read, leniently.

use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Type};
use utoipa::openapi::{ArrayBuilder, Ref, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

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
    /// Text in any of these standard formats.
    Formats(&'static [&'static str]),
}

pub(super) fn checked_text(accepted: Accepted, about: &[&str]) -> RefOr<Schema> {
    let about = Some(sentence(about));
    match accepted {
        Accepted::Pattern(pattern) => of(Type::String).pattern(Some(pattern)).description(about).into(),
        Accepted::Formats(formats) => {
            let any = AnyOfBuilder::new().description(about);
            formats.iter().fold(any, |any, format| any.item(text(format))).into()
        }
    }
}

/// Adds the bounds, if any, to a schema.
pub(super) fn bounded(mut wanted: RefOr<Schema>, bounds: Option<AttributeBounds>) -> RefOr<Schema> {
    if let (RefOr::T(Schema::Object(object)), Some(bounds)) = (&mut wanted, bounds) {
        bounds.describe(object);
    }
    wanted
}

/// A field of a request body: a value, or any spelling of absence.
pub(super) fn optional(wanted: RefOr<Schema>, meaning: &[&str], components: &mut Components) -> Schema {
    let blank = reference::<NotGiven>(components);
    AnyOfBuilder::new()
        .item(wanted)
        .item(blank)
        .item(of(Type::Null))
        .description(Some(sentence(meaning)))
        .into()
}

pub(super) fn sentence(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Forms send empty text for an absent attribute. The schema allows just that value: with any text, generated
/// types would accept any text for a number.
struct NotGiven;

impl PartialSchema for NotGiven {
    fn schema() -> RefOr<Schema> {
        let about = "Empty text means the same as `null`, and as leaving the attribute out.";
        of(Type::String).enum_values(Some([""])).description(Some(about)).into()
    }
}

impl ToSchema for NotGiven {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, Lead};
    use serde_json::Value;

    /// Resolves the properties of a field that refers to an object.
    fn properties<'a>(field: &'a Value, components: &'a Value) -> Option<&'a Value> {
        let wanted = field["anyOf"].get(0).unwrap_or(field);
        match wanted["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
            Some(name) => components.get(name)?.get("properties"),
            None => wanted.get("properties"),
        }
    }

    #[test]
    fn every_attribute_of_a_lead_is_described_and_may_be_left_out_as_clients_do() {
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
            assert_eq!(field["anyOf"][1]["$ref"], "#/components/schemas/NotGiven", "{}", attribute.path);
            assert!(field["description"].as_str().is_some_and(|text| !text.is_empty()), "{}", attribute.path);
        }
        assert!(Attribute::all().len() > 100);
    }
}
