//! The status of alerts, for the console and commands.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::ledger::{AlertLedger, ReceiverDeliveries};
use super::receiver::{self, ReceiverTest};
use super::rule::{AlertRule, PARTNER_UNWELL, Severity};
use super::state::Alert;
use offerd_base::config::AlertSettings;
use offerd_model::record;
use offerd_store::Store;

/// A shared view of the alerts. On a follower it shows what the leader has last written. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AlertBoard(Arc<Mutex<AlertLedger>>);

record! { plain
    /// The status of all alerts and receivers.
    AlertsStatus {
        /// The alerts: first the firing ones, most urgent and youngest first, then waiting, then ended ones.
        alerts: Vec<AlertStatus>,
        /// The receivers.
        receivers: Vec<ReceiverStatus>,
        /// Why alerts may be missing here: this node follows another one, and cannot read what that one wrote.
        doubt?: String,
        /// The node that evaluates them, where nodes share the store.
        node?: String,
    }

    /// An alert, for people and for other programs.
    AlertStatus {
        /// The name of its rule.
        name: String,
        /// Its urgency.
        severity: Severity,
        /// `firing`, `waiting` or `ended`.
        state: String,
        /// What happened.
        summary: String,
        /// The subject, by label.
        labels: BTreeMap<String, String>,
        /// When its condition began to hold, in Unix milliseconds.
        since: i64,
        /// When it fired.
        fired: Option<i64>,
        /// When it ended.
        ended: Option<i64>,
        /// The section of the handbook about it.
        runbook: String,
    }

    /// The status of a receiver.
    #[derive(Eq)]
    ReceiverStatus {
        /// Its name.
        name: String,
        /// The host of a webhook, or the mail recipients.
        place: String,
        /// Messages that it has not accepted yet.
        outstanding: usize,
        /// The result of the last deliveries.
        #[serde(flatten)]
        told: ReceiverDeliveries,
    }
}

/// Why alerts may be missing on a follower, as a sentence.
pub fn doubt(why: impl Display) -> String {
    format!(
        "This node cannot tell which alerts fire: the leader evaluates them, and its alerts cannot be read: {why}"
    )
}

impl AlertBoard {
    /// The board of a store.
    pub fn of(store: &Store) -> Self {
        Self(Arc::new(Mutex::new(AlertLedger::load(store))))
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, AlertLedger> {
        self.0.lock()
    }

    /// Records the result of a test at this time (Unix milliseconds) as if it had been an alert.
    pub fn tried(&self, tried: &[ReceiverTest], now_ms: i64) {
        let mut ledger = self.ledger();
        tried.iter().for_each(|one| ledger.tried(&one.receiver, one.error.as_deref(), now_ms));
    }

    /// The present status.
    pub fn status(&self, settings: &AlertSettings) -> AlertsStatus {
        let ledger = self.ledger();
        let mut alerts: Vec<AlertStatus> = ledger.alerts.values().map(AlertStatus::of).collect();
        alerts.sort_by_cached_key(|alert| {
            let has_ended = alert.ended.is_some();
            // The urgency of an ended alert does not matter.
            let urgency = (!has_ended).then_some((alert.fired.is_none(), alert.severity));
            let at = Reverse(alert.ended.unwrap_or(alert.since));
            (has_ended, urgency, at, alert.name.clone())
        });
        let status = |one: receiver::Receiver| {
            let queue = ledger.queues.get(one.name());
            ReceiverStatus {
                outstanding: queue.map_or(0, |queue| queue.messages.len()),
                told: queue.map(|queue| queue.told.clone()).unwrap_or_default(),
                place: one.place(),
                name: one.name().to_owned(),
            }
        };
        let receivers = receiver::all(settings).into_iter().map(status).collect();
        let (doubt, node) = (ledger.unread.as_ref().map(doubt), ledger.node.clone());
        AlertsStatus { alerts, receivers, doubt, node }
    }
}

impl AlertStatus {
    /// Whether it fires.
    pub fn is_firing(&self) -> bool {
        self.state == "firing"
    }

