//! `[alerts]`: the alerts that are raised, and their receivers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::cross_key_checks::CrossKeyChecks;
use super::values::{
    CENTURY, CheckedValue, DAY, HOUR, MILLISECOND, OneOrMany, SECOND, ZERO, file, given, texts, url,
};
use crate::declaration::{HumanDuration, count, quoted, span};
use crate::table;

table! {
    /// `[alerts]`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AlertSettings {
        /// Time between two evaluations of the conditions.
        every: Duration = span(MILLISECOND * 10, HOUR) => reloadable,
        /// Alerts that are disabled.
        off: BTreeSet<String> = names => reloadable,
        /// How long conditions must hold, by alert name.
        waits: BTreeMap<String, Duration> = waits => reloadable,
        /// Missing leads that raise the alert.
        leads_missing: usize = count(1, 1_000_000) => reloadable,
        /// Age at which the last backup is too old; zero for never.
        backup_age: Duration = span(ZERO, CENTURY) => reloadable,
        /// Remaining lifetime at which a certificate raises the alert; zero for never.
        certificate_left: Duration = span(ZERO, DAY * 366) => reloadable,
        /// URL of the console, for links.
        console_url: Option<String> = url => reloadable,
        /// First backoff of a message.
        first_backoff: Duration = span(MILLISECOND, HOUR) => reloadable,
        /// Longest backoff of a message.
        longest_backoff: Duration = span(MILLISECOND, DAY) => reloadable,
        /// How long a message is retried.
        give_up_after: Duration = span(SECOND, DAY * 31) => reloadable,
        /// Pending messages per receiver.
        outstanding: usize = count(1, 100_000) => reloadable,
        /// How long ended alerts are shown.
        kept: Duration = span(SECOND, CENTURY) => reloadable,
        /// Webhook receivers, by name.
        webhooks: BTreeMap<String, WebhookSettings> => reloadable,
        /// The mail receiver.
        mail: Option<MailSettings> = mail => reloadable,
    }

    /// A webhook.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WebhookSettings {
        /// Its URL, if not secret.
        url: Option<String> = given => optional,
        /// The place of its URL, if secret.
        url_from: Option<SecretPlace> = secret => optional,
        /// The bearer token.
        bearer: Option<SecretPlace> = secret => optional,
        /// The key that signs messages.
        secret: Option<SecretPlace> = secret => optional,
        /// Private addresses that are allowed.
        allow_addresses: Vec<String> => optional,
        /// A CA besides the public ones.
        ca_file: Option<PathBuf> = file => optional,
    }

    /// `alerts.mail`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct MailSettings {
        /// The server.
        server: MailServer = server,
        /// The transport security.
        tls: MailTls,
        /// The sender.
        from: String,
        /// The recipients.
        to: Vec<String> = texts,
        /// The user name, if the server requires one.
        user: Option<String> = given,
        /// The password of that user.
        password: Option<SecretPlace> = secret,
        /// A CA besides the public ones.
        ca_file: Option<PathBuf> = file,
    }

    #[derive(Debug)]
    struct DeclaredSecret {
        /// In a file.
        file: Option<PathBuf> = file => optional,
        /// In a systemd credential.
        credential: Option<String> = given => optional,
    }
}

/// A mail server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailServer {
    /// Its host; empty if not configured.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// The transport security of a mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailTls {
    /// Starts in the clear, and switches to TLS before anything else.
    Starttls,
    /// TLS from the start.
    Tls,
    /// In the clear; on loopback only.
    None,
}

/// The place of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretPlace {
    /// In a file.
    File(PathBuf),
    /// In a systemd credential.
    Credential(String),
}

const SERVER: &str = "must be a host and its port, such as `smtp.example.com:587`";

fn names(names: OneOrMany) -> CheckedValue<BTreeSet<String>> {
    Ok(Vec::from(names).into_iter().collect())
}

fn waits(waits: BTreeMap<String, HumanDuration>) -> CheckedValue<BTreeMap<String, Duration>> {
    Ok(waits.into_iter().map(|(name, wait)| (name, wait.0)).collect())
}

