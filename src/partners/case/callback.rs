//! A partner's callback in a case: its signature and the expected result. The simulator uses it, too.

use std::collections::BTreeMap;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use minijinja::value::Value as Mapped;
use serde::Deserialize;

use crate::http::expression::{Expression, text};
use offerd_base::declaration::{did_you_mean, nearest};
use offerd_base::worded;

/// The variables of a recipe: body and other headers of the call, the time, and shared secrets.
const KNOWN: [&str; 4] = ["body", "header", "now", "secret"];

/// `callback`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaseCallback {
    /// Delay of the simulator's callback after its first answer, milliseconds.
    pub after_ms: u64,
    /// How the callback is signed; unsigned when absent.
    pub sign: Option<Sign>,
    pub(super) expect: CallbackOutcome,
}

worded! {
    /// The result of a callback.
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub(super) enum CallbackOutcome;
    /// Its label in `offerd_callbacks_total`.
    fn label;
    /// Accepted as the answer.
    #[default]
    Taken "taken";
    /// Not signed as the partner file requires.
    Unsigned "unsigned";
    /// Signed, but unreadable.
    Unreadable "unreadable";
    /// A repetition of an accepted one.
    Again "again";
}

/// `sign`: expressions of the mapping language, as in `verify`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "DeclaredSign")]
pub struct Sign {
    headers: BTreeMap<String, SignExpression>,
    body: Option<SignExpression>,
    secrets: BTreeMap<String, String>,
}

/// `sign` as it is written. `header` with `key` is shorthand for a hexadecimal HMAC-SHA256 of the body.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DeclaredSign {
    headers: BTreeMap<String, SignExpression>,
    body: Option<SignExpression>,
    secrets: BTreeMap<String, String>,
    header: Option<String>,
    key: Option<String>,
}

/// The expression for a header or the body.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct SignExpression(std::sync::Arc<Expression>);

/// The simulator's keys of a partner, by name; `None` for `***`, as in everything that is only displayed.
pub type SignKeys<'a> = Option<&'a BTreeMap<String, String>>;

impl TryFrom<String> for SignExpression {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let expression = Expression::compile(&text)?;
        for variable in expression.variables() {
            let first = variable.split('.').next().unwrap_or_default();
            if !KNOWN.contains(&first) {
                let (known, hint) = (KNOWN.join(", "), did_you_mean(nearest(first, KNOWN)));
                return Err(format!("uses `{first}`, which is unknown here; known: {known}{hint}"));
            }
        }
        Ok(Self(std::sync::Arc::new(expression)))
    }
}

impl TryFrom<DeclaredSign> for Sign {
    type Error = String;

    fn try_from(declared: DeclaredSign) -> Result<Self, String> {
        let DeclaredSign { mut headers, body, mut secrets, header, key } = declared;
        match (header, key) {
            (Some(header), Some(key)) => {
                let recipe = "body|hmac('sha256', secret.of_the_case)|hex".to_owned().try_into()?;
                headers.insert(header, recipe);
                secrets.insert(OF_THE_CASE.to_owned(), key);
            }
            (None, None) => {}
            _ => return Err("has one of `header` and `key`, which go together".to_owned()),
        }
        if let Some(name) = headers.keys().find(|name| HeaderName::try_from(*name).is_err()) {
            return Err(format!("`{name}` is not a valid header name"));
        }
        if headers.is_empty() && body.is_none() {
            return Err("signs nothing; set `headers`, `body`, or `header` and `key`".to_owned());
        }
        Ok(Self { headers, body, secrets })
    }
}

/// Name of the key that the case itself contains.
const OF_THE_CASE: &str = "of_the_case";

impl Sign {
    /// Signs a callback and returns its headers and body.
    ///
    /// # Errors
    /// What cannot be computed, by its key.
    pub fn signed(
        &self,
        said: (&HeaderMap, &[u8]),
        now: &str,
        keys: SignKeys<'_>,
    ) -> Result<(HeaderMap, Vec<u8>), String> {
        let (mut headers, mut body) = (said.0.clone(), said.1.to_vec());
        // Headers that sign other headers are computed last.
        let (last, first): (Vec<_>, Vec<_>) =
            self.headers.iter().partition(|(_, recipe)| recipe.0.uses("header"));
        if let Some(recipe) = &self.body {
            body = self.run("sign.body", recipe, (&headers, &body), now, keys)?.into_bytes();
        }
        for (name, recipe) in first.into_iter().chain(last) {
            let key = format!("sign.headers.{name}");
            let value = self.run(&key, recipe, (&headers, &body), now, keys)?;
            let header = (HeaderName::try_from(name), HeaderValue::try_from(value));
            let (Ok(name), Ok(value)) = header else {
                return Err(format!("`{key}` gives a value that no header can hold"));
            };
            headers.insert(name, value);
        }
        Ok((headers, body))
    }

    fn run(
        &self,
        key: &str,
        recipe: &SignExpression,
        (headers, body): (&HeaderMap, &[u8]),
        now: &str,
        keys: SignKeys<'_>,
    ) -> Result<String, String> {
        let (mut secret, variables) = (BTreeMap::new(), recipe.0.variables());
        for name in variables.iter().filter_map(|name| name.strip_prefix("secret.")) {
            let is_shown = name != OF_THE_CASE || keys.is_some();
            let own = self.secrets.get(name).filter(|_| is_shown);
            let value = match (own, keys) {
                (Some(own), _) => own.clone(),
                (None, None) => "***".to_owned(),
                (None, Some(given)) => given.get(name).cloned().ok_or_else(|| {
                    let places = "neither `sign.secrets` nor `[secrets]` of sandbox.toml defines";
                    format!("`{key}` uses `secret.{name}`, which {places}")
                })?,
            };
            secret.insert(name.to_owned(), value);
        }
        let header = crate::http::answer::texts_of(headers);
        let body = String::from_utf8_lossy(body);
        let context: Mapped = minijinja::context! { header, body, now, secret };
        let made = recipe.0.run(&context).map_err(|error| format!("`{key}`: {}", error.detail))?;
        text(&made).ok_or_else(|| format!("`{key}` gives nothing"))
    }
}
