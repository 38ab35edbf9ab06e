//! What a daemon answers.

use bytes::Bytes;
use hyper::HeaderMap;
use serde_json::Value;

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", String::from_utf8_lossy(&self.body)))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The attributes of an error array, in order.
    pub fn attributes(&self) -> Vec<String> {
        let attribute = |error: &Value| error["attribute"].as_str().unwrap_or_default().to_owned();
        self.json().as_array().expect("errors are an array").iter().map(attribute).collect()
    }
}