fn secret(declared: DeclaredSecret) -> CheckedValue<Option<SecretPlace>> {
    match (declared.file, declared.credential) {
        (None, None) => Ok(None),
        (Some(file), None) => Ok(Some(SecretPlace::File(file))),
        (None, Some(name)) => Ok(Some(SecretPlace::Credential(name))),
        (Some(_), Some(_)) => Err(vec!["must be a `file` or a `credential`, not both".to_owned()]),
    }
}

fn server(text: String) -> CheckedValue<MailServer> {
    let host_and_port = || {
        let (host, port) = text.rsplit_once(':')?;
        let is_host =
            !host.is_empty() && (host.starts_with('[') && host.ends_with(']') || !host.contains(':'));
        let port = port.parse().ok().filter(|port| *port > 0)?;
        is_host.then(|| MailServer { host: host.to_owned(), port })
    };
    if text.is_empty() {
        return Ok(MailServer::default());
    }
    host_and_port().ok_or_else(|| vec![format!("{SERVER}, got `{text}`")])
}

fn mail(mail: MailSettings) -> CheckedValue<Option<MailSettings>> {
    let is_none = mail.server.host.is_empty() && mail.from.is_empty() && mail.to.is_empty();
    Ok(Some(mail).filter(|_| !is_none))
}

impl AlertSettings {
    pub(super) fn fit(&self, rules: &mut CrossKeyChecks<'_>) {
        rules.backoffs("alerts", [self.first_backoff, self.longest_backoff]);
        for (name, wait) in &self.waits {
            let key = format!("alerts.waits.{}", quoted(name));
            rules.within(&key, [ZERO, DAY].map(HumanDuration), HumanDuration(*wait));
        }
        for (name, webhook) in &self.webhooks {
            webhook.fit(name, rules);
        }
        if let Some(mail) = &self.mail {
            mail.fit(rules);
        }
    }
}

impl WebhookSettings {
    fn fit(&self, name: &str, rules: &mut CrossKeyChecks<'_>) {
        let place = format!("alerts.webhooks.{}", quoted(name));
        let is_of_name =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
        let is_name = !name.is_empty() && name != "mail" && name.chars().all(is_of_name);
        rules.want(is_name, &[&place], || {
            format!("must be named by lower-case letters, digits, `-` and `_`, and not `mail`, got `{name}`")
        });
        rules.want(self.url.is_some() != self.url_from.is_some(), &[&format!("{place}.url")], || {
            "must be set, or else `url_from`, and not both".to_owned()
        });
    }
}

impl MailSettings {
    fn fit(&self, rules: &mut CrossKeyChecks<'_>) {
        let MailServer { host, .. } = &self.server;
        if host.is_empty() {
            let keys =
                ["server", "from", "to", "user", "password", "tls"].map(|key| format!("alerts.mail.{key}"));
            return rules.want(false, &keys.each_ref().map(String::as_str), || {
                format!("{SERVER}, so that mail is sent, got none")
            });
        }
        let is_sealed = self.tls != MailTls::None || is_loopback(host);
        rules.want(is_sealed, &["alerts.mail.tls", "alerts.mail.server"], || {
            "must be `starttls` or `tls`, unless the server is on loopback".to_owned()
        });
        for (key, is_given) in
            [("alerts.mail.from", !self.from.is_empty()), ("alerts.mail.to", !self.to.is_empty())]
        {
            rules.want(is_given, &[key, "alerts.mail.server"], || {
                "must be set where a `server` is".to_owned()
            });
        }
        let (set, lacking) = if self.user.is_none() { ("password", "user") } else { ("user", "password") };
        let go_together = self.user.is_some() == self.password.is_some();
        let keys = [set, lacking].map(|key| format!("alerts.mail.{key}"));
        rules.want(go_together, &[&keys[0], &keys[1]], || {
            format!("is set and `{lacking}` is not: they go together")
        });
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
