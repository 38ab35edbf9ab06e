//! How we show a partner who we are, beside headers: HTTP basic (RFC 7617), OAuth 2 client credentials (RFC 6749, 4.4), with a secret
//! or a signed assertion (RFC 7523), and what servers want in their place.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, StatusCode};
use minijinja::value::Value as Mapped;
use serde::Deserialize;

use super::expression::{Expression, text};
use super::mapping_error::MappingError;
use super::request::HttpRequest;
use super::secret::{MASKED, Secrets};
use super::source::{Auth, ClientProof, HttpSource};
use crate::model::Timestamp;

/// How long a token is kept whose answer does not say.
const TOKEN_LIFE: Duration = Duration::from_secs(300);

/// What an assertion in place of a client's secret is called (RFC 7523, 2.2).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A token that a partner's authorization server has given.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken {
    /// What is sent.
    pub authorization: HeaderValue,
    /// How long it is good for.
    pub life: Duration,
}

impl HttpSource {
    /// The request that fetches a token; `None` when none is needed.
    ///
    /// # Errors
    /// The mapping that could not be run.
    pub fn token_request(&self, test: bool, secrets: Secrets) -> Result<Option<HttpRequest>, MappingError> {
        let Some(Auth::OAuth2 { token_url, sandbox_token_url, client_id, proof, scope, params }) = &self.auth
        else {
            return Ok(None);
        };
        let now = Timestamp::from(Utc::now()).to_string();
        let nonce = secrets.nonce();
        let context = self.secret_context(secrets, nonce, minijinja::context! { test, now });
        let mut form: Vec<(&str, String)> =
            vec![("grant_type", "client_credentials".to_owned()), ("client_id", given(client_id, &context)?)];
        match proof {
            ClientProof::Secret(secret) => form.push(("client_secret", given(secret, &context)?)),
            ClientProof::Assertion(assertion) => {
                form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
                form.push(("client_assertion", given(assertion, &context)?));
            }
        }
        form.extend(scope.iter().map(|scope| ("scope", scope.clone())));
        for (name, value) in params {
            let value = text(&value.run(&context)?);
            form.retain(|(known, _)| known != name);
            form.extend(value.map(|value| (name.as_str(), value)));
        }
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let headers = [(CONTENT_TYPE, "application/x-www-form-urlencoded"), (ACCEPT, "application/json")];
        let sandbox = sandbox_token_url.as_ref().filter(|_| test);
        Ok(Some(HttpRequest {
            method: Method::POST,
            url: sandbox.unwrap_or(token_url).clone(),
            headers: HeaderMap::from_iter(
                headers.map(|(name, value)| (name, HeaderValue::from_static(value))),
            ),
            body: form.into(),
            nonce,
        }))
    }

    /// The credentials of HTTP basic, where they are asked for.
    pub(super) fn basic(&self, context: &Mapped) -> Result<Option<HeaderValue>, MappingError> {
        let Some(Auth::Basic { user, password }) = &self.auth else { return Ok(None) };
        let (user, password) = (given(user, context)?, given(password, context)?);
        let credentials = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        let value = HeaderValue::try_from(credentials);
        value.map(Some).map_err(|_| MappingError::new("auth.basic", "makes no header"))
    }

    /// The names of the secrets that could not be read; only a paused seat may have any.
    pub fn missing_secrets(&self) -> Vec<&str> {
        let missing = self.secrets.iter().filter(|(_, secret)| secret.is_none());
        missing.map(|(name, _)| name.as_str()).collect()
    }

    /// Whether the far side is shown the same secrets, certificate and authorities.
    pub fn same_credentials(&self, other: &Self) -> bool {
        let certificates =
            |source: &Self| (source.wire.client_certificate.clone(), source.wire.authorities.clone());
        self.secrets == other.secrets && certificates(self) == certificates(other)
    }

    /// The secrets as mappings see them.
    pub(super) fn revealed(&self, secrets: Secrets) -> BTreeMap<String, String> {
        let revealed = self.secrets.iter().map(|(name, secret)| {
            let text = match (secrets, secret) {
                (Secrets::Real, Some(secret)) => secret.reveal().to_owned(),
                (Secrets::Real, None) => return None,
                (Secrets::Masked | Secrets::Withheld(_), _) => MASKED.to_owned(),
            };
            Some((name.clone(), text))
        });
        revealed.flatten().collect()
    }
}

/// Never shows the token.
impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BearerToken(***, {:?})", self.life)
    }
}

impl BearerToken {
    /// Reads the answer of an authorization server (RFC 6749, 5.1).
    ///
    /// # Errors
    /// What is wrong with it, without what it says.
    pub fn read(status: StatusCode, body: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Granted {
            access_token: String,
            expires_in: Option<f64>,
        }
        if !status.is_success() {
            return Err(format!("the token answer has status {}", status.as_u16()));
        }
        let granted: Granted =
            serde_json::from_slice(body).map_err(|_| "the token answer has no access_token".to_owned())?;
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", granted.access_token))
            .map_err(|_| "the token is no text for a header".to_owned())?;
        authorization.set_sensitive(true);
        let life = granted.expires_in.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Ok(Self { authorization, life: life.unwrap_or(TOKEN_LIFE) })
    }
}

fn given(expression: &Expression, context: &Mapped) -> Result<String, MappingError> {
    text(&expression.run(context)?).ok_or_else(|| MappingError::new(&expression.key, "gives nothing"))
}
