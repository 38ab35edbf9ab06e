//! A subscription: which events of which company to send, where, and how.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use hyper::{HeaderMap, Method};

use super::message::PostbackMessage;
use super::url_template::UrlTemplate;
use crate::outbox::{SigningKey, webhook};
use offerd_insight::analytics::EventTypes;
use offerd_model::{ClientTags, LeadEvent};
use offerd_wire::Call;

/// A subscription, as its file declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// The name of its file.
    pub name: String,
    /// The company whose events it sends.
    pub company: String,
    /// The host that is called.
    pub host: String,
    /// Whether it sends the events of test leads instead of live ones.
    pub test: bool,
    /// Whether sending is suspended.
    pub paused: bool,
    /// How long an event is retried before it becomes a dead letter.
    pub give_up_after: Duration,
    /// The percentage of a payout that the URL is told as its share.
    pub share_percent: Option<f64>,
    pub(super) way: PostbackTarget,
    pub(super) events: EventTypes,
    pub(super) tags: BTreeMap<String, Vec<String>>,
    pub(super) allow_addresses: Vec<String>,
    pub(super) timeout: Duration,
    pub(super) file: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PostbackTarget {
    /// `unreadable` says why keys of a paused subscription are missing.
    Webhook {
        url: String,
        keys: Vec<SigningKey>,
        unreadable: Vec<String>,
    },
    Url {
        method: Method,
        template: UrlTemplate,
    },
}

impl PostbackTarget {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Webhook { .. } => "webhook",
            Self::Url { .. } => "url",
        }
    }
}

impl Subscription {
    /// A reversal is not sent to a URL without a macro for it: it would look like the event again.
    pub(super) fn wants(&self, event: &LeadEvent) -> bool {
        let can_be_told =
            self.template().is_none_or(|url| event.event_deleted_at.is_none() || url.tells_taken_back());
        can_be_told && event.is_test == Some(self.test) && self.events.contains(event.event_type)
    }

    pub(super) fn names_tags(&self) -> bool {
        self.named_tags().next().is_some()
    }

    pub(super) fn named_tags(&self) -> impl Iterator<Item = &str> {
        self.template().into_iter().flat_map(UrlTemplate::client_tags)
    }

    pub(super) fn template(&self) -> Option<&UrlTemplate> {
        match &self.way {
            PostbackTarget::Webhook { .. } => None,
            PostbackTarget::Url { template, .. } => Some(template),
        }
    }

    /// Whether a lead's client tags match: it has the required values, and the tags in the URL.
    pub(super) fn fits(&self, tags: &ClientTags) -> bool {
        let values = |key: &str| tags.0.get(key).map(Vec::as_slice).unwrap_or_default();
        let has_all = self.tags.iter().all(|(key, wanted)| values(key).iter().any(|it| wanted.contains(it)));
        let has_named = self.named_tags().all(|key| !values(key).is_empty());
        has_named && has_all
    }

    /// The call for an event, signed at the current time; `None` if the lead lacks a client tag of the URL.
    pub(super) fn call(&self, message: &PostbackMessage, tags: Option<&ClientTags>) -> Option<Call> {
        match &self.way {
            PostbackTarget::Webhook { url, keys, .. } => {
                Some(webhook(url.clone(), &message.id, message.body(), keys))
            }
            PostbackTarget::Url { method, template } => Some(Call {
                method: method.clone(),
                url: template.filled(message, tags)?,
                headers: HeaderMap::new(),
                body: Bytes::new(),
                idempotent: false,
            }),
        }
    }
}
