//! What the running daemon itself knows to be wrong: readiness, alerts, nodes, and files it has not loaded.

use std::fs;

use super::partners::judged;
use super::{DoctorCheck, Finding};
use crate::cli::prelude::*;
use offerd_base::run_file::RunFile;
use offerd_base::telemetry::metrics::DESCRIPTORS_MAX;
use offerd_engine::matching::limiter::SeatStatus;
use offerd_insight::nodes::{NodeList, NodeStatus};
use offerd_outbound::alerts::{AlertStatus, AlertsStatus, ReceiverStatus, Severity};

const READY: DoctorCheck = DoctorCheck("daemon");
const ALERT: DoctorCheck = DoctorCheck("alert");
const NODES: DoctorCheck = DoctorCheck("nodes");
const LOADED: DoctorCheck = DoctorCheck("loaded files");

/// The answers of a running daemon. A part that it does not answer is left out.
#[derive(Default)]
pub struct DaemonReport {
    /// The lines of `/readyz`, and whether leads are accepted.
    ready: Option<(bool, String)>,
    alerts: Option<AlertsStatus>,
    nodes: Option<NodeList>,
    /// How many files it may have open.
    pub descriptors: Option<f64>,
    /// Its partners, with their health.
    pub statuses: Vec<SeatStatus>,
    /// What to do when it has not loaded the files as they are.
    to_load: String,
}

impl DaemonReport {
    /// Asks the daemon that runs on the store of these settings, if one runs.
    pub async fn of(daemon: Option<&AdminClient>, config: Option<&Path>, store: &Path) -> Self {
        let Some(daemon) = daemon else { return Self::default() };
        let ready = daemon.call(Method::GET, "/readyz").await;
        let files = RunFile::read(store).ok().flatten().and_then(|run| run.settings_files);
        Self {
            ready: ready.ok().map(|answer| (answer.status.is_success(), answer.text())),
            alerts: daemon.ask(Method::GET, "/alerts").await.ok(),
            nodes: daemon.ask(Method::GET, "/nodes").await.ok(),
            descriptors: daemon.call(Method::GET, "/metrics").await.ok().and_then(|answer| {
                answer.text().lines().find_map(|line| line.strip_prefix(DESCRIPTORS_MAX)?.trim().parse().ok())
            }),
            statuses: daemon.ask(Method::GET, "/partners").await.unwrap_or_default(),
            to_load: to_load(config, files.as_deref()),
        }
    }

    /// Why the daemon does not use the system clock.
    pub fn clock(&self) -> Option<&str> {
        self.ready.as_ref()?.1.lines().find(|line| line.starts_with("System clock"))
    }

    /// Everything but partners and the clock, which have checks of their own.
    pub fn findings(&self, settings: &Settings, book: Option<&Book>) -> Vec<Finding> {
        let ready = self.ready.as_ref().map(|(ready, told)| match (ready, told.lines().next()) {
            (true, Some("ready")) => READY.good("it runs and accepts leads"),
            (_, told) => READY.wrong(told.unwrap_or_default(), chapter("no-new-leads-are-taken-in")),
        });
        let alerts = self.alerts.as_ref().map(|alerts| of_alerts(alerts, &self.statuses)).unwrap_or_default();
        let nodes = self.nodes.iter().flat_map(|nodes| &nodes.warnings);
        let nodes = nodes.map(|warning| NODES.wrong(warning, chapter("nodes-differ")));
        ready.into_iter().chain(alerts).chain(nodes).chain(self.unloaded(settings, book)).collect()
    }

    fn unloaded(&self, settings: &Settings, book: Option<&Book>) -> Vec<Finding> {
        let this = self.nodes.iter().flat_map(|list| &list.nodes).find(|node| node.is_this);
        let Some(in_force) = this.and_then(|node| node.told.as_ref()) else { return Vec::new() };
        let mut differing = NodeStatus::of(settings).unlike(in_force);
        if book.is_some_and(|book| NodeStatus::fingerprint_of(book) != in_force.book) {
            differing.insert(0, "partner files".to_owned());
        }
        match differing.as_slice() {
            [] if book.is_none() => {
                vec![
                    LOADED.wrong(
                        "the partner files have faults: the daemon runs with earlier ones",
                        &self.to_load,
                    ),
                ]
            }
            [] => vec![LOADED.good("the daemon has loaded the files as they are")],
            differing => vec![LOADED.wrong(
                format!("they differ from those that the daemon has loaded: {}", differing.join(", ")),
                &self.to_load,
            )],
        }
    }
}

