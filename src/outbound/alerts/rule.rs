//! All alert rules; `config/prometheus/alerts.yml` is generated from them, plus OfferdDown.

use offerd_base::worded;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::condition::{AlertBound, AlertCondition};
use offerd_base::config::AlertSettings;
use offerd_base::partner_health::Health;
use offerd_base::telemetry::metrics::{
    BACKUP_AT, CERTIFICATE_ENDS, HTTP_CONNECTIONS_REFUSED, HTTP_REQUESTS, HTTP_REQUESTS_REFUSED,
    LEADER_CHANGES, LEADS_MISSING, LIMIT_USED, LOG_LINES_LOST, MASTER_KEY_DIFFERS, NODE_LOST, NOT_READY,
    OFFERS_FALL, PARTNER_HEALTH, POSTBACK_LAG, POSTBACKS_DEAD, RELOAD_REFUSED, SEATS_CUT,
    STORE_BROKEN_RECORDS, STORE_CLOCK_OFFSET, STORE_CLOCK_STEPS, STORE_COMMIT_SECONDS, STORE_DAMAGE,
    STORE_FREE_BYTES, STORE_STALLED, STORE_STALLS, SUBMITS_REFUSED, WIRE_BREAKER_STATE, WIRE_LOOKUPS,
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
    pub keep_firing: Duration,
    /// What happened; the labels in braces and `{value}` are filled in.
    pub summary: &'static str,
    /// The section of the handbook's metrics chapter about it.
    pub runbook: &'static str,
    pub(super) condition: AlertCondition,
    pub(super) by: &'static [&'static str],
}

/// The rule about partners that answer worse than before.
pub(super) const PARTNER_UNWELL: &str = "OfferdPartnerUnwell";

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

const NO: Duration = Duration::ZERO;

/// Longer than one restart of a database; with `alerts.every` still less than half a minute.
const A_MOMENT: Duration = Duration::from_secs(5);

const fn rule(
    name: &'static str,
    severity: Severity,
    wait: Duration,
    condition: AlertCondition,
    by: &'static [&'static str],
    summary: &'static str,
    runbook: &'static str,
) -> AlertRule {
    AlertRule { name, severity, wait, keep_firing: NO, summary, runbook, condition, by }
}

use AlertBound::{Above, AboveSetting, Ahead, AtLeast, FarFromZero, Is, Past};
use AlertCondition::{Fills, Growth, Level, Slow};
use Severity::{Notice, Page, Ticket};

