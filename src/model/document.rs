//! A request body as a JSON document, for the fault finder and the v1 edition.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Deeper than any attribute; deeper values are left out.
const DEPTH_MAX: usize = 8;

/// Parses a body so leniently that nothing the fast reader skips can make it fail: deeply nested values
/// become empty, too large numbers the largest, and text that is not Unicode blank.
///
/// # Errors
/// If the body is not JSON.
pub fn parse(json: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice::<&RawValue>(json).map(|document| value(document, 0))
}

fn value(raw: &RawValue, depth: usize) -> Value {
    let text = raw.get();
    match text.bytes().next() {
        Some(b'[') => Value::Array(if depth < DEPTH_MAX { elements(text, depth + 1) } else { Vec::new() }),
        Some(b'{') => Value::Object(if depth < DEPTH_MAX { entries(text, depth + 1) } else { Map::new() }),
        Some(b'"') => serde_json::from_str(text).unwrap_or_else(|_| Value::from("")),
        Some(b'-') => serde_json::from_str(text).unwrap_or_else(|_| Value::from(f64::MIN)),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::from(f64::MAX)),
    }
}

fn elements(text: &str, depth: usize) -> Vec<Value> {
    let elements: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    elements.into_iter().map(|element| value(element, depth)).collect()
}

/// Of equal keys the last counts.
fn entries(text: &str, depth: usize) -> Map<String, Value> {
    let entries: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
    entries.into_iter().map(|(key, entry)| (key, value(entry, depth))).collect()
}

/// The paths of all attributes that an object gives more than once, as [`Path`](crate::fault::Path) writes them.
pub fn given_twice(json: &[u8]) -> BTreeSet<String> {
    let mut twice = BTreeSet::new();
    if let Ok(document) = serde_json::from_slice(json) {
        find_twice(document, "", 0, &mut twice);
    }
    twice
}

fn find_twice(raw: &RawValue, at: &str, depth: usize, twice: &mut BTreeSet<String>) {
    let text = raw.get();
    match text.bytes().next() {
        _ if depth == DEPTH_MAX => {}
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            for (index, element) in elements.into_iter().enumerate() {
                find_twice(element, &format!("{at}[{index}]"), depth + 1, twice);
            }
        }
        Some(b'{') => {
            let mut given = BTreeSet::new();
            for (key, entry) in written(text.as_bytes()) {
                let path = if at.is_empty() { key } else { format!("{at}.{key}") };
                find_twice(entry, &path, depth + 1, twice);
                if let Some(again) = given.replace(path) {
                    twice.insert(again);
                }
            }
        }
        _ => {}
    }
}

/// The entries of an object as they are written, equal keys included; none of what is no object.
pub fn written(json: &[u8]) -> Vec<(String, &RawValue)> {
    serde_json::Deserializer::from_slice(json).deserialize_map(WrittenEntries).unwrap_or_default()
}

struct WrittenEntries;

impl<'de> Visitor<'de> for WrittenEntries {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        std::iter::from_fn(|| entries.next_entry().transpose()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_can_be_read_is_read() {
        let body = json!({"a": [1, -2.5, true, null, "é\n\"", {}], "b": {"c": {"d": []}}});
        assert_eq!(parse(format!(" {body:#} ").as_bytes()).unwrap(), body);
        assert_eq!(parse(br#"{"a":1,"a":2}"#).unwrap(), json!({"a": 2}));
        for no_json in ["", "{", "{} {}", "[1,]", "\u{0}", r#"{"a":01}"#] {
            assert!(parse(no_json.as_bytes()).is_err(), "{no_json}");
        }
    }

    #[test]
    fn a_key_given_twice_is_found_at_any_depth() {
        for (body, wanted) in [
            (r#"{"a":1,"b":{"a":1}}"#, &[][..]),
            (r#"{"a":1,"a":1}"#, &["a"]),
            (r#"{"a":1,"\u0061":2,"a":3}"#, &["a"]),
            (r#"{"a":null,"a":true}"#, &["a"]),
            (r#"{"a":{"b":1,"b":2},"c":[{},{"d":0,"d":0}],"a":{}}"#, &["a", "a.b", "c[1].d"]),
            ("[1,2", &[]),
        ] {
            let found = given_twice(body.as_bytes());
            assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), wanted, "{body}");
        }
    }

    #[test]
    fn what_cannot_be_read_keeps_its_kind() {
        let body = r#"{"number":1e400,"less":-1e400,"text":"\ud800","a":1}"#;
        let read = json!({"number": f64::MAX, "less": f64::MIN, "text": "", "a": 1});
        assert_eq!(parse(body.as_bytes()).unwrap(), read);
        let deep = format!(r#"{{"deep":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(parse(deep.as_bytes()).unwrap(), json!({"deep": [[[[[[[[]]]]]]]]}));
    }
}
