//! Parts of a lead without a fixed set of keys: client tags, and free-form objects.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::schema::{AdditionalProperties, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::fault::{AttributeFault, BodyFaults, Path};
use super::input::{FromInput, InputSeed, find_field_faults, kind_of};
use super::input_kinds::Element;
use super::schema::{self, Components};

/// Values under keys that the client chooses, to tell its leads apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientTags(pub BTreeMap<String, Vec<String>>);

impl ClientTags {
    /// All (key, value) pairs; a key with several values occurs several times.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(key, values)| values.iter().map(move |value| (key.as_str(), value.as_str())))
    }
}

impl PartialSchema for ClientTags {
    fn schema() -> RefOr<Schema> {
        let about = "Values under keys of the client's own choosing, for example to tell its leads apart.";
        let values = Vec::<String>::describe(&mut Components::new());
        let values = schema::optional(values, &["The values under the key."]);
        schema::of(Type::Object).description(Some(about)).additional_properties(Some(values)).into()
    }
}

impl ToSchema for ClientTags {}

impl FromInput for ClientTags {
    fn wanted() -> Cow<'static, str> {
        "an object of arrays of strings".into()
    }

    fn describe(components: &mut Components) -> RefOr<Schema> {
        schema::reference::<Self>(components)
    }

    fn from_map<'de, A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        let mut tags = BTreeMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            let values: Option<Vec<String>> = entries.next_value_seed(InputSeed::optional())?;
            if tags.insert(key, values.unwrap_or_default()).is_some() {
                return Err(serde::de::Error::custom(AttributeFault::TWICE));
            }
        }
        Ok(Self(tags))
    }

    fn find_faults(value: &Value, at: &Path<'_>, faults: &mut BodyFaults) {
        let Some(entries) = value.as_object() else {
            return faults.push(at, AttributeFault::other_kind(&Self::wanted(), kind_of(value)));
        };
        for (key, values) in entries {
            find_field_faults::<Vec<String>>(values, None, &Path::Key(at, key), faults);
        }
    }
}

/// A free-form JSON object, kept and shown unchanged. `Debug` prints nothing of it: it may be personal.
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
        schema::of(Type::Object).additional_properties(Some(any)).into()
    }

    fn from_map<'de, A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        Map::deserialize(MapAccessDeserializer::new(entries)).map(Self)
    }

    fn find_faults(value: &Value, at: &Path<'_>, faults: &mut BodyFaults) {
        if !value.is_object() {
            faults.push(at, AttributeFault::other_kind(&Self::wanted(), kind_of(value)));
        }
    }
}

impl Element for JsonObject {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_several_values_gives_several_pairs() {
        let tags: ClientTags =
            serde_json::from_str(r#"{"channel":["a","b"],"none":[],"seat":["7"]}"#).unwrap();
        let pairs: Vec<_> = tags.pairs().collect();
        assert_eq!(pairs, [("channel", "a"), ("channel", "b"), ("seat", "7")]);
    }
}
