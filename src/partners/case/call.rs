//! The request that a case expects.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::filled;
use crate::http::HttpRequest;

/// `call`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseCall {
    /// HTTP method.
    pub method: String,
    /// URL.
    pub url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    json: Option<Value>,
    form: Option<BTreeMap<String, String>>,
    xml: Option<Vec<String>>,
}

impl CaseCall {
    pub(super) fn compare(&self, ask: Uuid, request: &HttpRequest, wrong: &mut Vec<String>) {
        let mut same = |what: &str, expected: String, found: String| {
            if expected != found {
                wrong.push(format!("{what}\n  expected {expected}\n  found    {found}"));
            }
        };
        same("method", self.method.clone(), request.method.to_string());
        same("url", filled(ask, &self.url), request.url.clone());
        for (name, value) in &self.headers {
            let found = request.headers.get(name).and_then(|value| value.to_str().ok());
            same(&format!("header {name}"), filled(ask, value), found.unwrap_or_default().to_owned());
        }
        if let Some(json) = &self.json {
            let found: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            same("json", filled(ask, &json.to_string()), found.to_string());
        }
        if let Some(form) = &self.form {
            let found: BTreeMap<String, String> =
                form_urlencoded::parse(&request.body).into_owned().collect();
            let expected: BTreeMap<String, String> =
                form.iter().map(|(name, value)| (name.clone(), filled(ask, value))).collect();
            same("form", format!("{expected:?}"), format!("{found:?}"));
        }
        if let Some(lines) = &self.xml {
            let found = String::from_utf8_lossy(&request.body);
            same("xml", filled(ask, &lines.join("\n")), found.trim().to_owned());
        }
    }
}
