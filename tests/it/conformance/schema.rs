//! The specification as JSON Schema, read from `tests/specification`, and answers held against it.
//!
//! The documents are written from the specification by hand and know nothing of the types in `src`. Every object is
//! closed, so an answer that says more than the specification allows fails as one that says less. Fields that we add are
//! marked `Addition` in their `$comment`. `v1.json` is a merge patch (RFC 7396): only what v1 says differently.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::{Keyword, Registry, ValidationError, Validator};
use serde_json::{Value, json};

/// The documents by the name of their file.
type Documents = BTreeMap<String, Value>;

const BASE: &str = "https://offerd.example/specification/";

static CURRENT: LazyLock<Documents> = LazyLock::new(documents);
static V1: LazyLock<Documents> = LazyLock::new(|| {
    let mut documents = documents();
    for (file, patch) in read("v1.json").as_object().unwrap() {
        merge(documents.get_mut(file).unwrap(), patch);
    }
    documents
});

/// An edition of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edition {
    Current,
    V1,
}

impl Edition {
    pub const BOTH: [Self; 2] = [Self::Current, Self::V1];

    pub fn documents(self) -> &'static Documents {
        match self {
            Self::Current => &CURRENT,
            Self::V1 => &V1,
        }
    }

    /// What the edition's client sends as `Accept`.
    pub fn accept(self) -> &'static str {
        match self {
            Self::Current => "application/json",
            Self::V1 => "application/vnd.offerd.v1+json",
        }
    }

    /// The definition of this name, in whichever document it stands.
    pub fn definition(self, name: &str) -> &'static Value {
        let (_, definition) = self.find(name);
        definition
    }

    /// The values of an enumeration.
    pub fn values(self, enumeration: &str) -> Vec<&'static str> {
        let values = self.definition(enumeration)["enum"].as_array();
        values.unwrap_or_else(|| panic!("{enumeration} is closed")).iter().filter_map(Value::as_str).collect()
    }

    /// The schema that a reference such as `types.json#/$defs/Uuid` names.
    pub fn follow(self, reference: &str) -> &'static Value {
        self.definition(reference.rsplit('/').next().unwrap())
    }

    fn find(self, name: &str) -> (&'static str, &'static Value) {
        let mut found = self.documents().iter().filter_map(|(file, document)| {
            document["$defs"].get(name).map(|definition| (file.as_str(), definition))
        });
        found.next().unwrap_or_else(|| panic!("the specification defines no {name}"))
    }
}

/// Says why `value` is not a `name`; nothing when it is.
pub fn faults(edition: Edition, name: &str, value: &Value) -> Vec<String> {
    let validator = validator(edition, name);
    let said = |error: ValidationError<'_>| format!("{}: {error}", error.instance_path());
    validator.iter_errors(value).map(said).collect()
}

/// Holds an answer against the specification.
#[track_caller]
pub fn assert_conforms(edition: Edition, name: &str, value: &Value) {
    let faults = faults(edition, name, value);
    assert!(faults.is_empty(), "no {name} of {edition:?}:\n{}\nin {value:#}", faults.join("\n"));
}

/// The validator of a definition, compiled once.
fn validator(edition: Edition, name: &str) -> Arc<Validator> {
    static COMPILED: Mutex<BTreeMap<(Edition, String), Arc<Validator>>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let made = compiled.entry((edition, name.to_owned())).or_insert_with(|| Arc::new(compile(edition, name)));
    Arc::clone(made)
}

fn compile(edition: Edition, name: &str) -> Validator {
    let mut registry = Registry::new();
    for (file, document) in edition.documents() {
        registry = registry.add(format!("{BASE}{file}"), document).unwrap();
    }
    let registry = registry.prepare().unwrap();
    let (file, _) = edition.find(name);
    jsonschema::options()
        .with_registry(&registry)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .with_keyword("writtenWhole", |_, _, _| Ok(Box::new(WrittenWhole)))
        .build(&json!({ "$ref": format!("{BASE}{file}#/$defs/{name}") }))
        .unwrap()
}

/// An integer without a fraction: clients break on `10000.0`, which JSON Schema lets pass.
struct WrittenWhole;

impl<'i> Keyword<'i> for WrittenWhole {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("is written with a fraction"))
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        !instance.is_f64()
    }
}

fn documents() -> Documents {
    let files = [
        "types.json",
        "enumerations.json",
        "lead.json",
        "rate_table.json",
        "analytics.json",
        "ui.json",
        "errors.json",
    ];
    files.into_iter().map(|file| (file.to_owned(), read(file))).collect()
}

fn read(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specification").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Applies a merge patch: objects are merged, `null` removes, anything else replaces.
fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch {
        match value {
            Value::Null => drop(target.remove(key)),
            _ => merge(target.entry(key).or_insert(Value::Null), value),
        }
    }
}
