//! Client authentication besides headers: HTTP basic (RFC 7617), and OAuth 2 client credentials (RFC 6749,
//! 4.4) with a secret, a signed assertion (RFC 7523), or custom parameters.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, StatusCode};
use minijinja::value::Value as Mapped;
use serde_json::Value;

use super::client_auth::{Auth, ClientProof};
use super::document;
use super::expression::{Expression, text};
use super::http_partner::HttpPartner;
use super::mapping_error::{MappingError, MappingResult};
use super::request::HttpRequest;
use super::secret::{MASKED, Secrets};
use crate::truth::says_nothing;
use offerd_model::Timestamp;

/// Lifetime of a token whose response states none.
const TOKEN_LIFE: Duration = Duration::from_secs(300);

/// Maximum lifetime of a token, whatever the server states.
const TOKEN_LIFE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Type of a client assertion (RFC 7523, 2.2).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A token from a partner's authorization server.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken {
    /// Value of the `Authorization` header.
    pub authorization: HeaderValue,
    /// Remaining lifetime.
    pub life: Duration,
}

impl HttpPartner {
    /// The token request; `None` if no token is needed.
    ///
    /// # Errors
    /// The mapping that could not be run.
    pub fn token_request(&self, test: bool, secrets: Secrets) -> MappingResult<Option<HttpRequest>> {
        let Some(Auth::OAuth2 { token_url, sandbox_token_url, client_id, proof, scope, params }) = &self.auth
        else {
            return Ok(None);
        };
        let now = Timestamp::from(Utc::now()).to_string();
        let nonce = secrets.nonce();
        let context = self.secret_context(secrets, nonce, minijinja::context! { test, now });
        let headers = [(CONTENT_TYPE, "application/x-www-form-urlencoded"), (ACCEPT, "application/json")];
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
        let mut headers = HeaderMap::from_iter(headers);
        let mut form = vec![("grant_type", "client_credentials".to_owned())];
        let authorization = proof.add_to(&mut form, given(client_id, &context)?, &context)?;
        headers.extend(authorization.map(|credentials| (AUTHORIZATION, credentials)));
        form.extend(scope.iter().map(|scope| ("scope", scope.clone())));
        for (name, value) in params {
            let value = text(&value.run(&context)?);
            form.retain(|(known, _)| known != name);
            form.extend(value.map(|value| (name.as_str(), value)));
        }
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let sandbox = sandbox_token_url.as_ref().filter(|_| test);
        Ok(Some(HttpRequest {
            method: Method::POST,
            url: sandbox.unwrap_or(token_url).clone(),
            headers,
            body: form.into(),
            nonce,
        }))
    }

    /// The HTTP basic credentials, if configured.
    pub(super) fn basic(&self, context: &Mapped) -> MappingResult<Option<HeaderValue>> {
        let Some(Auth::Basic { user, password }) = &self.auth else { return Ok(None) };
        credentials("auth.basic", &given(user, context)?, &given(password, context)?).map(Some)
    }

    /// The secrets that could not be read, each with the reason; only a paused seat may lack any.
    pub fn missing_secrets(&self) -> Vec<String> {
        let why = |(name, secret): (&String, &Result<_, String>)| {
            Some(format!("`secrets.{name}` {}", secret.as_ref().err()?))
        };
        self.secrets.iter().filter_map(why).collect()
    }

    /// Whether both use the same secrets, client certificate and authorities.
    pub fn same_credentials(&self, other: &Self) -> bool {
        let certificates =
            |partner: &Self| (partner.wire.client_certificate.clone(), partner.wire.authorities.clone());
        self.secrets == other.secrets && certificates(self) == certificates(other)
    }

    /// The secrets as mappings see them.
    pub(super) fn revealed(&self, secrets: Secrets) -> BTreeMap<String, String> {
        let revealed = self.secrets.iter().map(|(name, secret)| {
            let text = match (secrets, secret) {
                (Secrets::Real, Ok(secret)) => secret.reveal().to_owned(),
                (Secrets::Real, Err(_)) => return None,
                (Secrets::Masked | Secrets::Withheld(_), _) => MASKED.to_owned(),
            };
            Some((name.clone(), text))
        });
        revealed.flatten().collect()
    }
}