    /// Whether it is of the rule for unwell partners, and about this seat.
    pub fn is_unwell_seat(&self, partner: &str, product_type: &str) -> bool {
        let is = |label: &str, value: &str| self.labels.get(label).is_some_and(|found| found == value);
        self.name == PARTNER_UNWELL && is("partner", partner) && is("product_type", product_type)
    }

    fn of(alert: &Alert) -> Self {
        let rule = AlertRule::named(&alert.name);
        let state = match (alert.fired_ms, alert.ended_ms) {
            (_, Some(_)) => "ended",
            (Some(_), None) => "firing",
            (None, None) => "waiting",
        };
        Self {
            name: alert.name.clone(),
            severity: rule.map_or(Severity::Ticket, |rule| rule.severity),
            state: state.to_owned(),
            summary: alert.summary.clone(),
            labels: alert.labels.iter().cloned().collect(),
            since: alert.since_ms,
            fired: alert.fired_ms,
            ended: alert.ended_ms,
            runbook: rule.map_or_else(String::new, |rule| rule.runbook.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_base::config::Settings;

    #[test]
    fn a_test_that_a_receiver_does_not_take_is_seen_afterwards() {
        let directory = tempfile::tempdir().unwrap();
        let board = AlertBoard::of(&Store::open_inline(directory.path().join("store")).unwrap());
        let file = "[alerts]\nwebhooks = { ops = { url = 'https://ops.example/hook' } }\n";
        let settings = Settings::from_layers(Some((std::path::Path::new("offerd.toml"), file)), []).unwrap();
        let told = |error: Option<&str>, now_ms| {
            let error = error.map(str::to_owned);
            board.tried(&[ReceiverTest { receiver: "ops".to_owned(), place: String::new(), error }], now_ms);
            let ReceiverDeliveries { last_sent, failing_since, last_error } =
                board.status(&settings.alerts).receivers.remove(0).told;
            (last_sent, failing_since, last_error)
        };
        assert_eq!(told(Some("it answers 500"), 5), (None, Some(5), Some("it answers 500".to_owned())));
        assert_eq!(told(Some("it answers 502"), 7), (None, Some(5), Some("it answers 502".to_owned())));
        assert_eq!(told(None, 9), (Some(9), None, None));
    }

    #[test]
    fn a_follower_that_cannot_read_the_alerts_says_so_until_it_can() {
        use super::super::state::Alert;

        let directory = tempfile::tempdir().unwrap();
        let store = Store::open_inline(directory.path().join("store")).unwrap();
        let board = AlertBoard::of(&store);
        let settings = Settings::from_layers(None, []).unwrap();
        assert_eq!(board.status(&settings.alerts).doubt, None);
        let alert = Alert::begun("OfferdFails", Vec::new(), "x", 1);
        board.ledger().alerts.insert(alert.fingerprint(), alert);
        board.ledger().unread = Some("the database is gone".to_owned());
        let status = board.status(&settings.alerts);
        assert_eq!(status.alerts.len(), 1, "what was read before stays");
        let doubt = status.doubt.unwrap();
        assert!(doubt.contains("cannot tell which alerts fire") && doubt.ends_with("is gone"), "{doubt}");
        board.ledger().follow(&store);
        let status = board.status(&settings.alerts);
        assert_eq!((status.alerts.len(), status.doubt), (0, None));
    }

    #[tokio::test]
    async fn what_a_test_came_to_is_known_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open_inline(directory.path().join("store")).unwrap();
        let board = AlertBoard::of(&store);
        let error = Some("it answers 500".to_owned());
        board.tried(&[ReceiverTest { receiver: "ops".to_owned(), place: String::new(), error }], 5);
        let before = board.ledger().queues["ops"].told.clone();
        let (commit, _) = board.ledger().unwritten().expect("it is to be written");
        store.commit(commit).await.unwrap();
        assert_eq!(AlertBoard::of(&store).ledger().queues["ops"].told, before);
    }
}
