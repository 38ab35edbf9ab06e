//! The receivers of alerts, and the validation of their settings.

use serde::{Deserialize, Serialize};

use super::condition::Labels;
use super::message::{AlertMessage, MessageBatch};
use super::rule::AlertRule;
use super::state::{Alert, AlertChange};
use super::{mail, webhook};
use crate::outbox::{SigningKey, secret, wire};
use offerd_base::config::{AlertSettings, MailSettings, SecretPlace, WebhookSettings};
use offerd_base::declaration::{did_you_mean, nearest, quoted};
use offerd_wire::Wire;

pub(super) const MAIL: &str = "mail";

#[derive(Debug, Clone)]
pub(super) enum Receiver {
    Webhook(String, WebhookSettings),
    Mail(MailSettings),
}

pub(super) fn all(settings: &AlertSettings) -> Vec<Receiver> {
    let webhooks = settings.webhooks.iter().map(|(name, one)| Receiver::Webhook(name.clone(), one.clone()));
    webhooks.chain(settings.mail.clone().map(Receiver::Mail)).collect()
}

pub(super) fn names(settings: &AlertSettings) -> Vec<String> {
    all(settings).iter().map(|receiver| receiver.name().to_owned()).collect()
}

impl Receiver {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Webhook(name, _) => name,
            Self::Mail(_) => MAIL,
        }
    }

    /// The destination, without parts that may be secret.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Webhook(_, settings) => webhook::host(settings).unwrap_or_else(|_| "not known".to_owned()),
            Self::Mail(settings) => settings.to.join(", "),
        }
    }

    /// Delivers a batch. Returns the recipients that refused it, if others accepted it.
    pub(super) async fn tell(&self, wire: &Wire, batch: &MessageBatch) -> Result<Option<String>, String> {
        match self {
            Self::Webhook(_, settings) => webhook::send(wire, settings, batch).await.map(|()| None),
            Self::Mail(settings) => mail::send(settings, batch).await,
        }
    }
}

/// The faults of the alert settings that their own section cannot find, by key.
pub fn faults(settings: &AlertSettings) -> Vec<(String, String)> {
    let named = settings.off.iter().map(|name| ("alerts.off".to_owned(), name));
    let named = named.chain(settings.waits.keys().map(|it| (format!("alerts.waits.{}", quoted(it)), it)));
    let unknown = named.filter(|(_, name)| AlertRule::named(name).is_none());
    let mut found: Vec<(String, String)> = unknown.map(|(key, name)| (key, strange(name))).collect();
    for (name, one) in &settings.webhooks {
        let place = format!("alerts.webhooks.{}", quoted(name));
        unread(&format!("{place}.url_from"), one.url_from.as_ref(), &mut found);
        unread(&format!("{place}.bearer"), one.bearer.as_ref(), &mut found);
        let secret = unread(&format!("{place}.secret"), one.secret.as_ref(), &mut found);
        if secret.is_some_and(|text| SigningKey::parse(&text).is_none()) {
            let wanted = "must lead to `whsec_` and base64 of 24 to 64 bytes";
            found.push((format!("{place}.secret"), wanted.to_owned()));
        }
        if let Err((key, message)) = webhook::check(name, one) {
            found.push((format!("{place}{key}"), message));
        }
    }
    if let Some(settings) = &settings.mail {
        unread("alerts.mail.password", settings.password.as_ref(), &mut found);
        let wrong = mail::faults(settings).into_iter();
        found.extend(wrong.map(|(key, message)| (format!("alerts.mail.{key}"), message)));
    }
    found
}

fn unread(key: &str, place: Option<&SecretPlace>, found: &mut Vec<(String, String)>) -> Option<String> {
    secret::read(place).unwrap_or_else(|message| {
        found.push((key.to_owned(), message));
        None
    })
}

fn strange(name: &str) -> String {
    let near = nearest(name, super::RULES.iter().map(|rule| rule.name));
    let list = "list them all with `offerd alerts list`";
    format!("names `{name}`, which is not an alert: {list}{}", did_you_mean(near))
}

/// The result of a test for one receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiverTest {
    /// The receiver's name.
    pub receiver: String,
    /// The destination.
    pub place: String,
    /// Why it has not taken it, if it has not.
    pub error: Option<String>,
}

/// Checks that a receiver exists, if a name is given.
///
/// # Errors
/// There is none; with the nearest name.
pub fn check_receiver(settings: &AlertSettings, name: Option<&str>) -> Result<(), String> {
    let known = names(settings);
    let is_none = |name: &&str| !known.iter().any(|one| one == name);
    let Some(name) = name.filter(is_none) else { return Ok(()) };
    let near = did_you_mean(nearest(name, known.iter().map(String::as_str)));
    Err(format!("there is no receiver `{name}`: `offerd alerts list` shows all{near}"))
}

/// Sends a test alert to all receivers, or to one; only [the result](super::AlertBoard::tried) is recorded.
pub async fn try_out(settings: &AlertSettings, only: Option<&str>, now_ms: i64) -> Vec<ReceiverTest> {
    let begun = Alert::begun("OfferdTest", Labels::new(), "this is a test of alert delivery", now_ms);
    let alert = Alert { fired_ms: Some(now_ms), ..begun };
    let message = AlertMessage::of(AlertChange::Fired, &alert, now_ms);
    let mut tried = Vec::new();
    let wire = wire(true);
    for one in all(settings).into_iter().filter(|one| only.is_none_or(|name| name == one.name())) {
        let batch = MessageBatch::to(one.name(), vec![message.clone()], settings);
        let error = one.tell(&wire, &batch).await.unwrap_or_else(Some);
        tried.push(ReceiverTest { receiver: batch.receiver, place: one.place(), error });
    }
    tried
}