/// Every alert.
#[rustfmt::skip]
pub const RULES: &[AlertRule] = &[
    rule("OfferdNotReady", Page, A_MOMENT, Level(NOT_READY, Above(0.0)), &["cause"],
        "not ready: {cause}", "no-new-leads-are-taken-in"),
    rule("OfferdNoLeads", Page, minutes(5), Level(LEADS_MISSING, AboveSetting(|settings| settings.alerts.leads_missing as f64)), &[],
        "no leads arrive; {value} would be usual since the last one", "no-leads-arrive"),
    rule("OfferdOffersFall", Ticket, NO, Level(OFFERS_FALL, Above(0.0)), &[],
        "more leads than usual end without an offer", "fewer-leads-have-offers"),
    rule("OfferdBackupOld", Ticket, NO, Level(BACKUP_AT, Past(|settings| settings.alerts.backup_age)), &[],
        "no backup was taken since {value}", "the-last-backup-is-old"),
    rule("OfferdCertificateEnds", Ticket, NO, Level(CERTIFICATE_ENDS, Ahead(|settings| settings.alerts.certificate_left)), &["listener"],
        "the certificate of the {listener} listener ends at {value}", "a-certificate-runs-out"),
    rule("OfferdRefusesLeads", Page, minutes(2), Growth(SUBMITS_REFUSED, ("reason", "!merge_too_late"), minutes(5), 0.1), &["reason"],
        "leads are refused: {reason}", "no-new-leads-are-taken-in"),
    rule("OfferdFails", Page, minutes(2), Growth(HTTP_REQUESTS, ("status", "500"), minutes(5), 0.0), &["listener", "route"],
        "{route} ({listener}) answers with 500", "requests-fail-on-our-side"),
    rule("OfferdTurnsRequestsAway", Ticket, minutes(5), Growth(HTTP_REQUESTS_REFUSED, ("", ""), minutes(5), 1.0), &["reason"],
        "requests are turned away: {reason}", "requests-are-turned-away"),
    rule("OfferdConnectionsAtLimit", Ticket, minutes(5), Growth(HTTP_CONNECTIONS_REFUSED, ("", ""), minutes(5), 0.0), &["listener", "reason"],
        "the {listener} listener has no room for connections: {reason}", "requests-are-turned-away"),
    AlertRule { keep_firing: minutes(5), ..rule(PARTNER_UNWELL, Ticket, NO, Level(PARTNER_HEALTH, Above(0.0)), &["partner", "product_type"],
        "{partner} ({product_type}) is worse than usual: {value}", "a-partner-is-unwell") },
    rule("OfferdBreakerOpen", Ticket, minutes(5), Level(WIRE_BREAKER_STATE, Is(2.0)), &["partner", "pool", "endpoint"],
        "the breaker of {pool} ({endpoint}) is open: it blocks calls", "a-breaker-is-open"),
    rule("OfferdLookupsFail", Ticket, minutes(5), Growth(WIRE_LOOKUPS, ("result", "!found"), minutes(5), 0.0), &[],
        "look-ups of host names fail or hang; calls use old addresses, up to wire.lookup_stale, or fail", "name-servers-fail-or-hang"),
    rule("OfferdPartnerLimitUsedUp", Notice, minutes(1), Level(LIMIT_USED, AtLeast(1.0, ("limit", "!per_minute"))), &["partner", "product_type", "limit"],
        "{partner} ({product_type}) has used up its {limit} limit", "a-limit-is-used-up"),
    rule("OfferdPostbacksLag", Ticket, minutes(5), Level(POSTBACK_LAG, Above(900.0)), &["subscription"],
        "the oldest event for {subscription} has not been acknowledged for {value} s", "postbacks-do-not-arrive"),
    rule("OfferdPostbacksGivenUp", Ticket, minutes(1), Level(POSTBACKS_DEAD, Above(0.0)), &["subscription"],
        "events for {subscription} were given up", "postbacks-were-given-up"),
    rule("OfferdNodeLost", Ticket, A_MOMENT, Level(NODE_LOST, Above(0.0)), &["node"],
        "node {node} hangs, was killed or has lost the database; the other nodes continue its work", "a-node-is-lost"),
    rule("OfferdNewLeader", Notice, NO, Growth(LEADER_CHANGES, ("", ""), minutes(15), 0.0), &["node"],
        "node {node} leads now; the previous leader has ended", "another-node-leads"),
    rule("OfferdStoreSlow", Ticket, minutes(10), Slow(STORE_COMMIT_SECONDS, minutes(5), 0.3), &[],
        "one commit in a hundred takes longer than 300 ms", "the-store-is-slow"),
    rule("OfferdDiskFills", Ticket, minutes(5), Fills(STORE_FREE_BYTES, minutes(6 * 60), minutes(24 * 60)), &[],
        "at this rate the disk reaches store.reserve_bytes in {value}", "the-disk-fills-up"),
    rule("OfferdDiskHangs", Page, NO, AlertCondition::Either(&Growth(STORE_STALLS, ("", ""), minutes(10), 0.0), &Level(STORE_STALLED, Above(0.0))), &[],
        "the disk does not answer, or did not for longer than store.stall_after", "the-disk-hangs"),
    rule("OfferdStoreDamaged", Page, NO, Level(STORE_DAMAGE, Above(0.0)), &[],
        "damaged places of the store's files: {value}", "records-cannot-be-read"),
    rule("OfferdRecordsBroken", Page, NO, Growth(STORE_BROKEN_RECORDS, ("", ""), minutes(60), 0.0), &["tree"],
        "broken records of {tree}", "records-cannot-be-read"),
    rule("OfferdClockWrong", Page, NO, Level(STORE_CLOCK_OFFSET, FarFromZero(600.0)), &[],
        "the system clock is wrong; offerd uses its own clock for arrivals", "the-clock-is-wrong"),
    rule("OfferdClockStepped", Ticket, NO, Growth(STORE_CLOCK_STEPS, ("to", "!followed"), minutes(15), 0.0), &["to"],
        "the system clock was {to} by more than store.clock_jump", "the-clock-is-wrong"),
    rule("OfferdReloadRefused", Ticket, NO, Level(RELOAD_REFUSED, Above(0.0)), &[],
        "the last reload was refused or failed; still running the previous configuration", "a-reload-was-refused"),
    rule("OfferdMasterKeyDiffers", Page, NO, Level(MASTER_KEY_DIFFERS, Above(0.0)), &[],
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
    use std::sync::LazyLock;

    use super::*;
    use offerd_base::config::Settings;
    use offerd_base::telemetry::metrics::METRICS;

    static DEFAULTS: LazyLock<Settings> = LazyLock::new(|| Settings::from_layers(None, []).unwrap());

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

    #[test]
    fn the_rules_of_prometheus_are_made_of_ours() {
        let made: String = std::iter::once(HEAD.to_owned()).chain(RULES.iter().map(shipped)).collect();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
        if std::env::var_os("OFFERD_WRITE").is_some() {
            std::fs::write(&file, &made).unwrap();
        }
        let found = std::fs::read_to_string(&file).unwrap();
        let command = "OFFERD_WRITE=1 cargo test -p offerd-outbound --lib alerts::rule";
        assert!(found == made, "{FILE} is not as it is made of the rules; `{command}` writes it");
    }

    /// What is known of the subject of an alert is in its labels.
    #[test]
    fn each_rule_keeps_the_labels_of_its_metric_that_name_a_node_a_partner_or_a_cause() {
        const SUBJECTS: [&str; 11] = [
            "node",
            "partner",
            "product_type",
            "pool",
            "endpoint",
            "limit",
            "subscription",
            "listener",
            "cause",
            "reason",
            "tree",
        ];
        for rule in RULES {
            let (Level(name, ..) | Growth(name, ..) | Slow(name, ..) | Fills(name, ..)) = rule.condition
            else {
                continue;
            };
            let metric = METRICS.iter().find(|metric| metric.name == name).unwrap();
            for label in metric.labels.iter().filter(|label| SUBJECTS.contains(label)) {
                assert!(rule.by.contains(label), "{} has no label {label}", rule.name);
                assert!(rule.summary.contains(&format!("{{{label}}}")), "{} does not say {label}", rule.name);
            }
            assert_eq!(rule.by.contains(&"pool"), metric.labels.contains(&"pool"), "{}", rule.name);
            assert!(!rule.by.contains(&"pool") || rule.by.contains(&"partner"), "{}", rule.name);
        }
    }

    fn shipped(rule: &AlertRule) -> String {
        let AlertRule { name, severity, wait, keep_firing, runbook, .. } = rule;
        let mut text =
            format!("\n      - alert: {name}\n        expr: {}\n", query(&rule.condition, rule.by));
        for (key, span) in
            [("for", wait), ("keep_firing_for", keep_firing)].into_iter().filter(|(_, span)| **span > NO)
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
            Level(metric, bound) => level(metric, bound, &by),
            Growth(metric, of, span, most) => {
                format!("sum by ({by}) (rate({metric}{}[{}])) > {most}", matcher(*of), in_words(*span))
            }
            Slow(metric, span, most) => {
                let rate = format!("rate({metric}_bucket[{}])", in_words(*span));
                format!("histogram_quantile(0.99, sum by (le, {by}) ({rate})) > {most}")
            }
            Fills(metric, back, ahead) => {
                let reserve = DEFAULTS.store.reserve_bytes;
                let change = format!("deriv({metric}[{}])", in_words(*back));
                format!("({metric} - {reserve}) / -{change} < {} and {change} < 0", ahead.as_secs())
            }
            AlertCondition::Either(one, other) => format!("{} or {}", query(one, &[]), query(other, &[])),
        }
    }

    fn level(metric: &str, bound: &AlertBound, by: &str) -> String {
        let of_pool = format!(r#"label_replace({metric}, "partner", "$1", "pool", "([^/]+)")"#);
        let metric = if by.contains("pool") { &*of_pool } else { metric };
        match bound {
            Above(most) => format!("max by ({by}) ({metric}) > {most}"),
            FarFromZero(most) => format!("max by ({by}) (abs({metric})) > {most}"),
            Is(state) => format!("max by ({by}) ({metric}) == {state}"),
            AtLeast(least, of) => format!("max by ({by}) ({metric}{}) >= {least}", matcher(*of)),
            AboveSetting(most) => format!("max by ({by}) ({metric}) > {}", most(&DEFAULTS)),
            Past(most) => format!("max by ({by}) ({metric}) < time() - {}", in_seconds(most(&DEFAULTS))),
            Ahead(least) => format!("min by ({by}) ({metric}) < time() + {}", in_seconds(least(&DEFAULTS))),
        }
    }

    fn matcher((label, value): (&str, &str)) -> String {
        match value.strip_prefix('!') {
            _ if label.is_empty() => String::new(),
            Some(other) => format!("{{{label}!=\"{other}\"}}"),
            None => format!("{{{label}=\"{value}\"}}"),
        }
    }

    /// Whole days or hours, as a product.
    fn in_seconds(span: Duration) -> String {
        match span.as_secs() / 3600 {
            hours if hours % 24 == 0 => format!("{} * 24 * 3600", hours / 24),
            hours => format!("{hours} * 3600"),
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
            (told("OfferdNotReady", &[("cause", "disk_full")], 1.0), "not ready: disk_full"),
            (
                told("OfferdDiskFills", &[], 5430.0),
                "at this rate the disk reaches store.reserve_bytes in 1h 30m",
            ),
            (told("OfferdDiskFills", &[], -5.0), "at this rate the disk reaches store.reserve_bytes in 0s"),
        ];
        cases.iter().for_each(|(told, wanted)| assert_eq!(told, wanted));
    }
}