impl ClientProof {
    /// Adds the client's id and credentials to a form, or returns the header that holds them.
    fn add_to(
        &self,
        form: &mut Vec<(&str, String)>,
        client_id: String,
        context: &Mapped,
    ) -> MappingResult<Option<HeaderValue>> {
        if let Self::Basic(secret) = self {
            // Both form-encoded, so that the first colon separates them (RFC 6749, 2.3.1).
            let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let (user, password) = (encoded(&client_id), encoded(&given(secret, context)?));
            return credentials("auth.oauth2.client_secret", &user, &password).map(Some);
        }
        form.push(("client_id", client_id));
        match self {
            Self::Secret(secret) | Self::Basic(secret) => {
                form.push(("client_secret", given(secret, context)?))
            }
            Self::Assertion(assertion) => {
                form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
                form.push(("client_assertion", given(assertion, context)?));
            }
        }
        Ok(None)
    }
}

/// Hides the token.
impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BearerToken(***, {:?})", self.life)
    }
}

impl BearerToken {
    /// Reads a token response (RFC 6749, 5.1).
    ///
    /// # Errors
    /// The fault, without values of the response.
    pub fn read(status: StatusCode, body: &[u8]) -> Result<Self, String> {
        let read = document::read(None, body, |_| false);
        let said = read.as_ref().ok().and_then(|read| serde_json::to_value(read).ok()).unwrap_or_default();
        let failed = |what: String| Err(format!("the token answer {what}{}", advice(&said, status, body)));
        if !status.is_success() {
            return failed(format!("has status {}", status.as_u16()));
        }
        let token = match &said["access_token"] {
            Value::String(token) => bare(token),
            Value::Null if said.is_object() => return failed("has no access_token".to_owned()),
            Value::Null => {
                let fault = read.err().filter(|_| !document::is_page_of(None, body));
                return failed(fault.unwrap_or_else(|| "is no JSON object".to_owned()));
            }
            _ => return failed("has an access_token that is not text".to_owned()),
        };
        if let Some(fault) = fault_of(token) {
            return failed(fault.to_owned());
        }
        if !is_bearer(&said["token_type"]) {
            return failed("has a token_type other than Bearer".to_owned() + OTHER_TYPE);
        }
        let mut authorization = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| "the token cannot be sent in a header".to_owned())?;
        authorization.set_sensitive(true);
        let seconds = match &said["expires_in"] {
            // Many servers write numbers as texts.
            Value::String(text) => text.trim().parse().ok(),
            seconds => seconds.as_f64(),
        };
        let life = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let life = life.map(|life| life.min(TOKEN_LIFE_MAX));
        Ok(Self { authorization, life: life.unwrap_or(TOKEN_LIFE) })
    }
}

/// What is wrong with a user of HTTP basic.
pub(super) const NO_USER: &str = "has a user with a `:`, after which servers read the password (RFC 7617): ask \
    the partner for another user";

