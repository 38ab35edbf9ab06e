//! All alert rules; `config/prometheus/alerts.yml` is generated from them, plus OfferdDown.

use offerd_base::worded;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::condition::{AlertCondition, EvaluationInput, Labels};
use offerd_base::config::AlertSettings;
use offerd_base::partner_health::Health;
use offerd_base::telemetry::metrics::{
    BACKUP_AT, CERTIFICATE_ENDS, HTTP_CONNECTIONS_REFUSED, HTTP_REQUESTS, HTTP_REQUESTS_REFUSED,
    LEADS_MISSING, LIMIT_USED, LOG_LINES_LOST, MASTER_KEY_DIFFERS, NOT_READY, OFFERS_FALL, PARTNER_HEALTH,
    POSTBACK_LAG, POSTBACKS_DEAD, RELOAD_REFUSED, SEATS_CUT, STORE_BROKEN_RECORDS, STORE_CLOCK_OFFSET,
    STORE_CLOCK_STEPS, STORE_COMMIT_SECONDS, STORE_DAMAGE, STORE_FREE_BYTES, STORE_STALLED, STORE_STALLS,
    SUBMITS_REFUSED, WIRE_BREAKER_STATE, WIRE_LOOKUPS,
};
use offerd_insight::sheet::figures;

worded! {
    /// The urgency of an alert.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Severity;

    /// Its label value.
    fn word;

    /// At once, at any hour.
    Page "page";
    /// On the next working day.
    Ticket "ticket";
    /// Good to know.
    Notice "notice";
}

/// An alert rule.
#[derive(Debug)]
pub struct AlertRule {
    /// Its name.
    pub name: &'static str,
    /// Its urgency.
    pub severity: Severity,
    /// How long its condition must hold before it fires.
    pub wait: Duration,
    /// How long it keeps firing after its condition has stopped holding.
    pub keep: Duration,
    /// What happened; the labels in braces and `{value}` are filled in.
    pub summary: &'static str,
    /// The section of the handbook's metrics chapter about it.
    pub runbook: &'static str,
    pub(super) condition: AlertCondition,
    pub(super) by: &'static [&'static str],
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

const NO: Duration = Duration::ZERO;

/// Longer than one restart of a database; with `alerts.every` still less than half a minute.
const A_MOMENT: Duration = Duration::from_secs(5);

fn is_any(value: f64, _: &Labels, _: &EvaluationInput<'_>) -> bool {
    value > 0.0
}

fn is_old_backup(taken_s: f64, _: &Labels, sight: &EvaluationInput<'_>) -> bool {
    let most = sight.settings.alerts.backup_age.as_secs_f64();
    most > 0.0 && sight.now_s() - taken_s > most
}

fn ends_soon(ends_s: f64, _: &Labels, sight: &EvaluationInput<'_>) -> bool {
    let least = sight.settings.alerts.certificate_left.as_secs_f64();
    least > 0.0 && ends_s - sight.now_s() < least
}

/// A limit of a day or longer is fully used.
fn is_used_up(used: f64, labels: &Labels, _: &EvaluationInput<'_>) -> bool {
    used >= 1.0 && !labels.iter().any(|(label, value)| label == "limit" && value == "per_minute")
}

const fn rule(
    name: &'static str,
    severity: Severity,
    wait: Duration,
    condition: AlertCondition,
    by: &'static [&'static str],
    summary: &'static str,
    runbook: &'static str,
) -> AlertRule {
    AlertRule { name, severity, wait, keep: NO, summary, runbook, condition, by }
}

use AlertCondition::{Fills, Growth, Level, Slow};
use Severity::{Notice, Page, Ticket};

