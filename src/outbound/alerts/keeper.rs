//! The keeper: a thread that evaluates conditions and notifies receivers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use metrics::{counter, gauge};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{info, warn};

use super::baseline::AlertBaseline;
use super::board::AlertBoard;
use super::condition::{AlertCondition, ConditionResults, EvaluationInput, Readings};
use super::ledger::{AlertLedger, begin_backups, note_last_backup};
use super::message::MessageBatch;
use super::receiver::all;
use super::rule::{AlertRule, RULES};
use super::state::{Alert, AlertChange, ConditionEvaluation, fingerprint, next};
use crate::outbox::{Worker, wire};
use offerd_base::config::{AlertSettings, Settings};
use offerd_base::telemetry::figures::MetricsSnapshot;
use offerd_base::telemetry::metrics::{LEADER_CHANGES, NODE_LOST, PARTNER_HEALTH, WIRE_BREAKER_STATE};
use offerd_insight::nodes::{self, NodeStatus};
use offerd_store::{Store, StoreHealth};
use offerd_wire::Wire;

/// How long to wait for the store to write alerts before receivers are notified anyway.
const WRITE_WITHIN: Duration = Duration::from_secs(2);

/// The time after a start in which a missing metric means nothing.
const SETTLING: Duration = Duration::from_secs(60);

/// The longest sleep, so that due messages are found even if the clock was set.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

type MetricsReader = Box<dyn Fn() -> MetricsSnapshot + Send>;

/// Why a partner is unwell at a product type, in words.
type CauseReader = Box<dyn Fn(&str, &str) -> Option<String> + Send>;

/// The result of a delivery: the receiver, the messages, and why they were not accepted.
type DeliveryResult = (String, Vec<u64>, Result<Option<String>, String>);

/// Evaluates conditions and notifies receivers.
pub struct AlertKeeper {
    store: Store,
    board: AlertBoard,
    settings: watch::Receiver<Arc<Settings>>,
    measure: MetricsReader,
    cause: CauseReader,
    wire: Wire,
    readings: BTreeMap<&'static str, Readings>,
    baseline: AlertBaseline,
    /// The names of the nodes that the metric of lost ones has.
    nodes: BTreeSet<String>,
    begun_ms: i64,
    under_way: FuturesUnordered<BoxFuture<'static, DeliveryResult>>,
}

