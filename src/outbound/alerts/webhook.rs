//! Delivery by webhook: one call over the wire, signed or with a bearer token.

use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderValue};
use tokio::time::Instant;

use super::message::MessageBatch;
use crate::outbox::{self, SigningKey, forbidden, pool_rules, secret, webhook};
use offerd_base::config::WebhookSettings;
use offerd_base::regular_file::{self, PEM_BYTES_MAX};
use offerd_wire::{Call, CallError, EndpointRules, Pool, PoolRules, Wire};

const TIMEOUT: Duration = Duration::from_secs(10);

/// Calls a webhook. Fails if the webhook has not accepted the batch; never names its URL.
pub(super) async fn send(wire: &Wire, to: &WebhookSettings, batch: &MessageBatch) -> Result<(), String> {
    let call = call(to, batch)?;
    let roots = roots(to).map_err(|message| format!("`ca_file` {message}"))?;
    let endpoint = pool(wire, &batch.receiver, to, roots)?.endpoint("alert", EndpointRules::default());
    let reply = endpoint.call(call, Instant::now() + TIMEOUT).await.map_err(|error| match error {
        CallError::ForbiddenAddress => {
            "its host is at a private, local or reserved address that `allow_addresses` does not list"
                .to_owned()
        }
        error => error.to_string(),
    })?;
    if reply.status.is_success() { Ok(()) } else { Err(format!("it answered {}", reply.status.as_u16())) }
}

/// Validates a webhook without calling it. Returns the faulty key, relative to the webhook's, and the fault.
pub(super) fn check(name: &str, settings: &WebhookSettings) -> Result<(), (&'static str, String)> {
    let key = if settings.url.is_some() { ".url" } else { ".url_from" };
    let Ok(url) = url(settings) else { return Ok(()) };
    host(settings).map_err(|message| (key, message))?;
    let roots = roots(settings).map_err(|message| (".ca_file", message))?;
    let pool = pool(&outbox::wire(true), name, settings, roots).map_err(|message| ("", message))?;
    forbidden(&pool, &url).map_or(Ok(()), |message| Err((key, message)))
}

pub(super) fn host(settings: &WebhookSettings) -> Result<String, String> {
    outbox::host(url(settings)?.parse().ok().as_ref())
}

fn url(settings: &WebhookSettings) -> Result<String, String> {
    if let Some(url) = &settings.url {
        return Ok(url.clone());
    }
    let url = secret::read(settings.url_from.as_ref()).map_err(|message| format!("`url_from` {message}"))?;
    url.ok_or_else(|| "no URL is set".to_owned())
}

fn call(settings: &WebhookSettings, batch: &MessageBatch) -> Result<Call, String> {
    let key = secret::read(settings.secret.as_ref()).map_err(|message| format!("`secret` {message}"))?;
    let key = key.map(|text| SigningKey::parse(&text).ok_or("`secret` is no key")).transpose()?;
    let bearer = secret::read(settings.bearer.as_ref()).map_err(|message| format!("`bearer` {message}"))?;
    let mut call = webhook(url(settings)?, &batch.id(), batch.json(), key.as_slice());
    if let Some(bearer) = bearer {
        let mut value =
            HeaderValue::try_from(format!("Bearer {bearer}")).map_err(|_| "`bearer` is no token")?;
        value.set_sensitive(true);
        call.headers.insert(AUTHORIZATION, value);
    }
    Ok(call)
}

fn roots(settings: &WebhookSettings) -> Result<Option<Vec<u8>>, String> {
    let read = settings.ca_file.as_deref().map(|it| regular_file::bytes_of(it, PEM_BYTES_MAX)).transpose();
    read.map_err(|error| format!("cannot be read: {error}"))
}

fn pool(wire: &Wire, name: &str, settings: &WebhookSettings, roots: Option<Vec<u8>>) -> Result<Pool, String> {
    let rules = PoolRules { extra_roots: roots, ..pool_rules(TIMEOUT, &settings.allow_addresses) };
    wire.pool(&format!("alerts/{name}"), rules)
}
