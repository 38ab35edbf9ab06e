//! The receivers of alerts, and the validation of their settings.

use std::time::Duration;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

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

/// How long a receiver may take for a test alert.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

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
    let wire = wire(true);
    let asked = all(settings).into_iter().filter(|one| only.is_none_or(|name| name == one.name()));
    // Side by side: one that hangs delays no other.
    join_all(asked.map(async |one| {
        let batch = MessageBatch::to(one.name(), vec![message.clone()], settings);
        let told = timeout(TEST_TIMEOUT, one.tell(&wire, &batch)).await;
        let late = |_| Ok(Some(format!("it did not answer within {} s", TEST_TIMEOUT.as_secs())));
        let error = told.unwrap_or_else(late).unwrap_or_else(Some);
        ReceiverTest { receiver: batch.receiver, place: one.place(), error }
    }))
    .await
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;
    use offerd_base::config::Settings;

    #[tokio::test]
    async fn receivers_are_tested_side_by_side() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let webhook = WebhookSettings {
            url: Some(format!("http://{}/", listener.local_addr().unwrap())),
            url_from: None,
            bearer: None,
            secret: None,
            allow_addresses: vec!["127.0.0.1".to_owned()],
            ca_file: None,
        };
        // None is answered before all are asked.
        let answering = thread::spawn(move || {
            let asked: Vec<TcpStream> = (0..3).map(|_| listener.accept().unwrap().0).collect();
            for mut one in &asked {
                BufReader::new(one).read_line(&mut String::new()).unwrap();
                write!(one, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            }
            asked
        });
        let mut settings = Settings::from_layers(None, []).unwrap().alerts;
        settings.webhooks = ["a", "b", "c"].map(|name| (name.to_owned(), webhook.clone())).into();
        let tried = try_out(&settings, None, 0).await;
        assert!(tried.iter().all(|one| one.error.is_none()), "{tried:?}");
        assert_eq!(tried.iter().map(|one| one.receiver.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        drop(answering.join().unwrap());
    }
}