/// What to do when a daemon that reads these settings files has loaded others than this command reads.
fn to_load(config: Option<&Path>, read: Option<&[PathBuf]>) -> String {
    let real = |file: &Path| fs::canonicalize(file).unwrap_or_else(|_| crate::cli::whole(file));
    match (config, read) {
        (Some(given), Some([])) => {
            format!("start the daemon with `--config {}`, or leave that out here", given.display())
        }
        (given, Some([file, ..])) if given.is_none_or(|given| real(given) != real(file)) => {
            format!("give this command `--config {}`", file.display())
        }
        _ => "run `offerd reload`, or restart it; if they are meant to differ, give this command the \
            variables OFFERD__… that the daemon has"
            .to_owned(),
    }
}

/// The alerts that fire, except those about a seat with a finding of its own.
fn of_alerts(
    AlertsStatus { alerts, receivers, doubt, .. }: &AlertsStatus,
    seats: &[SeatStatus],
) -> Vec<Finding> {
    let doubt = doubt.iter().map(|doubt| ALERT.unknown(doubt, "ask the leader: `offerd nodes` names it"));
    let has_finding = |alert: &AlertStatus| {
        let mut unwell = seats.iter().filter(|seat| judged(seat).is_some());
        unwell.any(|seat| alert.is_unwell_seat(&seat.partner, seat.product_type.as_str()))
    };
    let shown = alerts.iter().filter(|alert| alert.is_firing() && !has_finding(alert));
    let firing = shown.map(|alert| {
        let found = format!("{} since {}: {}", alert.name, page::minute(alert.since), alert.summary);
        match alert.severity {
            Severity::Page | Severity::Ticket => ALERT.wrong(found, chapter(&alert.runbook)),
            Severity::Notice => ALERT.look(found, chapter(&alert.runbook)),
        }
    });
    let failing = receivers.iter().filter_map(|ReceiverStatus { name, place, told, .. }| {
        let since = page::minute(told.failing_since?);
        let error = told.last_error.as_deref().unwrap_or_default();
        let found = format!("receiver {name} ({place}) has accepted nothing since {since}: {error}");
        Some(ALERT.look(found, format!("mend it; try it with `offerd alerts test {name}`")))
    });
    let found: Vec<Finding> = doubt.chain(firing).chain(failing).collect();
    match alerts.iter().filter(|alert| alert.is_firing()).count() {
        _ if !found.is_empty() => found,
        0 => vec![ALERT.good("none fires")],
        firing => {
            let found = format!("{}, about partners below", page::counted(firing, "alert"));
            vec![ALERT.look(found, "see the lines of these partners")]
        }
    }
}

fn chapter(part: &str) -> String {
    format!("read \"{}\" in the chapter on metrics of offerd(8)", part.replace('-', " "))
}

#[cfg(test)]
mod tests {
    use super::super::CheckState;
    use super::*;
    use offerd_insight::nodes::NodeView;

    fn status(told: serde_json::Value) -> AlertsStatus {
        let receiver = json!({ "name": "ops", "place": "chat", "outstanding": 1, "lastSent": null,
            "failingSince": told.as_array().filter(|told| !told.is_empty()).map(|_| 0), "lastError": "refused" });
        serde_json::from_value(json!({ "alerts": told, "receivers": [receiver] })).unwrap()
    }

    #[test]
    fn a_daemon_with_another_settings_file_is_not_to_be_reloaded() {
        let [given, other] = ["offerd.toml", "other.toml"].map(Path::new);
        let read = [given.to_owned()];
        assert!(to_load(Some(given), Some(&[])).starts_with("start the daemon with `--config offerd.toml`"));
        for config in [None, Some(other)] {
            assert_eq!(to_load(config, Some(&read)), "give this command `--config offerd.toml`");
        }
        for (config, read) in [(Some(given), Some(&read[..])), (Some(given), None), (None, Some(&[]))] {
            assert!(to_load(config, read).starts_with("run `offerd reload`"));
        }
    }