impl AlertKeeper {
    /// Starts the thread. `cause` says why a partner is unwell at a product type.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        store: Store,
        board: AlertBoard,
        settings: watch::Receiver<Arc<Settings>>,
        measure: impl Fn() -> MetricsSnapshot + Send + 'static,
        cause: impl Fn(&str, &str) -> Option<String> + Send + 'static,
    ) -> Result<Worker, String> {
        let begun_ms = store.now_ms();
        // Its growth is seen only if it is there before.
        counter!(LEADER_CHANGES, "node" => NodeStatus::of(&settings.borrow()).name).increment(0);
        Worker::start("alerts", move || {
            let (baseline, wire) = (AlertBaseline::load(&store, begun_ms), wire(true));
            let (measure, cause) = (Box::new(measure), Box::new(cause));
            let (readings, nodes, under_way) = Default::default();
            Self {
                store,
                board,
                settings,
                measure,
                cause,
                wire,
                readings,
                baseline,
                nodes,
                begun_ms,
                under_way,
            }
            .run()
        })
    }

    async fn run(mut self) {
        self.until_it_tells().await;
        if let Err(failure) = begin_backups(&self.store).await {
            warn!(%failure, "could not record that no backup exists yet");
        }
        let mut look_at = Instant::now();
        loop {
            let settings = Arc::clone(&self.settings.borrow_and_update());
            if Instant::now() >= look_at {
                self.look(&settings);
                look_at = Instant::now() + settings.alerts.every.min(self.soonest(&settings.alerts));
            }
            self.write().await;
            self.tell(&settings.alerts);
            let wake_at = look_at.min(self.next_due());
            tokio::select! {
                Some(ended) = self.under_way.next() => self.settle(ended, &settings.alerts),
                () = sleep_until(wake_at) => {}
                changed = self.settings.changed() => if changed.is_err() { return } else { look_at = Instant::now() },
            }
        }
    }

    /// Waits until this process is the leader, which alone evaluates conditions and notifies. A follower
    /// meanwhile counts its own leads for the leader and shows the leader's alerts on its board.
    async fn until_it_tells(&mut self) {
        while !self.store.is_leader() {
            let every = self.settings.borrow().alerts.every;
            let figures = (self.measure)();
            let mut counted = AlertLedger::default();
            self.baseline.look(&self.store, &figures, &mut counted);
            if let Some((commit, _)) = counted.unwritten()
                && let Err(failure) = self.store.commit_within(WRITE_WITHIN, commit).await
            {
                warn!(%failure, "could not write the lead count");
            }
            note_last_backup(&self.store);
            self.board.ledger().follow(&self.store);
            let _ = timeout(every, self.store.until_leader()).await;
        }
        // The previous leader writes nothing more.
        let mut ledger = AlertLedger::load(&self.store);
        ledger.unread = None;
        if self.store.is_shared() {
            let node = NodeStatus::of(&self.settings.borrow()).name;
            if ledger.led_by(node.clone()) {
                counter!(LEADER_CHANGES, "node" => node).increment(1);
            }
        }
        *self.board.ledger() = ledger;
        self.begun_ms = self.store.now_ms();
    }

    /// Sets the metric of lost nodes.
    fn measure_nodes(&mut self) {
        let Ok(lost) = nodes::lost(&self.store) else { return };
        self.nodes.extend(lost.keys().cloned());
        for name in &self.nodes {
            let is_lost = lost.get(name).copied().unwrap_or(false);
            gauge!(NODE_LOST, "node" => name.clone()).set(f64::from(u8::from(is_lost)));
        }
    }

    fn look(&mut self, settings: &Settings) {
        let now_ms = self.store.now_ms();
        if self.store.is_shared() && matches!(self.store.health(), StoreHealth::Sound) {
            self.measure_nodes();
        }
        let figures = (self.measure)();
        let board = self.board.clone();
        // A database that does not answer would delay the alert about it by each read.
        if !self.store.is_shared() || matches!(self.store.health(), StoreHealth::Sound) {
            let mut counted = AlertLedger::default();
            self.baseline.look(&self.store, &figures, &mut counted);
            board.ledger().take_in(counted);
            // Another process may have taken the backup.
            note_last_backup(&self.store);
        }
        board.ledger().welcome(&settings.alerts, now_ms);
        let alerts = &settings.alerts;
        let sight = EvaluationInput { figures: &figures, now_ms, begun_ms: self.begun_ms, settings };
        for rule in RULES {
            let found = match alerts.off.contains(rule.name) {
                true => ConditionResults::new(),
                false => rule.condition.look(rule.by, self.readings.entry(rule.name).or_default(), &sight),
            };
            self.judge(rule, found, alerts, now_ms);
        }
        let mut ledger = board.ledger();
        ledger.sweep(alerts, now_ms);
        ledger.measure();
    }

    fn judge(&self, rule: &AlertRule, mut found: ConditionResults, settings: &AlertSettings, now_ms: i64) {
        let settling =
            now_ms - self.begun_ms < SETTLING.as_millis() as i64 && !settings.off.contains(rule.name);
        let mut ledger = self.board.ledger();
        // A missing metric means that the condition does not hold; right after a start the metric may only
        // not exist yet.
        let gone = if settling { None } else { Some(false) };
        for alert in ledger.alerts.values().filter(|alert| alert.name == rule.name && !alert.has_ended()) {
            found.entry(alert.labels.clone()).or_insert((gone, 0.0));
        }
        let wait = rule.wait_in(settings);
        for (labels, (holds, value)) in found {
            let mut summary = rule.told(&labels, value);
            let is_of_seat =
                matches!(rule.condition, AlertCondition::Level(PARTNER_HEALTH | WIRE_BREAKER_STATE, ..));
            // The endpoint of a partner is called by the product type.
            if let ([(label, partner), .., (_, product_type)], true, Some(true)) =
                (&*labels, is_of_seat, holds)
                && label == "partner"
                && let Some(cause) = (self.cause)(partner, product_type)
            {
                summary = format!("{summary}: {cause}");
            }
            let evaluation =
                ConditionEvaluation { holds, summary: &summary, now_ms, wait, keep_firing: rule.keep_firing };
            let id = fingerprint(rule.name, &labels);
            let known = ledger.alerts.get(&id).cloned();
            let (after, change) = next(known, rule.name, &labels, &evaluation);
            match after {
                Some(alert) => {
                    tell_log(&alert, change);
                    ledger.note(alert, change, settings, now_ms);
                }
                // It was waiting, and its condition no longer holds.
                None => drop(ledger.alerts.remove(&id)),
            }
        }
    }

    async fn write(&self) {
        let Some((commit, changes)) = self.board.ledger().unwritten() else { return };
        if let Err(failure) = self.store.commit_within(WRITE_WITHIN, commit).await {
            warn!(%failure, "could not write the state of alerts; will retry");
            self.board.ledger().write_again(changes);
        }
    }

    fn tell(&mut self, settings: &AlertSettings) {
        let node = self.board.ledger().node.clone();
        let now_ms = self.store.now_ms();
        for receiver in all(settings) {
            let due = self.board.ledger().due(receiver.name(), now_ms);
            if due.is_empty() {
                continue;
            }
            let (numbers, messages) = due.into_iter().unzip();
            let batch = MessageBatch::to(receiver.name(), messages, settings);
            let (wire, batch) = (self.wire.clone(), MessageBatch { node: node.clone(), ..batch });
            self.under_way.push(Box::pin(async move {
                let told = receiver.tell(&wire, &batch).await;
                (batch.receiver, numbers, told)
            }));
        }
    }

    fn settle(&self, (name, numbers, told): DeliveryResult, settings: &AlertSettings) {
        match &told {
            Ok(None) => {}
            Ok(Some(cause)) => {
                warn!(receiver = name, cause, "the server accepted alerts, but not for every recipient");
            }
            Err(cause) => warn!(receiver = name, cause, "alerts were not accepted; will retry"),
        }
        let mut ledger = self.board.ledger();
        let error = told.as_ref().err().map(String::as_str);
        ledger.settle((&name, &numbers, error), settings, self.store.now_ms());
        ledger.measure();
    }

    /// The time until the first waiting alert has waited long enough; at least a second, since one whose
    /// condition became unknown waits on.
    fn soonest(&self, settings: &AlertSettings) -> Duration {
        let now_ms = self.store.now_ms();
        let ledger = self.board.ledger();
        let waiting = ledger.alerts.values().filter(|alert| alert.fired_ms.is_none());
        let left = waiting.filter_map(|alert| {
            let since = Duration::from_millis(u64::try_from(now_ms - alert.since_ms).unwrap_or(0));
            Some(AlertRule::named(&alert.name)?.wait_in(settings).saturating_sub(since))
        });
        left.min().unwrap_or(Duration::MAX).max(LONGEST_SLEEP)
    }

    fn next_due(&self) -> Instant {
        let due_ms = self.board.ledger().next_due_ms();
        let wait = due_ms.map(|at| Duration::from_millis((at - self.store.now_ms()).max(1).unsigned_abs()));
        Instant::now() + wait.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)
    }
}

fn tell_log(alert: &Alert, change: Option<AlertChange>) {
    let Alert { name, summary, .. } = alert;
    match change {
        Some(AlertChange::Fired) => warn!(alert = name, "alert: {summary}"),
        Some(AlertChange::Ended) => info!(alert = name, "alert ended: {summary}"),
        None => {}
    }
}
