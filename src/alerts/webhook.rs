//! Telling a webhook: one call, over the wire, with what proves who we are.

use std::time::Duration;

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{HeaderMap, Method, Uri};
use tokio::time::Instant;

use super::message::Batch;
use super::secret;
use crate::config::WebhookSettings;
use crate::postbacks::{SigningKey, sign};
use crate::regular_file::{self, PEM_BYTES_MAX};
use crate::wire::{Call, CallError, EndpointRules, PanelRules, Pool, PoolRules, Wire};

/// Longest time for one call.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Longest answer that is read, in bytes; a longer one is a failure.
const ANSWER_BYTES: usize = 64 * 1024;

/// What receivers see of us.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("offerd/", env!("CARGO_PKG_VERSION")));

/// The wire of alerts: what fails here keeps no partner out, and the other way round.
pub(super) fn wire() -> Wire {
    Wire::new(PanelRules { max_ejected_percent: 100, simulate_only: true })
}

/// Tells a webhook.
///
/// # Errors
/// Why it has not taken that, without its URL.
pub(super) async fn send(
    wire: &Wire,
    name: &str,
    settings: &WebhookSettings,
    batch: &Batch,
) -> Result<(), String> {
    let call = call(settings, batch)?;
    let roots = roots(settings).map_err(|message| format!("`ca_file` {message}"))?;
    let endpoint = pool(wire, name, settings, roots)?.endpoint("alert", EndpointRules::default());
    let reply = endpoint.call(call, Instant::now() + TIMEOUT).await.map_err(|error| match error {
        CallError::ForbiddenAddress => {
            "its host is at a private, local or reserved address, which `allow_addresses` does not name"
                .to_owned()
        }
        error => error.to_string(),
    })?;
    match reply.status.is_success() {
        true => Ok(()),
        false => Err(format!("it answered {}", reply.status.as_u16())),
    }
}

/// What is wrong with how a webhook is reached, as far as it shows without calling it.
///
/// # Errors
/// The key of what is, behind that of the webhook, and why.
pub(super) fn check(name: &str, settings: &WebhookSettings) -> Result<(), (&'static str, String)> {
    let key = if settings.url.is_some() { ".url" } else { ".url_from" };
    let Ok(url) = url(settings) else { return Ok(()) };
    host(settings).map_err(|message| (key, message))?;
    let roots = roots(settings).map_err(|message| (".ca_file", message))?;
    let pool = pool(&wire(), name, settings, roots).map_err(|message| ("", message))?;
    match pool.forbids(&url) {
        Some(address) => Err((
            key,
            format!(
                "is at {address}, a private, local or reserved address; `allow_addresses = [\"{address}\"]` allows it"
            ),
        )),
        None => Ok(()),
    }
}

/// The host that is called: the rest of a URL may be a secret.
///
/// # Errors
/// That it is none.
pub(super) fn host(settings: &WebhookSettings) -> Result<String, String> {
    let url = url(settings)?.parse::<Uri>().ok();
    let is_web = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = url.as_ref().filter(|uri| is_web(uri)).and_then(Uri::authority);
    let authority = authority.filter(|authority| !authority.as_str().contains('@'));
    authority
        .map(|authority| authority.host().to_owned())
        .ok_or_else(|| "must be an absolute URL of http or https, without a user".to_owned())
}

fn url(settings: &WebhookSettings) -> Result<String, String> {
    match (&settings.url, &settings.url_from) {
        (Some(url), _) => Ok(url.clone()),
        (None, Some(place)) => secret::read(place).map_err(|message| format!("`url_from` {message}")),
        (None, None) => Err("no URL is set".to_owned()),
    }
}

fn call(settings: &WebhookSettings, batch: &Batch) -> Result<Call, String> {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, AGENT);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let body = batch.json();
    if let Some(bearer) =
        secret::read_if_any(settings.bearer.as_ref()).map_err(|message| format!("`bearer` {message}"))?
    {
        let mut value =
            HeaderValue::try_from(format!("Bearer {bearer}")).map_err(|_| "`bearer` is no token")?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    if let Some(text) =
        secret::read_if_any(settings.secret.as_ref()).map_err(|message| format!("`secret` {message}"))?
    {
        let key = SigningKey::parse(&text).ok_or("`secret` is no key")?;
        sign(&mut headers, &[key], &batch.id(), chrono::Utc::now().timestamp(), &body);
    }
    // A receiver knows the second by its id: what was sent is sent again by its queue alone.
    Ok(Call { method: Method::POST, url: url(settings)?, headers, body: body.into(), idempotent: false })
}

/// The certificates of a CA beside the public ones.
fn roots(settings: &WebhookSettings) -> Result<Option<Vec<u8>>, String> {
    let read =
        settings.ca_file.as_deref().map(|file| regular_file::bytes_of(file, PEM_BYTES_MAX)).transpose();
    read.map_err(|error| format!("cannot be read: {error}"))
}

fn pool(
    wire: &Wire,
    name: &str,
    settings: &WebhookSettings,
    extra_roots: Option<Vec<u8>>,
) -> Result<Pool, String> {
    let rules = PoolRules {
        connect_timeout: TIMEOUT,
        max_response_bytes: ANSWER_BYTES,
        allow_addresses: settings.allow_addresses.clone(),
        extra_roots,
        ..PoolRules::default()
    };
    wire.pool(&format!("alerts/{name}"), rules)
}