/// Every alert.
#[rustfmt::skip]
pub const RULES: &[AlertRule] = &[
    rule("OfferdNotReady", Page, A_MOMENT, Level(NOT_READY, "max by (instance, cause) ($) > 0", is_any), &["cause"],
        "new leads are not accepted: {cause}", "no-new-leads-are-taken-in"),
    rule("OfferdNoLeads", Page, minutes(5), Level(LEADS_MISSING, "max by (instance) ($) > 20", |value, _, sight| value > sight.settings.alerts.leads_missing as f64), &[],
        "no leads arrive; {value} would be usual since the last one", "no-leads-arrive"),
    rule("OfferdOffersFall", Ticket, NO, Level(OFFERS_FALL, "max by (instance) ($) > 0", is_any), &[],
        "more leads than usual end without an offer", "fewer-leads-have-offers"),
    rule("OfferdBackupOld", Ticket, NO, Level(BACKUP_AT, "max by (instance) ($) < time() - 36 * 3600", is_old_backup), &[],
        "no backup was taken since {value}", "the-last-backup-is-old"),
    rule("OfferdCertificateEnds", Ticket, NO, Level(CERTIFICATE_ENDS, "min by (instance, listener) ($) < time() + 21 * 24 * 3600", ends_soon), &["listener"],
        "the certificate of the {listener} listener ends at {value}", "a-certificate-runs-out"),
    rule("OfferdRefusesLeads", Page, minutes(2), Growth(SUBMITS_REFUSED, ("reason", "!merge_too_late"), minutes(5), 0.1), &["reason"],
        "leads are refused: {reason}", "no-new-leads-are-taken-in"),
    rule("OfferdFails", Page, minutes(2), Growth(HTTP_REQUESTS, ("status", "500"), minutes(5), 0.0), &["listener", "route"],
        "{route} answers with 500", "requests-fail-on-our-side"),
    rule("OfferdTurnsRequestsAway", Ticket, minutes(5), Growth(HTTP_REQUESTS_REFUSED, ("", ""), minutes(5), 1.0), &["reason"],
        "requests are turned away: {reason}", "requests-are-turned-away"),
    rule("OfferdConnectionsAtLimit", Ticket, minutes(5), Growth(HTTP_CONNECTIONS_REFUSED, ("", ""), minutes(5), 0.0), &["listener", "reason"],
        "the {listener} listener has no room for connections: {reason}", "requests-are-turned-away"),
    AlertRule { keep: minutes(5), ..rule("OfferdPartnerUnwell", Ticket, NO, Level(PARTNER_HEALTH, "max by (instance, partner, product_type) ($) > 0", is_any), &["partner", "product_type"],
        "{partner} ({product_type}) is worse than usual: {value}", "a-partner-is-unwell") },
    rule("OfferdBreakerOpen", Ticket, minutes(5), Level(WIRE_BREAKER_STATE, "max by (instance, pool, endpoint) ($) == 2", |state, _, _| state > 1.5), &["pool", "endpoint"],
        "the breaker of {pool} ({endpoint}) is open: it blocks calls", "a-breaker-is-open"),
    rule("OfferdLookupsFail", Ticket, minutes(5), Growth(WIRE_LOOKUPS, ("result", "!found"), minutes(5), 0.0), &[],
        "look-ups of host names fail or hang; calls use old addresses, up to wire.lookup_stale, or fail", "name-servers-fail-or-hang"),
    rule("OfferdPartnerLimitUsedUp", Notice, minutes(1), Level(LIMIT_USED, r#"max by (instance, partner, product_type, limit) (${limit!="per_minute"}) >= 1"#, is_used_up), &["partner", "product_type", "limit"],
        "{partner} ({product_type}) has used up its {limit} limit", "a-limit-is-used-up"),
    rule("OfferdPostbacksLag", Ticket, minutes(5), Level(POSTBACK_LAG, "max by (instance, subscription) ($) > 900", |seconds, _, _| seconds > 900.0), &["subscription"],
        "events for {subscription} are not acknowledged", "postbacks-do-not-arrive"),
    rule("OfferdPostbacksGivenUp", Ticket, minutes(1), Level(POSTBACKS_DEAD, "max by (instance, subscription) ($) > 0", is_any), &["subscription"],
        "events for {subscription} were given up", "postbacks-were-given-up"),
    rule("OfferdStoreSlow", Ticket, minutes(10), Slow(STORE_COMMIT_SECONDS, minutes(5), 0.3), &[],
        "one commit in a hundred takes longer than 300 ms", "the-store-is-slow"),
    rule("OfferdDiskFills", Ticket, minutes(5), Fills(STORE_FREE_BYTES, minutes(6 * 60), minutes(24 * 60)), &[],
        "at this rate the disk reaches store.reserve_bytes in {value}", "the-disk-fills-up"),
    rule("OfferdDiskHangs", Page, NO, AlertCondition::Either(&Growth(STORE_STALLS, ("", ""), minutes(10), 0.0), &Level(STORE_STALLED, "max by (instance) ($) > 0", is_any)), &[],
        "the disk does not answer, or did not for longer than store.stall_after", "the-disk-hangs"),
    rule("OfferdStoreDamaged", Page, NO, Level(STORE_DAMAGE, "max by (instance) ($) > 0", is_any), &[],
        "damaged places of the store's files: {value}", "records-cannot-be-read"),
    rule("OfferdRecordsBroken", Page, NO, Growth(STORE_BROKEN_RECORDS, ("", ""), minutes(60), 0.0), &["tree"],
        "damaged records of {tree}", "records-cannot-be-read"),
    rule("OfferdClockWrong", Page, NO, Level(STORE_CLOCK_OFFSET, "max by (instance) (abs($)) > 600", |seconds, _, _| seconds.abs() > 600.0), &[],
        "the system clock is wrong; offerd uses its own clock for arrivals", "the-clock-is-wrong"),
    rule("OfferdClockStepped", Ticket, NO, Growth(STORE_CLOCK_STEPS, ("to", "!followed"), minutes(15), 0.0), &["to"],
        "the system clock was {to} by more than store.clock_jump", "the-clock-is-wrong"),
    rule("OfferdReloadRefused", Ticket, NO, Level(RELOAD_REFUSED, "max by (instance) ($) > 0", is_any), &[],
        "the last reload was refused or failed; still running the previous configuration", "a-reload-was-refused"),
    rule("OfferdMasterKeyDiffers", Page, NO, Level(MASTER_KEY_DIFFERS, "max by (instance) ($) > 0", is_any), &[],
        "the settings give another master key than the one of the store: the next start fails", "the-next-start-fails"),
    rule("OfferdLogLinesLost", Ticket, NO, Growth(LOG_LINES_LOST, ("", ""), minutes(15), 0.0), &[],
        "log lines are lost: standard error cannot be written", "the-log-has-gaps"),
    rule("OfferdSeatsCut", Notice, minutes(15), Growth(SEATS_CUT, ("", ""), minutes(15), 0.0), &[],
        "matching.partners_per_lead leaves partners out", "leads-are-not-asked-everywhere"),
];

impl AlertRule {
    /// Finds a rule by name.
    pub fn named(name: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.name == name)
    }

    /// How long its condition must hold before it fires, under these settings.
    pub(super) fn wait_in(&self, settings: &AlertSettings) -> Duration {
        settings.waits.get(self.name).copied().unwrap_or(self.wait)
    }

    pub(super) fn told(&self, labels: &[(String, String)], value: f64) -> String {
        let written = match self.condition {
            Level(PARTNER_HEALTH, ..) => Health::unwell(value).unwrap_or_default().words().to_owned(),
            Level(BACKUP_AT | CERTIFICATE_ENDS, ..) => figures::minute((value * 1000.0) as i64),
            Fills(..) => {
                humantime::format_duration(Duration::from_secs(60 * (value / 60.0) as u64)).to_string()
            }
            _ => format!("{}", (value * 100.0).round() / 100.0),
        };
        let filled = self.summary.replace("{value}", &written);
        labels.iter().fold(filled, |text, (label, value)| text.replace(&format!("{{{label}}}"), value))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::path::Path;

    use super::*;

    const FILE: &str = "config/prometheus/alerts.yml";

    /// The head of the file, with the one alert that the daemon cannot raise itself.
    const HEAD: &str = r#"# Alert rules for offerd, made of `src/outbound/alerts/rule.rs`. Each names the part of the handbook to read when it fires, a path of the
# console. Thresholds are those of a service of about a hundred leads a second; look at them with your own figures beside.
# The daemon looks for the same by itself, OfferdDown aside, and reports to the receivers of `[alerts]` in its settings: use these
# rules or those receivers, or each alert comes twice.
groups:
  - name: offerd
    rules:
      - alert: OfferdDown
        expr: up{job="offerd"} == 0
        for: 1m
        labels: { severity: page }
        annotations:
          summary: "{{ $labels.instance }}: offerd does not answer"
          runbook: "/console/handbook/metrics#the-daemon-does-not-answer"
"#;

    /// Without an old address no look-up is stale.
    #[test]
    fn look_ups_that_fail_from_the_start_are_told() {
        let rule = AlertRule::named("OfferdLookupsFail").unwrap();
        let text = shipped(rule);
        assert!(text.contains(r#"offerd_wire_lookups_total{result!="found"}"#), "{text}");
    }

    /// `OFFERD_WRITE=1 cargo test --lib alerts::rule` writes it.
    #[test]
    fn the_rules_of_prometheus_are_made_of_ours() {
        let made: String = std::iter::once(HEAD.to_owned()).chain(RULES.iter().map(shipped)).collect();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
        if std::env::var_os("OFFERD_WRITE").is_some() {
            std::fs::write(&file, &made).unwrap();
        }
        let found = std::fs::read_to_string(&file).unwrap();
        assert!(found == made, "{FILE} is not as it is made of the rules; OFFERD_WRITE=1 writes it");
    }

    fn shipped(rule: &AlertRule) -> String {
        let AlertRule { name, severity, wait, keep, runbook, .. } = rule;
        let mut text =
            format!("\n      - alert: {name}\n        expr: {}\n", query(&rule.condition, rule.by));
        for (key, span) in
            [("for", wait), ("keep_firing_for", keep)].into_iter().filter(|(_, span)| **span > NO)
        {
            writeln!(text, "        {key}: {}", in_words(*span)).unwrap();
        }
        let value = match rule.condition {
            Level(PARTNER_HEALTH, ..) => {
                "{{ if eq $value 1.0 }}declining more{{ else if eq $value 2.0 }}slow{{ else if eq $value 3.0 }}failing{{ else }}silent{{ end }}"
            }
            Level(BACKUP_AT | CERTIFICATE_ENDS, ..) => "{{ $value | humanizeTimestamp }}",
            Fills(..) => "{{ $value | humanizeDuration }}",
            _ => "{{ $value }}",
        };
        let summary = rule.by.iter().fold(rule.summary.replace("{value}", value), |text, label| {
            text.replace(&format!("{{{label}}}"), &format!("{{{{ $labels.{label} }}}}"))
        });
        write!(
            text,
            "        labels: {{ severity: {} }}\n        annotations:\n          summary: \"{{{{ $labels.instance }}}}: {summary}\"\n          \
             runbook: \"/console/handbook/metrics#{runbook}\"\n",
            severity.word()
        )
        .unwrap();
        text
    }

    fn query(condition: &AlertCondition, by: &[&str]) -> String {
        let by = [&["instance"], by].concat().join(", ");
        match condition {
            Level(metric, query, _) => query.replace('$', metric),
            Growth(metric, (label, value), span, most) => {
                let matcher = match value.strip_prefix('!') {
                    _ if label.is_empty() => String::new(),
                    Some(other) => format!("{{{label}!=\"{other}\"}}"),
                    None => format!("{{{label}=\"{value}\"}}"),
                };
                format!("sum by ({by}) (rate({metric}{matcher}[{}])) > {most}", in_words(*span))
            }
            Slow(metric, span, most) => {
                let rate = format!("rate({metric}_bucket[{}])", in_words(*span));
                format!("histogram_quantile(0.99, sum by (le, {by}) ({rate})) > {most}")
            }
            Fills(metric, back, ahead) => {
                let reserve = 256 << 20;
                let change = format!("deriv({metric}[{}])", in_words(*back));
                format!("({metric} - {reserve}) / -{change} < {} and {change} < 0", ahead.as_secs())
            }
            AlertCondition::Either(one, other) => format!("{} or {}", query(one, &[]), query(other, &[])),
        }
    }

    fn in_words(span: Duration) -> String {
        match span.as_secs() {
            seconds if seconds % 60 > 0 => format!("{seconds}s"),
            seconds => format!("{}m", seconds / 60),
        }
    }

    #[test]
    fn what_fires_names_its_cause_and_the_time_that_is_left() {
        let told = |name, labels: &[(&str, &str)], value| {
            let labels = labels.iter().map(|(label, of)| ((*label).to_owned(), (*of).to_owned()));
            AlertRule::named(name).unwrap().told(&labels.collect::<Vec<_>>(), value)
        };
        let cases = [
            (told("OfferdNotReady", &[("cause", "disk_full")], 1.0), "new leads are not accepted: disk_full"),
            (
                told("OfferdDiskFills", &[], 5430.0),
                "at this rate the disk reaches store.reserve_bytes in 1h 30m",
            ),
            (told("OfferdDiskFills", &[], -5.0), "at this rate the disk reaches store.reserve_bytes in 0s"),
        ];
        cases.iter().for_each(|(told, wanted)| assert_eq!(told, wanted));
    }
}