fn credentials(key: &str, user: &str, password: &str) -> MappingResult<HeaderValue> {
    if user.contains(':') {
        return Err(MappingError::new(key, NO_USER));
    }
    let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
    let mut value = value.map_err(|_| MappingError::new(key, "is not a valid header value"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A token without blanks and line ends around it, and without the `Bearer` with which it is sent.
fn bare(token: &str) -> &str {
    let token = token.trim();
    let prefix = token.get(..7).filter(|prefix| prefix.eq_ignore_ascii_case("bearer "));
    prefix.map_or(token, |prefix| token[prefix.len()..].trim())
}

/// Why a text is no token (RFC 6750, 2.1), which the partner would refuse with a 401.
fn fault_of(token: &str) -> Option<&'static str> {
    match token {
        "" => Some("has an empty access_token"),
        _ if token.eq_ignore_ascii_case("bearer") => Some("has an empty access_token"),
        _ if says_nothing(token) => Some("has an access_token that is a word for nothing, such as `null`"),
        _ if token.bytes().all(|byte| byte.is_ascii_graphic()) => None,
        _ => Some("has an access_token with blanks, line ends or other letters that no token has"),
    }
}

/// What to do about tokens that are no bearer's.
const OTHER_TYPE: &str = ", which is how it would be sent: ask the partner for bearer tokens, or fetch the token by one of `steps` and send it in `headers`";

/// Whether a token of this type is sent as a bearer (RFC 6749, 7.1). Gateways write `BearerToken` or
/// `jwt-bearer`, and many servers nothing.
fn is_bearer(token_type: &Value) -> bool {
    let named = token_type.as_str().map(|named| named.trim().to_ascii_lowercase());
    named.map_or(token_type.is_null(), |named| named.is_empty() || named.contains("bearer"))
}

/// The advice for a token answer that has no token, by its error (RFC 6749, 5.2), whose own words are not repeated, or by what it is.
fn advice(said: &Value, status: StatusCode, body: &[u8]) -> &'static str {
    match said["error"].as_str().unwrap_or_default() {
        "invalid_client" => {
            ", invalid_client: `client_id` or `client_secret` is wrong, or the server wants them sent \
                another way; see `client_auth`"
        }
        "invalid_scope" => ", invalid_scope: check `scope`",
        "invalid_grant" => ", invalid_grant: check `params` and `client_assertion`",
        "unsupported_grant_type" => ", unsupported_grant_type: check `params.grant_type`",
        "unauthorized_client" => ", unauthorized_client: the partner must allow `client_id` this grant",
        "invalid_request" => ", invalid_request: check `params` for what is missing",
        "" if status.is_success() && ["token", "accessToken"].iter().any(|name| said[*name].is_string()) => {
            ", but `token` or `accessToken`: fetch it by one of `steps` and send it in `headers`"
        }
        "" if document::is_page_of(None, body) => ": it is an HTML page; check `token_url`",
        "" if status.is_redirection() => {
            ": it is a redirect, which offerd does not follow; check `token_url`"
        }
        "" if [401, 403].contains(&status.as_u16()) => {
            ": the server does not accept `client_id` or its secret; check both, and `client_auth`"
        }
        "" if status == StatusCode::TOO_MANY_REQUESTS => ": it grants fewer tokens; ask the partner for more",
        "" if status.is_client_error() => ": check `token_url`, `scope` and `params`",
        "" => "",
        _ => ", with an `error` that RFC 6749 does not define: ask the partner what it means",
    }
}

fn given(expression: &Expression, context: &Mapped) -> MappingResult<String> {
    text(&expression.run(context)?).ok_or_else(|| MappingError::new(&expression.key, "gives nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_servers_write_it_or_refused_before_a_401() {
        for token in ["t", " t ", "t\\r\\n", "Bearer t", "bearer  t", " Bearer t\\n"] {
            let body = format!("{{\"access_token\":\"{token}\",\"token_type\":\"jwt-bearer\"}}");
            let read = BearerToken::read(StatusCode::OK, body.as_bytes()).unwrap();
            assert_eq!(read.authorization, "Bearer t", "{token}");
        }
        let nothing = "has an access_token that is a word for nothing, such as `null`";
        let letters = "has an access_token with blanks, line ends or other letters that no token has";
        for (body, wanted) in [
            (r#"{"access_token":"null"}"#, nothing),
            (r#"{"access_token":"undefined"}"#, nothing),
            (r#"{"access_token":"Bearer None"}"#, nothing),
            (r#"{"access_token":"Bearer "}"#, "has an empty access_token"),
            (r#"{"access_token":"jane doe"}"#, letters),
            (r#"{"access_token":"jane\ndoe"}"#, letters),
            (r#"{"access_token":"jané"}"#, letters),
            (
                r#"{"token":"jane"}"#,
                "has no access_token, but `token` or `accessToken`: fetch it by one of `steps`",
            ),
            (r#"{"access_token":"jane"#, "the token answer is cut off: its JSON ends at line 1"),
            ("access_token=jane&token_type=bearer", "the token answer is no JSON object"),
            ("{'access_token':'jane'}", "it has single quotes in place of double ones"),
            ("<html>jane</html>", "is no JSON object: it is an HTML page; check `token_url`"),
        ] {
            let fault = BearerToken::read(StatusCode::OK, body.as_bytes()).unwrap_err();
            assert!(fault.contains(wanted) && !fault.contains("jan"), "{body}: {fault}");
        }
        for (status, wanted) in [
            (401, "has status 401: the server does not accept `client_id` or its secret; check both"),
            (404, "has status 404: check `token_url`, `scope` and `params`"),
            (429, "has status 429: it grants fewer tokens"),
        ] {
            let fault = BearerToken::read(StatusCode::from_u16(status).unwrap(), b"{}").unwrap_err();
            assert!(fault.contains(wanted), "{fault}");
        }
    }
}
