//! The format of `<name>.toml` in `postbacks.path`; the file's name is the subscription's.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use offerd_base::config::SecretPlace;
use offerd_base::declaration::HumanDuration;
use offerd_base::table;
use offerd_model::EventType;

table! {
    #[derive(Debug)]
    pub(super) struct Declared {
        /// Name of the company whose events are sent, as given when its tokens were created.
        company: String,
        /// The kind of call.
        kind: PostbackKind,
        /// The URL to call; with `kind = "url"` its path and query may hold macros.
        url: String,
        /// The keys that sign webhooks; two during a key rotation.
        secrets: Vec<DeclaredSecret> => optional,
        /// `GET` or `POST`, for `kind = "url"` only; `GET` by default.
        method: Option<Method>,
        /// The event types to send; all by default.
        events: Option<Vec<EventType>>,
        /// Client tags that the lead must have, each with one of these values.
        tags: BTreeMap<String, Vec<String>> => optional,
        /// Sends the events of test leads instead of live ones.
        test: bool => optional,
        /// Private hosts, addresses and networks that may be called.
        allow_addresses: Vec<String> => optional,
        /// The timeout of a call.
        timeout: HumanDuration => or(HumanDuration(Duration::from_secs(10))),
        /// How long an event is retried before it becomes a dead letter.
        give_up_after: HumanDuration => or(HumanDuration(Duration::from_secs(3 * 24 * 3600))),
        /// Suspends sending. Events that arrive meanwhile are sent later, unless the subscription was paused
        /// from the beginning.
        paused: bool => optional,
    }
}

/// The kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PostbackKind {
    /// Signed JSON, by Standard Webhooks.
    Webhook,
    /// A URL with the event's data.
    Url,
}

/// The HTTP method of a URL call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Method {
    #[serde(rename = "GET")]
    Get,
    /// A POST request without a body.
    #[serde(rename = "POST")]
    Post,
}

/// A secret: `{ file = "PATH" }` or `{ credential = "NAME" }`. `None` for any other value, which is discarded
/// since it may be the secret itself.
#[derive(Debug, Deserialize)]
#[serde(from = "toml::Value")]
pub(super) struct DeclaredSecret(pub Option<SecretPlace>);

impl From<toml::Value> for DeclaredSecret {
    fn from(value: toml::Value) -> Self {
        // With several keys serde would take the first.
        let is_one = value.as_table().is_some_and(|table| table.len() == 1);
        Self(Some(value).filter(|_| is_one).and_then(|value| value.try_into().ok()))
    }
}