    #[test]
    fn an_unwell_partner_is_told_once_and_also_when_its_file_is_gone() {
        let alerts = ["far", "removed"].map(|partner| {
            json!({ "name": "OfferdPartnerUnwell", "severity": "ticket", "state": "firing", "since": 0,
                "summary": format!("{partner} fails"), "fired": 0, "ended": null, "runbook": "x",
                "labels": { "partner": partner, "product_type": "loan" } })
        });
        let seat = json!({ "partner": "far", "productType": "loan", "state": "active", "askedThisMinute": 0,
            "askedToday": 0, "owedToday": 0.0, "health": { "health": "failing" } });
        let seat: [SeatStatus; 1] = [serde_json::from_value(seat).unwrap()];
        let found = |alerts: &[serde_json::Value]| {
            let status = json!({ "alerts": alerts, "receivers": [] });
            let found = of_alerts(&serde_json::from_value(status).unwrap(), &seat);
            found.into_iter().map(|finding| finding.found).collect::<Vec<_>>()
        };
        assert_eq!(found(&alerts[..1]), ["1 alert, about partners below"]);
        let both = found(&alerts);
        assert!(both.len() == 1 && both[0].ends_with("removed fails"), "{both:?}");
    }

    #[test]
    fn what_the_daemon_knows_to_be_wrong_is_wrong() {
        let settings = Settings::from_layers(None, []).unwrap();
        let book = Book::of(Vec::new());
        let alert = |name: &str, severity: &str, state: &str| {
            json!({ "name": name, "severity": severity, "state": state, "summary": "it is so", "labels": {},
                "since": 0, "fired": 0, "ended": null, "runbook": "the-disk-hangs" })
        };
        let alerts = json!([
            alert("OfferdDiskHangs", "page", "firing"),
            alert("OfferdSeatsCut", "notice", "firing"),
            alert("OfferdFails", "page", "ended"),
        ]);
        let mut told = NodeStatus::of(&settings);
        told.book = NodeStatus::fingerprint_of(&book);
        let node = |told: &NodeStatus| {
            let told = Some(told.clone());
            let view = json!({ "id": Uuid::nil(), "leader": true, "isThis": true });
            let view = NodeView { told, ..serde_json::from_value(view).unwrap() };
            Some(NodeList { shared: true, nodes: vec![view], warnings: Vec::new() })
        };
        let words = |report: &DaemonReport| -> Vec<(&str, CheckState)> {
            report.findings(&settings, Some(&book)).iter().map(|one| (one.check, one.state)).collect()
        };
        let report = DaemonReport {
            ready: Some((true, "ready\nSystem clock is off by 1h (ahead)".to_owned())),
            alerts: Some(status(json!([]))),
            nodes: node(&told),
            ..DaemonReport::default()
        };
        let good = ["daemon", "alert", "loaded files"].map(|check| (check, CheckState::Good));
        assert_eq!(words(&report), good);
        assert!(report.clock().is_some_and(|clock| clock.contains("off by 1h")));

        told.book = "another".to_owned();
        told.alike.insert("settings in `[limits]`".to_owned(), "another".to_owned());
        let mut nodes = node(&told).unwrap();
        nodes.warnings.push("nodes differ".to_owned());
        let report = DaemonReport {
            ready: Some((false, "not accepting new leads: x".to_owned())),
            alerts: Some(status(alerts)),
            nodes: Some(nodes),
            ..DaemonReport::default()
        };
        let (wrong, look) = (CheckState::Wrong, CheckState::Look);
        let alerts = [("alert", wrong), ("alert", look), ("alert", look)];
        let wanted =
            [&[("daemon", wrong)][..], &alerts, &[("nodes", wrong), ("loaded files", wrong)]].concat();
        assert_eq!(words(&report), wanted);
        let found = report.findings(&settings, Some(&book)).pop().unwrap().found;
        assert!(found.ends_with("loaded: partner files, settings in `[limits]`"), "{found}");
        assert_eq!(words(&DaemonReport::default()), []);

        let report = DaemonReport { nodes: node(&NodeStatus::of(&settings)), ..DaemonReport::default() };
        let found = report.findings(&settings, None).pop().unwrap();
        assert_eq!((found.check, found.state), ("loaded files", wrong), "files with faults cannot be loaded");
    }
}
