//! `[alerts]`: which alerts are raised, and who is told.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::values::{
    CENTURY, DAY, Found, HOUR, MILLISECOND, OneOrMany, SECOND, backoffs, count, duration, fault, url,
};
use crate::declaration::{HumanDuration, quoted};

/// The section as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAlerts {
    pub every: HumanDuration,
    pub off: OneOrMany,
    pub waits: BTreeMap<String, HumanDuration>,
    pub leads_missing: i64,
    pub backup_age: HumanDuration,
    pub certificate_left: HumanDuration,
    pub console_url: String,
    pub first_backoff: HumanDuration,
    pub longest_backoff: HumanDuration,
    pub give_up_after: HumanDuration,
    pub outstanding: i64,
    pub kept: HumanDuration,
    pub webhooks: BTreeMap<String, RawWebhook>,
    pub mail: RawMail,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWebhook {
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    pub url_from: RawSecret,
    #[serde(default)]
    pub bearer: RawSecret,
    #[serde(default)]
    pub secret: RawSecret,
    #[serde(default)]
    pub allow_addresses: Vec<String>,
    #[serde(default)]
    pub ca_file: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMail {
    pub server: String,
    pub tls: MailTls,
    pub from: String,
    pub to: OneOrMany,
    pub user: String,
    pub password: RawSecret,
    pub ca_file: String,
}

/// Where a secret stands; empty where there is none.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSecret {
    #[serde(default)]
    pub file: String,
    #[serde(default)]
    pub credential: String,
}

/// `[alerts]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertSettings {
    /// Between two looks at the conditions.
    pub every: Duration,
    /// Alerts that are not raised.
    pub off: BTreeSet<String>,
    /// How long the conditions of some have to hold, by their names.
    pub waits: BTreeMap<String, Duration>,
    /// Leads that must be missing.
    pub leads_missing: usize,
    /// Age of the last backup that is too old; zero for none.
    pub backup_age: Duration,
    /// Time before the end of a certificate; zero for none.
    pub certificate_left: Duration,
    /// Where people reach the console, if that is said.
    pub console_url: Option<String>,
    /// First wait of a message that was not taken.
    pub first_backoff: Duration,
    /// Longest one.
    pub longest_backoff: Duration,
    /// How long a message is tried.
    pub give_up_after: Duration,
    /// Messages of one receiver that wait.
    pub outstanding: usize,
    /// How long alerts that have ended are shown.
    pub kept: Duration,
    /// Who is told by HTTP, by name.
    pub webhooks: BTreeMap<String, WebhookSettings>,
    /// Who is told by mail.
    pub mail: Option<MailSettings>,
}

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Its URL, if that is no secret.
    pub url: Option<String>,
    /// Where its URL stands, if it is one.
    pub url_from: Option<SecretPlace>,
    /// What proves who we are.
    pub bearer: Option<SecretPlace>,
    /// What messages are signed with.
    pub secret: Option<SecretPlace>,
    /// Private addresses that are allowed.
    pub allow_addresses: Vec<String>,
    /// A CA beside the public ones.
    pub ca_file: Option<PathBuf>,
}

/// `alerts.mail`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailSettings {
    /// Host of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How it is spoken to.
    pub tls: MailTls,
    /// Who the mail is from.
    pub from: String,
    /// Who gets it.
    pub to: Vec<String>,
    /// Who we are to the server, if it asks.
    pub user: Option<String>,
    /// What proves that.
    pub password: Option<SecretPlace>,
    /// A CA beside the public ones.
    pub ca_file: Option<PathBuf>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    /// In a file.
    File(PathBuf),
    /// In a credential of systemd.
    Credential(String),
}

