//! The format of `<name>.toml` in `postbacks.path`, validated into a [`Subscription`] or all its faults.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::sender::pool;
use super::subscription::{PostbackTarget, Subscription};
use super::url_template::UrlTemplate;
use crate::outbox::{SigningKey, forbidden, host, wire};
use offerd_base::config::SecretPlace;
use offerd_base::declaration::{Checker, Fault, HumanDuration, Source};
use offerd_base::table;
use offerd_insight::analytics::EventTypes;
use offerd_model::EventType;

/// The most secrets of a webhook; each adds a signature to every call.
const KEYS_MAX: usize = 4;

/// The fault of a secret that is neither a file nor a credential.
const MISPLACED: &str = "must be a table, `{ file = \"PATH\" }` or `{ credential = \"NAME\" }`";

/// The largest durations in a file.
const TIMEOUT_MAX: Duration = Duration::from_secs(60);
const GIVE_UP_MAX: Duration = Duration::from_secs(31 * 24 * 3600);

pub(super) fn subscription(name: &str, source: &Source) -> Result<Subscription, Vec<Fault>> {
    let (declared, mut checker) = Checker::begin::<Declared>(name, source)?;
    bounds(&declared, &mut checker);
    let host = host(UrlTemplate::uri(&declared.url).as_ref()).unwrap_or_else(|message| {
        checker.at("url", message);
        String::new()
    });
    let way = match declared.kind {
        PostbackKind::Webhook => webhook(&declared, &mut checker),
        PostbackKind::Url => url(&declared, &mut checker),
    };
    let events = declared.events.map_or(EventTypes::ALL, EventTypes::from_iter);
    let subscription = Subscription {
        name: name.to_owned(),
        company: declared.company,
        host,
        way,
        test: declared.test,
        paused: declared.paused,
        give_up_after: declared.give_up_after.0,
        share_percent: declared.share_percent,
        events,
        tags: declared.tags,
        allow_addresses: declared.allow_addresses,
        timeout: declared.timeout.0,
        file: source.file().to_owned(),
    };
    share(&subscription, &mut checker);
    address(&subscription, &declared.url, &mut checker);
    checker.end(subscription)
}

fn bounds(declared: &Declared, checker: &mut Checker<'_>) {
    if declared.company.trim().is_empty() {
        checker.at("company", "must be the name of a company, as `offerd token list` shows it");
    }
    for (key, given, longest) in
        [("timeout", declared.timeout, TIMEOUT_MAX), ("give_up_after", declared.give_up_after, GIVE_UP_MAX)]
    {
        if given.0.is_zero() || given.0 > longest {
            let [longest, given] = [longest, given.0].map(humantime::format_duration);
            checker.at(key, format!("must be above 0s and at most {longest}, got `{given}`"));
        }
    }
    if declared.events.as_ref().is_some_and(Vec::is_empty) {
        checker.at("events", "must name at least one event; without the key all are sent");
    }
    checker.tags(&declared.tags);
}

fn share(subscription: &Subscription, checker: &mut Checker<'_>) {
    let tells_share = subscription.template().is_some_and(UrlTemplate::tells_share);
    match subscription.share_percent {
        None if tells_share => checker.at("share_percent", "must be set where the `url` has `{share}`"),
        Some(_) if !tells_share => {
            checker.at("share_percent", "is for a `url` with `{share}` or `{shareInCents}`");
        }
        Some(percent) if !(percent > 0.0 && percent <= 100.0) => {
            checker.at("share_percent", format!("must be above 0 and at most 100, got {percent}"));
        }
        _ => {}
    }
}

fn address(subscription: &Subscription, url: &str, checker: &mut Checker<'_>) {
    let url = UrlTemplate::uri(url).map(|uri| uri.to_string()).unwrap_or_default();
    match pool(&wire(false), subscription) {
        Err(message) => checker.at("allow_addresses", message),
        Ok(pool) => forbidden(&pool, &url).into_iter().for_each(|message| checker.at("url", message)),
    }
}

fn webhook(declared: &Declared, checker: &mut Checker<'_>) -> PostbackTarget {
    if declared.method.is_some() {
        checker.at("method", "is for `kind = \"url\"`; webhooks are posted");
    }
    if declared.url.contains(['{', '}']) {
        checker.at("url", "must have no macros; only `kind = \"url\"` has them");
    }
    if declared.secrets.is_empty() || declared.secrets.len() > KEYS_MAX {
        let wanted =
            format!("must be 1 to {KEYS_MAX} of `{{ file = \"PATH\" }}` or `{{ credential = \"NAME\" }}`");
        checker.at("secrets", wanted);
    }
    let (mut keys, mut unreadable) = (Vec::new(), Vec::new());
    for (nth, secret) in declared.secrets.iter().enumerate() {
        let place = secret.0.as_ref().ok_or_else(|| MISPLACED.to_owned());
        match place.and_then(SigningKey::read) {
            Ok(key) => keys.push(key),
            // A paused subscription may lack its keys.
            Err(message) if declared.paused => unreadable.push(format!("`secrets[{nth}]` {message}")),
            Err(message) => checker.at(&format!("secrets[{nth}]"), message),
        }
    }
    PostbackTarget::Webhook { url: declared.url.clone(), keys, unreadable }
}

fn url(declared: &Declared, checker: &mut Checker<'_>) -> PostbackTarget {
    if !declared.secrets.is_empty() {
        checker.at("secrets", "are for `kind = \"webhook\"`; a URL is not signed");
    }
    let method = match declared.method.unwrap_or(Method::Get) {
        Method::Get => hyper::Method::GET,
        Method::Post => hyper::Method::POST,
    };
    let template = UrlTemplate::parse(&declared.url).unwrap_or_else(|faults| {
        faults.into_iter().for_each(|fault| checker.at("url", fault));
        UrlTemplate::default()
    });
    PostbackTarget::Url { method, template }
}

table! {
    #[derive(Debug)]
    struct Declared {
        /// Name of the company whose events are sent, as given when its tokens were created.
        company: String,
        kind: PostbackKind,
        /// The URL to call; with `kind = "url"` its path and query may hold macros.
        url: String,
        /// The keys that sign webhooks; two during a key rotation.
        secrets: Vec<DeclaredSecret> => optional,
        /// `GET` or `POST`, for `kind = "url"` only; `GET` by default.
        method: Option<Method>,
        /// The event types to send; all by default.
        events: Option<Vec<EventType>>,
        /// The percentage of a payout that `{share}` in the URL tells.
        share_percent: Option<f64>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PostbackKind {
    /// Signed JSON, by Standard Webhooks.
    Webhook,
    /// A URL with the event's data.
    Url,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Method {
    #[serde(rename = "GET")]
    Get,
    /// A POST request without a body.
    #[serde(rename = "POST")]
    Post,
}

/// `{ file = "PATH" }` or `{ credential = "NAME" }`; any other value may be the secret, and is discarded.
#[derive(Debug, Deserialize)]
#[serde(from = "toml::Value")]
struct DeclaredSecret(Option<SecretPlace>);

impl From<toml::Value> for DeclaredSecret {
    fn from(value: toml::Value) -> Self {
        // With several keys serde would take the first.
        let is_one = value.as_table().is_some_and(|table| table.len() == 1);
        Self(Some(value).filter(|_| is_one).and_then(|value| value.try_into().ok()))
    }
}
