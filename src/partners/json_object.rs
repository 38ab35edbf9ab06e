//! JSON objects written key by key.

use serde::Serialize;

use offerd_model::plain_number;

/// A JSON object under construction, within which the text ends; keys keep their order.
#[derive(Debug)]
pub struct JsonObjectWriter<'o>(pub &'o mut Vec<u8>);

/// A float that serialises as `12` rather than `12.0`.
#[derive(Debug, Serialize)]
pub struct Plain(#[serde(serialize_with = "plain_number::required")] pub f64);

impl JsonObjectWriter<'_> {
    /// Sets a key, which must not need escaping.
    pub fn set<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> &mut Self {
        self.begin(key);
        serde_json::to_writer(&mut *self.0, value).expect("it has string keys, and memory takes all");
        self
    }

    /// Sets a key if there is a value.
    pub fn set_some(&mut self, key: &str, value: Option<impl Serialize>) -> &mut Self {
        if let Some(value) = value {
            self.set(key, &value);
        }
        self
    }

    /// Opens a nested object at a key; the keys that follow belong to it.
    pub fn open(&mut self, key: &str) -> &mut Self {
        self.begin(key);
        self.0.push(b'{');
        self
    }

    /// Closes the innermost object.
    pub fn close(&mut self) -> &mut Self {
        self.0.push(b'}');
        self
    }

    fn begin(&mut self, key: &str) {
        if self.0.last() != Some(&b'{') {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(key.as_bytes());
        self.0.extend_from_slice(b"\":");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_their_order_and_what_is_none_is_left_out() {
        let mut json = b"{".to_vec();
        let mut object = JsonObjectWriter(&mut json);
        object.set("b", "x").set_some("none", None::<bool>).open("a").set("c", &Plain(12.0)).close();
        object.set("d", &None::<bool>).close();
        assert_eq!(json, br#"{"b":"x","a":{"c":12},"d":null}"#);
    }
}