pub(super) fn checked(raw: RawAlerts, is_default: &dyn Fn(&str) -> bool, found: &mut Found) -> AlertSettings {
    let waits = raw.waits.into_iter().map(|(name, wait)| {
        let wait = duration(&format!("alerts.waits.{}", quoted(&name)), wait, Duration::ZERO, DAY, found);
        (name, wait)
    });
    let waits = waits.collect();
    let [first_backoff, longest_backoff] =
        backoffs("alerts", [raw.first_backoff, raw.longest_backoff], is_default, found);
    let mut within = |key: &str, value: HumanDuration, least, greatest| {
        duration(&format!("alerts.{key}"), value, least, greatest, found)
    };
    let ten = MILLISECOND * 10;
    let settings = AlertSettings {
        every: within("every", raw.every, ten, HOUR),
        off: Vec::from(raw.off).into_iter().collect(),
        waits,
        leads_missing: 0,
        backup_age: within("backup_age", raw.backup_age, Duration::ZERO, CENTURY),
        certificate_left: within("certificate_left", raw.certificate_left, Duration::ZERO, DAY * 366),
        console_url: None,
        first_backoff,
        longest_backoff,
        give_up_after: within("give_up_after", raw.give_up_after, SECOND, DAY * 31),
        outstanding: 0,
        kept: within("kept", raw.kept, SECOND, CENTURY),
        webhooks: BTreeMap::new(),
        mail: None,
    };
    AlertSettings {
        leads_missing: count("alerts.leads_missing", raw.leads_missing, 1, 1_000_000, found),
        outstanding: count("alerts.outstanding", raw.outstanding, 1, 100_000, found),
        console_url: url("alerts.console_url", raw.console_url, found),
        webhooks: raw.webhooks.into_iter().map(|(name, raw)| webhook(name, raw, found)).collect(),
        mail: mail(raw.mail, found),
        ..settings
    }
}

fn webhook(name: String, raw: RawWebhook, found: &mut Found) -> (String, WebhookSettings) {
    let place = format!("alerts.webhooks.{}", quoted(&name));
    let is_name =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    if name.is_empty() || name == "mail" || !name.chars().all(is_name) {
        let wanted = "must be named by lower-case letters, digits, `-` and `_`, and not `mail`";
        fault(&place, format!("{wanted}, got `{name}`"), found);
    }
    let mut secret = |key: &str, raw| secret(&format!("{place}.{key}"), raw, found);
    let settings = WebhookSettings {
        url: given(raw.url),
        url_from: secret("url_from", raw.url_from),
        bearer: secret("bearer", raw.bearer),
        secret: secret("secret", raw.secret),
        allow_addresses: raw.allow_addresses,
        ca_file: given(raw.ca_file).map(PathBuf::from),
    };
    if settings.url.is_some() == settings.url_from.is_some() {
        fault(&format!("{place}.url"), "must be set, or else `url_from`, and not both".to_owned(), found);
    }
    (name, settings)
}

fn mail(raw: RawMail, found: &mut Found) -> Option<MailSettings> {
    const SERVER: &str = "must be a host and its port, such as `smtp.example.com:587`";
    let mut wrong = |key: &str, message: String| fault(&format!("alerts.mail.{key}"), message, found);
    let to: Vec<String> = raw.to.into();
    if raw.server.is_empty() {
        if !raw.from.is_empty() || !to.is_empty() {
            wrong("server", format!("{SERVER}, so that mail is sent, got none"));
        }
        return None;
    }
    let (host, port) = host_and_port(&raw.server).unwrap_or_else(|| {
        wrong("server", format!("{SERVER}, got `{}`", raw.server));
        (raw.server.clone(), 0)
    });
    if raw.tls == MailTls::None && !is_loopback(&host) {
        wrong("tls", "must be `starttls` or `tls`, unless the server is on loopback".to_owned());
    }
    for (key, is_missing) in [("from", raw.from.is_empty()), ("to", to.is_empty())] {
        if is_missing {
            wrong(key, "must be set where a `server` is".to_owned());
        }
    }
    let has_password = !(raw.password.file.is_empty() && raw.password.credential.is_empty());
    if raw.user.is_empty() == has_password {
        let (set, lacking) = if has_password { ("password", "user") } else { ("user", "password") };
        wrong(set, format!("is set and `{lacking}` is not: they go together"));
    }
    Some(MailSettings {
        host,
        port,
        tls: raw.tls,
        from: raw.from,
        to,
        user: given(raw.user),
        password: secret("alerts.mail.password", raw.password, found),
        ca_file: given(raw.ca_file).map(PathBuf::from),
    })
}

/// A host and its port; an IPv6 address stands in brackets.
fn host_and_port(server: &str) -> Option<(String, u16)> {
    let (host, port) = server.rsplit_once(':')?;
    let is_host = !host.is_empty() && (host.starts_with('[') && host.ends_with(']') || !host.contains(':'));
    let port = port.parse().ok().filter(|port| *port > 0)?;
    is_host.then(|| (host.to_owned(), port))
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn secret(key: &str, raw: RawSecret, found: &mut Found) -> Option<SecretPlace> {
    match (given(raw.file), given(raw.credential)) {
        (None, None) => None,
        (Some(file), None) => Some(SecretPlace::File(file.into())),
        (None, Some(name)) => Some(SecretPlace::Credential(name)),
        (Some(_), Some(_)) => {
            fault(key, "must be a `file` or a `credential`, not both".to_owned(), found);
            None
        }
    }
}

fn given(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
