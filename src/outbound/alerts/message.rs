//! The messages to receivers, in the format of Alertmanager's webhooks (version 4) and as mail.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::rule::{AlertRule, Severity};
use super::state::{Alert, AlertChange};
use offerd_base::config::AlertSettings;
use offerd_insight::sheet::figures;

/// The end of an alert that is still firing, as Alertmanager writes it.
const NEVER: &str = "0001-01-01T00:00:00Z";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AlertMessage {
    pub change: AlertChange,
    pub alert: Alert,
    /// When the message was created, in Unix milliseconds.
    pub made_ms: i64,
    pub attempts: u32,
    /// When it is sent next.
    pub next_ms: i64,
}

impl AlertMessage {
    pub(super) fn of(change: AlertChange, alert: &Alert, now_ms: i64) -> Self {
        Self { change, alert: alert.clone(), made_ms: now_ms, attempts: 0, next_ms: now_ms }
    }
}

#[derive(Debug, Clone)]
pub(super) struct MessageBatch {
    pub receiver: String,
    /// The messages, oldest first; never empty.
    pub messages: Vec<AlertMessage>,
    /// The console's URL for people.
    pub console_url: Option<String>,
    /// The node that judges, where nodes share a store. No label: the next leader ends the same alerts.
    pub node: Option<String>,
}

impl MessageBatch {
    pub(super) fn to(receiver: &str, messages: Vec<AlertMessage>, settings: &AlertSettings) -> Self {
        let (receiver, console_url) = (receiver.to_owned(), settings.console_url.clone());
        Self { receiver, messages, console_url, node: None }
    }

    /// The id of the delivery, the same on each retry.
    pub(super) fn id(&self) -> String {
        let mut digest = Sha256::new();
        for AlertMessage { change, alert, .. } in &self.messages {
            digest.update(format!("{}{change:?}{:?};", alert.fingerprint(), alert.fired_ms));
        }
        format!("alert_{}", const_hex::encode(&digest.finalize()[..16]))
    }

    pub(super) fn json(&self) -> Vec<u8> {
        let labels: Vec<_> = self.messages.iter().map(|message| labels(&message.alert)).collect();
        let mut common = labels.first().cloned().unwrap_or_default();
        common.retain(|label, value| labels.iter().all(|labels| labels.get(label) == Some(value)));
        let told = |(AlertMessage { alert, .. }, labels): (&AlertMessage, &BTreeMap<&str, &str>)| {
            let mut annotations = json!({ "summary": alert.summary });
            if let Some(runbook) = self.runbook(alert) {
                annotations["runbook"] = json!(runbook);
            }
            if let Some(node) = &self.node {
                annotations["node"] = json!(node);
            }
            json!({
                "status": self.status(),
                "labels": labels,
                "annotations": annotations,
                "startsAt": figures::instant(alert.since_ms),
                "endsAt": alert.ended_ms.map_or_else(|| NEVER.to_owned(), figures::instant),
                "generatorURL": self.page(),
                "fingerprint": alert.fingerprint(),
            })
        };
        let payload = json!({
            "version": "4",
            "groupKey": format!("{{}}:{{receiver=\"{}\"}}", self.receiver),
            "truncatedAlerts": 0,
            "status": self.status(),
            "receiver": self.receiver,
            "groupLabels": {},
            "commonLabels": common,
            "commonAnnotations": {},
            "externalURL": self.console_url.as_deref().unwrap_or_default(),
            "alerts": self.messages.iter().zip(&labels).map(told).collect::<Vec<_>>(),
        });
        payload.to_string().into_bytes()
    }

