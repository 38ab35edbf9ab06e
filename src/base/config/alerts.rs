//! `[alerts]`: which alerts are raised, and who is told.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::rules::Rules;
use super::values::{
    CENTURY, Checked, DAY, HOUR, MILLISECOND, OneOrMany, SECOND, ZERO, file, given, texts, url,
};
use crate::declaration::{HumanDuration, count, quoted, span};
use crate::table;

table! {
    /// `[alerts]`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AlertSettings {
        /// Between two looks at the conditions.
        every: Duration = span(MILLISECOND * 10, HOUR) => reloadable,
        /// Alerts that are not raised.
        off: BTreeSet<String> = names => reloadable,
        /// How long the conditions of some have to hold, by their names.
        waits: BTreeMap<String, Duration> = waits => reloadable,
        /// Leads that must be missing.
        leads_missing: usize = count(1, 1_000_000) => reloadable,
        /// Age of the last backup that is too old; zero for none.
        backup_age: Duration = span(ZERO, CENTURY) => reloadable,
        /// Time before the end of a certificate; zero for none.
        certificate_left: Duration = span(ZERO, DAY * 366) => reloadable,
        /// Where people reach the console, if that is said.
        console_url: Option<String> = url => reloadable,
        /// First wait of a message that was not taken.
        first_backoff: Duration = span(MILLISECOND, HOUR) => reloadable,
        /// Longest one.
        longest_backoff: Duration = span(MILLISECOND, DAY) => reloadable,
        /// How long a message is tried.
        give_up_after: Duration = span(SECOND, DAY * 31) => reloadable,
        /// Messages of one receiver that wait.
        outstanding: usize = count(1, 100_000) => reloadable,
        /// How long alerts that have ended are shown.
        kept: Duration = span(SECOND, CENTURY) => reloadable,
        /// Who is told by HTTP, by name.
        webhooks: BTreeMap<String, WebhookSettings> => reloadable,
        /// Who is told by mail.
        mail: Option<MailSettings> = mail => reloadable,
    }

    /// A webhook.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WebhookSettings {
        /// Its URL, if that is no secret.
        url: Option<String> = given => optional,
        /// Where its URL stands, if it is one.
        url_from: Option<SecretPlace> = secret => optional,
        /// What proves who we are.
        bearer: Option<SecretPlace> = secret => optional,
        /// What messages are signed with.
        secret: Option<SecretPlace> = secret => optional,
        /// Private addresses that are allowed.
        allow_addresses: Vec<String> => optional,
        /// A CA beside the public ones.
        ca_file: Option<PathBuf> = file => optional,
    }

    /// `alerts.mail`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct MailSettings {
        /// The server.
        server: MailServer = server,
        /// How it is spoken to.
        tls: MailTls,
        /// Who the mail is from.
        from: String,
        /// Who gets it.
        to: Vec<String> = texts,
        /// Who we are to the server, if it asks.
        user: Option<String> = given,
        /// What proves that.
        password: Option<SecretPlace> = secret,
        /// A CA beside the public ones.
        ca_file: Option<PathBuf> = file,
    }

    /// Where a secret stands, as it is written.
    #[derive(Debug)]
    struct DeclaredSecret {
        /// In a file.
        file: Option<PathBuf> = file => optional,
        /// In a credential of systemd.
        credential: Option<String> = given => optional,
    }
}

/// A mail server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailServer {
    /// Its host; empty where none is named.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// How a mail server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailTls {
    /// In the clear, then with TLS before anything is said.
    Starttls,
    /// With TLS from the beginning.
    Tls,
    /// In the clear; only on loopback.
    None,
}

/// Where a secret stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretPlace {
    /// In a file.
    File(PathBuf),
    /// In a credential of systemd.
    Credential(String),
}

/// What a mail server is named by.
const SERVER: &str = "must be a host and its port, such as `smtp.example.com:587`";

fn names(names: OneOrMany) -> Checked<BTreeSet<String>> {
    Ok(Vec::from(names).into_iter().collect())
}

fn waits(waits: BTreeMap<String, HumanDuration>) -> Checked<BTreeMap<String, Duration>> {
    Ok(waits.into_iter().map(|(name, wait)| (name, wait.0)).collect())
}

fn secret(declared: DeclaredSecret) -> Checked<Option<SecretPlace>> {
    match (declared.file, declared.credential) {
        (None, None) => Ok(None),
        (Some(file), None) => Ok(Some(SecretPlace::File(file))),
        (None, Some(name)) => Ok(Some(SecretPlace::Credential(name))),
        (Some(_), Some(_)) => Err(vec!["must be a `file` or a `credential`, not both".to_owned()]),
    }
}

/// A host and its port; an IPv6 address stands in brackets.
fn server(text: String) -> Checked<MailServer> {
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

/// None where neither a server nor anybody is named.
fn mail(mail: MailSettings) -> Checked<Option<MailSettings>> {
    let is_none = mail.server.host.is_empty() && mail.from.is_empty() && mail.to.is_empty();
    Ok(Some(mail).filter(|_| !is_none))
}

impl AlertSettings {
    /// Holds the keys against each other.
    pub(super) fn fit(&self, rules: &mut Rules<'_>) {
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
    fn fit(&self, name: &str, rules: &mut Rules<'_>) {
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
    fn fit(&self, rules: &mut Rules<'_>) {
        let MailServer { host, .. } = &self.server;
        if host.is_empty() {
            return rules.want(false, &["alerts.mail.server"], || {
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
            rules.want(is_given, &[key], || "must be set where a `server` is".to_owned());
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
