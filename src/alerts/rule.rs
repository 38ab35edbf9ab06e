//! Every alert there is. Names, urgency and waits are those of `config/prometheus/alerts.yml`; OfferdDown is there alone.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::condition::{Condition, Labels, Sight};
use crate::partner_health::Health;
use crate::sheet::figures;
use crate::telemetry::metrics::{
    BACKUP_AT, CERTIFICATE_ENDS, HTTP_CONNECTIONS_REFUSED, HTTP_REQUESTS, HTTP_REQUESTS_REFUSED,
    LEADS_MISSING, LIMIT_USED, OFFERS_FALL, PARTNER_HEALTH, POSTBACK_LAG, POSTBACKS_DEAD, RELOADS, SEATS_CUT,
    STORE_BROKEN_RECORDS, STORE_CLOCK_OFFSET, STORE_CLOCK_STEPS, STORE_COMMIT_SECONDS, STORE_DAMAGE,
    STORE_FREE_BYTES, STORE_STALLED, STORE_STALLS, SUBMITS_REFUSED, WIRE_BREAKER_STATE,
};

/// How urgent an alert is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Now, whatever the hour.
    Page,
    /// On the next working day.
    Ticket,
    /// Good to know.
    Notice,
}

impl Severity {
    /// Its word in labels.
    pub fn word(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Ticket => "ticket",
            Self::Notice => "notice",
        }
    }
}

/// An alert as it may be raised.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// How urgent it is.
    pub severity: Severity,
    /// How long its condition has to hold before it is raised.
    pub wait: Duration,
    /// How long it goes on when its condition holds no more.
    pub keep: Duration,
    /// What has happened, with the labels in braces and `{value}`.
    pub summary: &'static str,
    /// The part of the handbook's chapter of metrics to read.
    pub runbook: &'static str,
    pub(super) condition: Condition,
    /// The labels that tell one such alert from another.
    pub(super) by: &'static [&'static str],
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

const NO: Duration = Duration::ZERO;

fn is_any(value: f64, _: &Labels, _: &Sight<'_>) -> bool {
    value > 0.0
}

fn is_old_backup(taken_s: f64, _: &Labels, sight: &Sight<'_>) -> bool {
    let most = sight.settings.alerts.backup_age.as_secs_f64();
    most > 0.0 && sight.now_s() - taken_s > most
}

fn ends_soon(ends_s: f64, _: &Labels, sight: &Sight<'_>) -> bool {
    let least = sight.settings.alerts.certificate_left.as_secs_f64();
    least > 0.0 && ends_s - sight.now_s() < least
}

/// At the whole of a limit, of a day or longer.
fn is_used_up(used: f64, labels: &Labels, _: &Sight<'_>) -> bool {
    used >= 1.0 && !labels.iter().any(|(label, value)| label == "limit" && value == "per_minute")
}

const fn rule(
    name: &'static str,
    severity: Severity,
    wait: Duration,
    condition: Condition,
    by: &'static [&'static str],
    summary: &'static str,
    runbook: &'static str,
) -> Rule {
    Rule { name, severity, wait, keep: NO, summary, runbook, condition, by }
}

use Condition::{Fills, Growth, Level, Slow};
use Severity::{Notice, Page, Ticket};