    pub(super) fn subject(&self) -> String {
        let [first, others @ ..] = self.messages.as_slice() else { return String::new() };
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        format!("[{}] {}: {}{more}", self.status(), first.alert.name, first.alert.summary)
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for AlertMessage { alert, .. } in &self.messages {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} ({})\n{}", alert.name, severity(alert).word(), alert.summary);
            let _ = writeln!(text, "since {}", figures::minute(alert.since_ms));
            if let Some(node) = &self.node {
                let _ = writeln!(text, "node {node}");
            }
            if let Some(ended_ms) = alert.ended_ms {
                let _ = writeln!(text, "ended {}", figures::minute(ended_ms));
            }
            if let Some(runbook) = self.runbook(alert) {
                let _ = writeln!(text, "what to do: {runbook}");
            }
            text.push('\n');
        }
        text + &self.page()
    }

    fn status(&self) -> &'static str {
        match self.messages.first().map(|message| message.change) {
            Some(AlertChange::Ended) => "resolved",
            _ => "firing",
        }
    }

    /// The URL of the alert page, if `console_url` is set.
    fn page(&self) -> String {
        self.console_url.as_ref().map(|url| format!("{url}/console/alerts")).unwrap_or_default()
    }

    /// What to read about an alert; a test has none.
    fn runbook(&self, alert: &Alert) -> Option<String> {
        let part = AlertRule::named(&alert.name)?.runbook;
        Some(match &self.console_url {
            Some(url) => format!("{url}/console/handbook/metrics#{part}"),
            None => format!(
                "\"{}\" in the handbook, offerd(8), or /console/handbook/metrics#{part} of the console",
                part.replace('-', " ")
            ),
        })
    }
}

/// An alert with an unknown rule, from another version, gets the most common severity.
fn severity(alert: &Alert) -> Severity {
    AlertRule::named(&alert.name).map_or(Severity::Ticket, |rule| rule.severity)
}

fn labels(alert: &Alert) -> BTreeMap<&str, &str> {
    let labels = alert.labels.iter().map(|(label, value)| (label.as_str(), value.as_str()));
    labels.chain([("alertname", alert.name.as_str()), ("severity", severity(alert).word())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_base::config::Settings;

    #[test]
    fn a_message_names_the_cause_and_the_node_that_judges() {
        let settings = Settings::from_layers(None, []).unwrap();
        let labels = vec![("cause".to_owned(), "disk_full".to_owned())];
        let alert = Alert::begun("OfferdNotReady", labels, "not ready: disk_full", 0);
        let message = AlertMessage::of(AlertChange::Fired, &alert, 0);
        let mut batch = MessageBatch::to("ops", vec![message], &settings.alerts);
        let read = |batch: &MessageBatch| -> serde_json::Value {
            let payload: serde_json::Value = serde_json::from_slice(&batch.json()).unwrap();
            payload["alerts"][0].clone()
        };
        let alone = read(&batch);
        assert_eq!(alone["labels"]["cause"], "disk_full");
        assert!(alone["annotations"]["node"].is_null() && !batch.text().contains("node "));
        batch.node = Some("north".to_owned());
        let shared = read(&batch);
        assert_eq!((&shared["annotations"]["node"], &shared["labels"]), (&json!("north"), &alone["labels"]));
        assert!(batch.text().contains("\nnode north\n"), "{}", batch.text());
    }

    #[test]
    fn a_test_names_no_part_of_the_handbook() {
        let settings = Settings::from_layers(None, []).unwrap();
        let batch = |name: &str| {
            let alert = Alert::begun(name, Vec::new(), "it is so", 0);
            MessageBatch::to("ops", vec![AlertMessage::of(AlertChange::Fired, &alert, 0)], &settings.alerts)
        };
        let runbook = |batch: &MessageBatch| {
            let payload: serde_json::Value = serde_json::from_slice(&batch.json()).unwrap();
            payload["alerts"][0]["annotations"].get("runbook").cloned()
        };
        let (real, test) = (batch("OfferdNotReady"), batch("OfferdTest"));
        assert!(runbook(&real).is_some() && real.text().contains("what to do: "), "{}", real.text());
        assert!(runbook(&test).is_none() && !test.text().contains("what to do"), "{}", test.text());
    }
}
