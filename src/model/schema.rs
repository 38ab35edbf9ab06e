//! The nouns as OpenAPI schemas, for those of them that a derive cannot describe.
//!
//! What is answered is described by utoipa's derive, on the types themselves. What is read is described by
//! `FromInput::describe`, because reading is lenient, and a schema that hid the
//! lenience would be wrong.

use utoipa::openapi::schema::{AnyOfBuilder, Object, ObjectBuilder, Type};
use utoipa::openapi::{ArrayBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::bounds::Bounds;

/// Schemas by the names that others refer to them by.
pub type Components = Vec<(String, RefOr<Schema>)>;

/// Refers to the schema of a noun, which joins the components with all that it refers to.
pub fn reference<T: ToSchema>(components: &mut Components) -> RefOr<Schema> {
    let name = T::name();
    if !components.iter().any(|(known, _)| *known == name) {
        components.push((name.clone().into_owned(), T::schema()));
        T::schemas(components);
    }
    Ref::from_schema_name(name).into()
}

/// An object of these properties; those that are always there are marked.
pub fn object<'p>(properties: impl IntoIterator<Item = (&'p str, RefOr<Schema>, bool)>) -> ObjectBuilder {
    let empty = ObjectBuilder::new().schema_type(Type::Object);
    properties.into_iter().fold(empty, |object, (name, schema, required)| {
        let object = object.property(name, schema);
        if required { object.required(name) } else { object }
    })
}

/// An array.
pub fn array(elements: RefOr<Schema>) -> RefOr<Schema> {
    ArrayBuilder::new().items(elements).into()
}

/// Text of a standard format.
pub fn text(format: &str) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(utoipa::openapi::SchemaFormat::Custom(format.to_owned())))
        .into()
}

/// What a checked text format lets through.
pub enum Accepted {
    /// What a pattern matches.
    Pattern(&'static str),
    /// What is of any of these standard formats.
    Formats(&'static [&'static str]),
}

/// Text that is checked.
pub(super) fn checked_text(accepted: Accepted, about: &[&str]) -> RefOr<Schema> {
    let about = Some(sentence(about));
    match accepted {
        Accepted::Pattern(pattern) => {
            ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).description(about).into()
        }
        Accepted::Formats(formats) => {
            let any = AnyOfBuilder::new().description(about);
            formats.iter().fold(any, |any, format| any.item(text(format))).into()
        }
    }
}

/// What is wanted, within bounds if it has any.
pub(super) fn bounded(mut wanted: RefOr<Schema>, bounds: Option<Bounds>) -> RefOr<Schema> {
    if let (RefOr::T(Schema::Object(object)), Some(bounds)) = (&mut wanted, bounds) {
        bounds.describe(object);
    }
    wanted
}

/// A field of a request body: what is wanted, or nothing in any of its spellings.
pub(super) fn optional(wanted: RefOr<Schema>, meaning: &[&str], components: &mut Components) -> Schema {
    let blank = reference::<NotGiven>(components);
    let null = ObjectBuilder::new().schema_type(Type::Null);
    AnyOfBuilder::new().item(wanted).item(blank).item(null).description(Some(sentence(meaning))).into()
}

/// The lines of a doc comment as one text.
pub(super) fn sentence(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// How forms write that an attribute is not given, beside `null` and leaving it out. One value and no more: were it any text,
/// types made from the document would take any text for a number. Reading is a little kinder, and takes text of blanks for none.
struct NotGiven;

impl PartialSchema for NotGiven {
    fn schema() -> RefOr<Schema> {
        let blank: Object = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some([""]))
            .description(Some("Empty text means the same as `null`, and as leaving the attribute out."))
            .build();
        blank.into()
    }
}

impl ToSchema for NotGiven {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, Lead};
    use serde_json::Value;

    /// Follows what a field may be to the properties that it has then.
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
