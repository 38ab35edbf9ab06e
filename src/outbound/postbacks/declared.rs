//! The shape of `<name>.toml` in `postbacks.path`, as an operator writes it. The file's name is that of the subscription.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use offerd_base::config::SecretPlace;
use offerd_base::declaration::HumanDuration;
use offerd_base::table;
use offerd_model::EventType;

table! {
    /// A whole file.
    #[derive(Debug)]
    pub(super) struct Declared {
        /// Name of the company whose events are told, as its tokens were made with.
        company: String,
        /// How they are told.
        kind: Kind,
        /// Where to; with `kind = "url"` with macros in its path and query.
        url: String,
        /// What webhooks are signed with; two while keys are exchanged.
        secrets: Vec<DeclaredSecret> => optional,
        /// `GET` or `POST`, of `kind = "url"` only; `GET` when absent.
        method: Option<Method>,
        /// Which events; all when absent.
        events: Option<Vec<EventType>>,
        /// Client tags that the lead must have, each with one of these values.
        tags: BTreeMap<String, Vec<String>> => optional,
        /// Whether the events of test leads are told, rather than those of live ones.
        test: bool => optional,
        /// Hosts, addresses and networks that may be called although they are private.
        allow_addresses: Vec<String> => optional,
        /// Longest wait for an answer.
        timeout: HumanDuration => or(HumanDuration(Duration::from_secs(10))),
        /// How long an event is tried before it is a dead letter.
        give_up_after: HumanDuration => or(HumanDuration(Duration::from_secs(3 * 24 * 3600))),
        /// Sends nothing for now; what arrives meanwhile is sent afterwards, unless it was paused from the beginning.
        paused: bool => optional,
    }
}

/// How events are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// As JSON, signed as Standard Webhooks has it.
    Webhook,
    /// By a call of a URL that says what happened.
    Url,
}

/// How a URL is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Method {
    /// With GET.
    #[serde(rename = "GET")]
    Get,
    /// With POST, without a body.
    #[serde(rename = "POST")]
    Post,
}

/// Where a secret is: `{ file = "PATH" }` or `{ credential = "NAME" }`. None where it is nowhere that is known: what stood there is
/// forgotten, since it may be the secret itself.
#[derive(Debug, Deserialize)]
#[serde(from = "toml::Value")]
pub(super) struct DeclaredSecret(pub Option<SecretPlace>);

impl From<toml::Value> for DeclaredSecret {
    fn from(value: toml::Value) -> Self {
        // Of several keys serde would take the first.
        let is_one = value.as_table().is_some_and(|table| table.len() == 1);
        Self(Some(value).filter(|_| is_one).and_then(|value| value.try_into().ok()))
    }
}
