//! Unknown keys in a request body, found by the schema of its noun: reading ignores them.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use utoipa::ToSchema;

use super::fault::{BodyFaults, Path};
use super::input::KeySeed;
use super::schema::{self, ALIASES, Components};

/// An unknown key.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownKey<'k> {
    /// Its path.
    pub attribute: String,
    /// The known key that was probably meant.
    pub likely: Option<&'k str>,
}

impl fmt::Display for UnknownKey<'_> {
    /// The fault, to follow the attribute in a sentence.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("is not a known key")?;
        self.likely.map_or(Ok(()), |likely| write!(formatter, "; did you mean `{likely}`?"))
    }
}

/// The least similarity of a probable key, in thousandths of Jaro-Winkler.
const NEAR: u32 = 800;

/// An unknown key is truncated to this length in messages.
const KEY_CHARS: usize = 64;

/// The known keys of a noun, and of the objects under them. An empty set allows any key.
#[derive(Debug, Default)]
pub struct KnownKeys(BTreeMap<String, KnownKeys>);

impl KnownKeys {
    /// The known keys of a noun.
    pub fn of<T: ToSchema>() -> Self {
        let mut components = Components::new();
        let noun = schema::reference::<T>(&mut components);
        let json = |schema| serde_json::to_value(schema).expect("a schema is JSON");
        let components = components.into_iter().map(|(name, schema)| (name, json(schema))).collect();
        Self::in_schema(&json(noun), &components)
    }

    /// These keys and another.
    #[must_use]
    pub fn and(mut self, key: &str) -> Self {
        self.0.insert(key.to_owned(), Self::default());
        self
    }

    fn in_schema(schema: &Value, components: &BTreeMap<String, Value>) -> Self {
        let mut known = Self::default();
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next())
            && let Some(noun) = components.get(name)
        {
            known.0.extend(Self::in_schema(noun, components).0);
        }
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            known.0.insert(key.clone(), Self::in_schema(property, components));
        }
        let aliases = schema[ALIASES].as_object().into_iter().flatten();
        known.0.extend(aliases.map(|(alias, _)| (alias.clone(), Self::default())));
        let parts = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|parts| schema[parts].as_array());
        for part in parts.flatten().chain(schema.get("items")) {
            known.0.extend(Self::in_schema(part, components).0);
        }
        known
    }

    /// The number of unknown keys of a body. In malformed JSON, those before the error.
    pub fn count_unknown(&self, body: &[u8]) -> usize {
        let mut count = 0;
        self.each_unknown(body, &mut |_, _, _| count += 1);
        count
    }

    /// The unknown keys of a body, up to a limit.
    pub fn unknown(&self, body: &[u8]) -> Vec<UnknownKey<'_>> {
        let mut unknown = Vec::new();
        self.each_unknown(body, &mut |at, key, known| {
            if unknown.len() < BodyFaults::MAX {
                let shown: String = key.chars().take(KEY_CHARS).collect();
                let attribute = Path::Key(at, &shown).to_string();
                unknown.push(UnknownKey { attribute, likely: known.nearest(&shown) });
            }
        });
        unknown
    }

    /// The most similar known key, if similar enough.
    fn nearest(&self, key: &str) -> Option<&str> {
        let likeness = |known: &str| (strsim::jaro_winkler(key, known) * 1000.0) as u32;
        let nearest = self.0.keys().map(String::as_str).max_by_key(|known| likeness(known));
        nearest.filter(|known| likeness(known) > NEAR)
    }

    fn each_unknown<'k>(&'k self, body: &[u8], tell: UnknownKeyCallback<'_, 'k>) {
        let mut reader = serde_json::Deserializer::from_slice(body);
        // An error is ignored here: the reader of the body reports it.
        let _ = KnownKeysWalk { known: self, at: &Path::Root, tell }.deserialize(&mut reader);
    }
}

type UnknownKeyCallback<'t, 'k> = &'t mut dyn FnMut(&Path<'_>, &str, &'k KnownKeys);

struct KnownKeysWalk<'w, 'k> {
    known: &'k KnownKeys,
    at: &'w Path<'w>,
    tell: UnknownKeyCallback<'w, 'k>,
}

impl<'de> DeserializeSeed<'de> for KnownKeysWalk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.known.0.is_empty() {
            return deserializer.deserialize_ignored_any(IgnoredAny).map(drop);
        }
        deserializer.deserialize_any(self)
    }
}

macro_rules! pass_over {
    ($($visit:ident($($scalar:ty)?))+) => {
        $(fn $visit<E: de::Error>(self $(, _: $scalar)?) -> Result<(), E> { Ok(()) })+
    };
}

impl<'de> Visitor<'de> for KnownKeysWalk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        // Borrows, so that a known key is not copied.
        let known = self.known;
        let look_up = move |key: &str| known.0.get_key_value(key).ok_or_else(|| key.to_owned());
        while let Some(key) = entries.next_key_seed(KeySeed(&look_up))? {
            match key {
                Ok((key, known)) => {
                    let at = Path::Key(self.at, key);
                    entries.next_value_seed(KnownKeysWalk { known, at: &at, tell: &mut *self.tell })?;
                }
                Err(unknown) => {
                    (self.tell)(self.at, &unknown, self.known);
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let at = Path::Index(self.at, index);
            let walk = KnownKeysWalk { known: self.known, at: &at, tell: &mut *self.tell };
            if elements.next_element_seed(walk)?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    pass_over! { visit_str(&str) visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_unit() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lead;
    use crate::lead::FULL_SAMPLE;
    use serde_json::json;

    fn unknown(body: &str) -> Vec<String> {
        let keys = KnownKeys::of::<Lead>();
        keys.unknown(body.as_bytes()).into_iter().map(|unknown| unknown.attribute).collect()
    }

    #[test]
    fn every_key_of_a_lead_is_known() {
        assert_eq!(KnownKeys::of::<Lead>().unknown(FULL_SAMPLE), []);
    }

    #[test]
    fn an_unknown_key_is_told_wherever_it_stands_with_the_likely_one() {
        let body = json!({
            "productType": ["loan"],
            "loanInformation": {"loanAmout": 5000, "purpose": "boat"},
            "refinanceLoans": [{}, {"intrestRate": 5.5}],
            "coApplicantInformation": {"zipcode": "99203"},
            "clientTags": {"whatever": ["a"]},
            "xyzzy": {"loanAmount": {"deep": [1]}},
        })
        .to_string();
        let mut found = unknown(&body);
        found.sort();
        let expected = ["loanInformation.loanAmout", "productType", "refinanceLoans[1].intrestRate", "xyzzy"];
        assert_eq!(found, expected);
        let keys = KnownKeys::of::<Lead>();
        assert_eq!(keys.count_unknown(body.as_bytes()), 4);
        let likely: Vec<_> =
            keys.unknown(body.as_bytes()).into_iter().filter_map(|unknown| unknown.likely).collect();
        assert_eq!(likely.len(), 3);
        assert!(["loanAmount", "productTypes", "interestRate"].iter().all(|meant| likely.contains(meant)));
    }

    #[test]
    fn values_of_another_kind_have_no_keys_and_no_depth_is_too_deep() {
        for body in [r#"{"loanInformation":7,"refinanceLoans":{}}"#, "[1]", "{", "", "null"] {
            assert_eq!(unknown(body), [""; 0], "{body}");
        }
        let deep = format!(r#"{{"zz":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
        assert_eq!(unknown(&deep).len(), 1);
        let long = format!(r#"{{"{}":1}}"#, "q".repeat(500));
        assert_eq!(unknown(&long)[0].len(), KEY_CHARS);
    }
}
