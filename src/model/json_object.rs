//! Objects whose fields nobody has settled.

use std::borrow::Cow;
use std::fmt;

use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use super::fault::{Fault, Faults, Path};
use super::input::{FromInput, kind_of};
use super::input_kinds::Element;
use super::schema::Components;

/// An object of JSON, kept and shown as it came. It may tell anything of a person, so `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct JsonObject(Map<String, Value>);

impl fmt::Debug for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JsonObject(***)")
    }
}

impl FromInput for JsonObject {
    fn wanted() -> Cow<'static, str> {
        "an object".into()
    }

    fn describe(_: &mut Components) -> RefOr<Schema> {
        let any = AdditionalProperties::FreeForm(true);
        ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(any)).into()
    }

    fn from_map<'de, A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        Map::deserialize(MapAccessDeserializer::new(entries)).map(Self)
    }

    fn find_faults(value: &Value, at: &Path<'_>, faults: &mut Faults) {
        if !value.is_object() {
            faults.push(at, Fault::other_kind(&Self::wanted(), kind_of(value)));
        }
    }
}

impl Element for JsonObject {}