/// Every alert.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule("OfferdNoLeads", Page, minutes(5), Level(LEADS_MISSING, |value, _, sight| value > sight.settings.alerts.leads_missing as f64), &[],
        "no leads arrive, and {value} would be usual since the last one", "no-leads-arrive"),
    rule("OfferdOffersFall", Ticket, NO, Level(OFFERS_FALL, is_any), &[],
        "more leads than usual end without an offer", "fewer-leads-have-offers"),
    rule("OfferdBackupOld", Ticket, NO, Level(BACKUP_AT, is_old_backup), &[],
        "no backup was taken since {value}", "the-last-backup-is-old"),
    rule("OfferdCertificateEnds", Ticket, NO, Level(CERTIFICATE_ENDS, ends_soon), &["listener"],
        "the certificate of the {listener} listener ends at {value}", "a-certificate-runs-out"),
    rule("OfferdRefusesLeads", Page, minutes(2), Growth(SUBMITS_REFUSED, ("reason", "!merge_too_late"), minutes(5), 0.1), &["reason"],
        "leads are refused: {reason}", "no-new-leads-are-taken-in"),
    rule("OfferdFails", Page, minutes(2), Growth(HTTP_REQUESTS, ("status", "500"), minutes(5), 0.0), &["listener", "route"],
        "{route} answers with 500", "requests-fail-on-our-side"),
    rule("OfferdTurnsRequestsAway", Ticket, minutes(5), Growth(HTTP_REQUESTS_REFUSED, ("", ""), minutes(5), 1.0), &["reason"],
        "requests are turned away: {reason}", "requests-are-turned-away"),
    rule("OfferdConnectionsAtLimit", Ticket, minutes(5), Growth(HTTP_CONNECTIONS_REFUSED, ("", ""), minutes(5), 0.0), &["listener", "reason"],
        "the {listener} listener has no room for connections: {reason}", "requests-are-turned-away"),
    Rule { keep: minutes(5), ..rule("OfferdPartnerUnwell", Ticket, NO, Level(PARTNER_HEALTH, is_any), &["partner", "product_type"],
        "{partner} ({product_type}) is worse than usual: {value}", "a-partner-is-unwell") },
    rule("OfferdBreakerOpen", Ticket, minutes(5), Level(WIRE_BREAKER_STATE, |state, _, _| state > 1.5), &["pool", "endpoint"],
        "calls to {pool} ({endpoint}) are kept back", "a-breaker-is-open"),
    rule("OfferdPartnerLimitUsedUp", Notice, minutes(1), Level(LIMIT_USED, is_used_up), &["partner", "product_type", "limit"],
        "{partner} ({product_type}) has used up {limit} for today", "a-limit-is-used-up"),
    rule("OfferdPostbacksLag", Ticket, minutes(5), Level(POSTBACK_LAG, |seconds, _, _| seconds > 900.0), &["subscription"],
        "events for {subscription} are not acknowledged", "postbacks-do-not-arrive"),
    rule("OfferdPostbacksGivenUp", Ticket, minutes(1), Level(POSTBACKS_DEAD, is_any), &["subscription"],
        "events for {subscription} were given up", "postbacks-were-given-up"),
    rule("OfferdStoreSlow", Ticket, minutes(10), Slow(STORE_COMMIT_SECONDS, minutes(5), 0.3), &[],
        "one commit in a hundred takes longer than 300 ms", "the-store-is-slow"),
    rule("OfferdDiskFills", Ticket, minutes(30), Fills(STORE_FREE_BYTES, minutes(6 * 60), minutes(24 * 60)), &[],
        "the disk reaches store.reserve_bytes within a day", "the-disk-fills-up"),
    rule("OfferdDiskHangs", Page, NO, Condition::Either(&Growth(STORE_STALLS, ("", ""), minutes(10), 0.0), &Level(STORE_STALLED, is_any)), &[],
        "the disk does not answer, or did not for longer than store.stall_after", "the-disk-hangs"),
    rule("OfferdStoreDamaged", Page, NO, Level(STORE_DAMAGE, is_any), &[],
        "places of the store's files are not as they were written: {value}", "records-cannot-be-read"),
    rule("OfferdRecordsBroken", Page, NO, Growth(STORE_BROKEN_RECORDS, ("", ""), minutes(60), 0.0), &["tree"],
        "records of {tree} are not as they were written", "records-cannot-be-read"),
    rule("OfferdClockWrong", Page, NO, Level(STORE_CLOCK_OFFSET, |seconds, _, _| seconds.abs() > 600.0), &[],
        "the clock of this machine is not the one that leads arrive by", "the-clock-is-wrong"),
    rule("OfferdClockStepped", Ticket, NO, Growth(STORE_CLOCK_STEPS, ("to", "!followed"), minutes(15), 0.0), &["to"],
        "the clock of this machine was {to} of what has passed by more than store.clock_jump", "the-clock-is-wrong"),
    rule("OfferdReloadRefused", Ticket, NO, Growth(RELOADS, ("result", "!ok"), minutes(15), 0.0), &["result"],
        "a reload was {result} within 15 minutes; unless one went well since, the files of before are in force", "a-reload-was-refused"),
    rule("OfferdSeatsCut", Notice, minutes(15), Growth(SEATS_CUT, ("", ""), minutes(15), 0.0), &[],
        "matching.partners_per_lead leaves partners out", "leads-are-not-asked-everywhere"),
];

impl Rule {
    /// That of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.name == name)
    }

    /// What has happened, in words.
    pub(super) fn told(&self, labels: &[(String, String)], value: f64) -> String {
        let written = match self.condition {
            Level(PARTNER_HEALTH, _) => Health::unwell(value).unwrap_or_default().words().to_owned(),
            Level(BACKUP_AT | CERTIFICATE_ENDS, _) => figures::minute((value * 1000.0) as i64),
            _ => format!("{}", (value * 100.0).round() / 100.0),
        };
        let filled = self.summary.replace("{value}", &written);
        labels.iter().fold(filled, |text, (label, value)| text.replace(&format!("{{{label}}}"), value))
    }
}
