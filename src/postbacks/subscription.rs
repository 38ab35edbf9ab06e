//! A subscription: whose events are told, which, where to, and how.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use chrono::Utc;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::{HeaderMap, Method};

use super::message::Message;
use super::signing_key::SigningKey;
use super::url_template::UrlTemplate;
use crate::analytics::EventTypes;
use crate::model::{ClientTags, LeadEvent};
use crate::wire::Call;

/// What the receivers see of us.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("offerd/", env!("CARGO_PKG_VERSION")));

/// The headers of Standard Webhooks.
const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// A subscription, as its file declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// The name of its file.
    pub name: String,
    /// Whose events.
    pub company: String,
    /// The host that is called.
    pub host: String,
    /// How they are told.
    pub channel: Channel,
    /// Whether the events of test leads are told, rather than those of live ones.
    pub test: bool,
    /// Whether nothing is sent for now.
    pub paused: bool,
    /// How long an event is tried before it is a dead letter.
    pub give_up_after: Duration,
    pub(super) events: EventTypes,
    pub(super) tags: BTreeMap<String, Vec<String>>,
    pub(super) allow_addresses: Vec<String>,
    pub(super) timeout: Duration,
    pub(super) file: PathBuf,
}

/// How events are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel(pub(super) Way);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// By signed JSON.
    Webhook { url: String, keys: Vec<SigningKey> },
    /// By a URL that says what happened.
    Url { method: Method, template: UrlTemplate },
}

impl Channel {
    /// Its word in files.
    pub fn word(&self) -> &'static str {
        match self.0 {
            Way::Webhook { .. } => "webhook",
            Way::Url { .. } => "url",
        }
    }
}

impl Subscription {
    /// Whether an event is told, as far as it says itself. That it was taken back is not told by a URL that has no place for it: it
    /// would be read as the event again.
    pub(super) fn wants(&self, event: &LeadEvent) -> bool {
        let can_be_told = match &self.channel.0 {
            Way::Webhook { .. } => true,
            Way::Url { template, .. } => event.event_deleted_at.is_none() || template.tells_taken_back(),
        };
        can_be_told && event.is_test == Some(self.test) && self.events.contains(event.event_type)
    }

    /// Whether it has to know the client tags of the lead.
    pub(super) fn reads_tags(&self) -> bool {
        !self.tags.is_empty() || self.names_tags()
    }

    /// Whether what goes out names client tags.
    pub(super) fn names_tags(&self) -> bool {
        matches!(&self.channel.0, Way::Url { template, .. } if template.client_tags().next().is_some())
    }

    /// Whether a lead with these client tags is told of: it has those that are wanted, and those that the URL names.
    pub(super) fn fits(&self, tags: &ClientTags) -> bool {
        let values = |key: &str| tags.0.get(key).map(Vec::as_slice).unwrap_or_default();
        let is_wanted =
            |(key, wanted): (&String, &Vec<String>)| values(key).iter().any(|value| wanted.contains(value));
        let has_named = match &self.channel.0 {
            Way::Webhook { .. } => true,
            Way::Url { template, .. } => template.client_tags().all(|key| !values(key).is_empty()),
        };
        has_named && self.tags.iter().all(is_wanted)
    }

    /// The call that tells of an event, signed as of now; nothing when the URL names a client tag that the lead does not have.
    pub(super) fn call(&self, message: &Message, tags: Option<&ClientTags>) -> Option<Call> {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, AGENT);
        let (method, url, body) = match &self.channel.0 {
            Way::Webhook { url, keys } => {
                let body = message.body();
                sign(&mut headers, keys, &message.id, Utc::now().timestamp(), &body);
                (Method::POST, url.clone(), body)
            }
            Way::Url { method, template } => (method.clone(), template.filled(message, tags)?, Vec::new()),
        };
        // A receiver knows the second by its id, but need not: what was sent is sent again by its delivery alone.
        Some(Call { method, url, headers, body: body.into(), idempotent: false })
    }
}

/// Signs a body, once with each key.
pub fn sign(headers: &mut HeaderMap, keys: &[SigningKey], id: &str, timestamp_s: i64, body: &[u8]) {
    let signatures: Vec<String> = keys.iter().map(|key| key.sign(id, timestamp_s, body)).collect();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(TIMESTAMP, timestamp_s.into());
    for (name, text) in [(ID, id), (SIGNATURE, &signatures.join(" "))] {
        headers.insert(name, HeaderValue::from_str(text).expect("ids and base64 are ASCII"));
    }
}
