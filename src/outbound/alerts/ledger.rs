//! The stored state of alerts: firing and ended ones, undelivered messages, the last backup, hourly counts.

use std::collections::{BTreeMap, VecDeque};

use metrics::{counter, gauge};
use serde::{Deserialize, Serialize};

use super::message::AlertMessage;
use super::receiver::names;
use super::rule::{AlertRule, Severity};
use super::state::{Alert, AlertChange};
use crate::outbox::Backoff;
use offerd_base::config::AlertSettings;
use offerd_base::telemetry::metrics::{ALERT_MESSAGES, ALERT_MESSAGES_OUTSTANDING, ALERTS_FIRING, BACKUP_AT};
use offerd_store::{Commit, CommitError, Store, Tree, codec};

const ENDED_MAX: usize = 1000;

const BATCH: usize = 64;

/// The first bytes of the tree's keys.
const ALERT: u8 = b'a';
const MESSAGE: u8 = b'm';
const RECEIVER: u8 = b'r';
const BACKUP: &[u8] = b"b";
const NODE: &[u8] = b"n";
pub(super) const HOUR: u8 = b'h';

/// The result of the last deliveries to a receiver. Times are in Unix milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiverDeliveries {
    /// When it last accepted a message.
    pub last_sent: Option<i64>,
    /// Since when it has accepted none.
    pub failing_since: Option<i64>,
    /// The error of the last delivery.
    pub last_error: Option<String>,
}

/// The last complete backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupTaken {
    /// When it was taken, in Unix milliseconds; for a store without one, when the store was first seen.
    pub at_ms: i64,
    /// Who took it; `None` if there never was one.
    pub by: Option<String>,
    /// Records and places that could not be read.
    pub missed: u64,
}

#[derive(Debug, Default)]
pub(super) struct ReceiverQueue {
    pub messages: VecDeque<(u64, AlertMessage)>,
    pub told: ReceiverDeliveries,
    /// Whether a delivery is in progress.
    pub busy: bool,
}

/// Changed records by key; `None` for a removal.
pub(super) type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

#[derive(Debug, Default)]
pub(super) struct AlertLedger {
    pub alerts: BTreeMap<String, Alert>,
    pub queues: BTreeMap<String, ReceiverQueue>,
    /// On a follower, why this is not what the leader wrote last.
    pub unread: Option<String>,
    /// The node that evaluates, where nodes share the store.
    pub node: Option<String>,
    unwritten: Changes,
}

impl AlertLedger {
    /// Loads the state of a store. Records that do not decode are skipped; the store reports them. What could
    /// be read before a failure is kept, with the failure.
    pub(super) fn load(store: &Store) -> Self {
        let mut ledger = Self::default();
        for record in store.scan(Tree::Alerts, []) {
            match record {
                Ok((key, bytes)) => drop(ledger.take_record(store, &key, &bytes)),
                Err(failure) => ledger.unread = Some(failure.to_string()),
            }
        }
        ledger
    }

    /// Takes what the leader has written; after a failure, keeps the alerts and notes the failure.
    pub(super) fn follow(&mut self, store: &Store) {
        match Self::load(store) {
            Self { unread: Some(why), .. } => self.unread = Some(why),
            read => *self = read,
        }
    }

    fn take_record(&mut self, store: &Store, key: &[u8], bytes: &[u8]) -> Option<()> {
        let (kind, rest) = key.split_first()?;
        match *kind {
            ALERT => {
                let alert = store.decode(Tree::Alerts, key, bytes).ok()?;
                self.alerts.insert(String::from_utf8_lossy(rest).into_owned(), alert);
            }
            MESSAGE => {
                let (name, number) = place_of(rest)?;
                let message = store.decode(Tree::Alerts, key, bytes).ok()?;
                self.queues.entry(name).or_default().messages.push_back((number, message));
            }
            RECEIVER => {
                let told = store.decode(Tree::Alerts, key, bytes).ok()?;
                self.queues.entry(String::from_utf8_lossy(rest).into_owned()).or_default().told = told;
            }
            _ if key == NODE => self.node = store.decode(Tree::Alerts, key, bytes).ok(),
            _ => {}
        }
        Some(())
    }

    /// Records which node evaluates; returns whether that was another one before.
    pub(super) fn led_by(&mut self, node: String) -> bool {
        self.write(NODE.to_vec(), &node);
        self.node.replace(node).is_some_and(|before| Some(before) != self.node)
    }

    /// Sends new receivers the alerts that fire already, so that no end reaches them without its beginning.
    pub(super) fn welcome(&mut self, settings: &AlertSettings, now_ms: i64) {
        let mut new = names(settings);
        new.retain(|name| !self.queues.contains_key(name));
        let firing: Vec<Alert> = self.alerts.values().filter(|alert| alert.is_firing()).cloned().collect();
        for name in new {
            self.write(key(RECEIVER, &name), &ReceiverDeliveries::default());
            self.queues.insert(name.clone(), ReceiverQueue::default());
            for alert in &firing {
                self.push(&name, AlertMessage::of(AlertChange::Fired, alert, now_ms), settings.outstanding);
            }
        }
    }

    pub(super) fn tried(&mut self, name: &str, error: Option<&str>, now_ms: i64) {
        let told = &mut self.queues.entry(name.to_owned()).or_default().told;
        match error {
            None => *told = ReceiverDeliveries { last_sent: Some(now_ms), ..ReceiverDeliveries::default() },
            Some(error) => {
                told.failing_since.get_or_insert(now_ms);
                told.last_error = Some(error.to_owned());
            }
        }
        let told = told.clone();
        self.write(key(RECEIVER, name), &told);
    }

    /// Records the next state of an alert, and queues a message for each receiver if the alert has changed.
    pub fn note(&mut self, alert: Alert, change: Option<AlertChange>, settings: &AlertSettings, now_ms: i64) {
        let id = alert.fingerprint();
        if let Some(change) = change {
            // Waiting alerts are not stored: they start over after a restart.
            self.write(key(ALERT, &id), &alert);
            for name in names(settings) {
                self.push(&name, AlertMessage::of(change, &alert, now_ms), settings.outstanding);
            }
        }
        self.alerts.insert(id, alert);
    }

    fn push(&mut self, name: &str, message: AlertMessage, most: usize) {
        let queue = self.queues.entry(name.to_owned()).or_default();
        let number = queue.messages.back().map_or(0, |(last, _)| last + 1);
        let encoded = codec::encode(&message);
        queue.messages.push_back((number, message));
        // The oldest may be in delivery, and is removed when that ends.
        let surplus = if queue.messages.len() > most { queue.messages.pop_front() } else { None };
        self.unwritten.insert(message_key(name, number), Some(encoded));
        if let Some((oldest, _)) = surplus {
            self.unwritten.insert(message_key(name, oldest), None);
            count(name, "dropped", 1);
        }
    }

    /// The next messages for a receiver: if due, the oldest, and those of its kind after it.
    pub(super) fn due(&mut self, name: &str, now_ms: i64) -> Vec<(u64, AlertMessage)> {
        let Some(queue) = self.queues.get_mut(name) else { return Vec::new() };
        let Some((_, first)) = queue.messages.front() else { return Vec::new() };
        if queue.busy || first.next_ms > now_ms {
            return Vec::new();
        }
        let change = first.change;
        let due = queue.messages.iter().take_while(|(_, message)| message.change == change).take(BATCH);
        let due = due.cloned().collect();
        queue.busy = true;
        due
    }

    pub(super) fn next_due_ms(&self) -> Option<i64> {
        let waiting = self.queues.values().filter(|queue| !queue.busy);
        waiting.filter_map(|queue| Some(queue.messages.front()?.1.next_ms)).min()
    }

    /// Records how a delivery ended: to a receiver, of these messages, with an error.
    pub(super) fn settle(
        &mut self,
        ended: (&str, &[u64], Option<&str>),
        settings: &AlertSettings,
        now_ms: i64,
    ) {
        let (name, numbers, error) = ended;
        let Some(queue) = self.queues.get_mut(name) else { return };
        queue.busy = false;
        let give_up_ms = settings.give_up_after.as_millis() as i64;
        let backoff = Backoff(settings.first_backoff, settings.longest_backoff);
        let mut given_up = 0;
        queue.messages.retain_mut(|(number, message)| {
            if !numbers.contains(number) {
                return true;
            }
            let is_kept = error.is_some() && now_ms - message.made_ms < give_up_ms;
            let kept = is_kept.then(|| {
                message.attempts += 1;
                message.next_ms = backoff.next_ms(now_ms, message.attempts, None);
                codec::encode(&*message)
            });
            given_up += usize::from(!is_kept);
            self.unwritten.insert(message_key(name, *number), kept);
            is_kept
        });
        self.tried(name, error, now_ms);
        if error.is_some() {
            count(name, "failed", numbers.len() - given_up);
            count(name, "given_up", given_up);
        } else {
            count(name, "ok", numbers.len());
        }
    }

    pub(super) fn sweep(&mut self, settings: &AlertSettings, now_ms: i64) {
        let receivers = names(settings);
        self.queues.retain(|name, queue| {
            let is_told = receivers.contains(name);
            if !is_told {
                let messages = queue.messages.iter().map(|(number, _)| message_key(name, *number));
                let removed = messages.chain([key(RECEIVER, name)]).map(|key| (key, None));
                self.unwritten.extend(removed);
                gauge!(ALERT_MESSAGES_OUTSTANDING, "receiver" => name.clone()).set(0.0);
            }
            is_told
        });
        let mut ended: Vec<(i64, String)> =
            self.alerts.iter().filter_map(|(id, alert)| Some((alert.ended_ms?, id.clone()))).collect();
        ended.sort_unstable_by(|one, other| other.cmp(one));
        let oldest_ms = now_ms.saturating_sub(i64::try_from(settings.kept.as_millis()).unwrap_or(i64::MAX));
        for (nth, (ended_ms, id)) in ended.into_iter().enumerate() {
            if nth >= ENDED_MAX || ended_ms < oldest_ms {
                self.alerts.remove(&id);
                self.unwritten.insert(key(ALERT, &id), None);
            }
        }
    }

    pub(super) fn write<T: Serialize>(&mut self, key: Vec<u8>, value: &T) {
        self.unwritten.insert(key, Some(codec::encode(value)));
    }

    pub(super) fn remove(&mut self, key: Vec<u8>) {
        self.unwritten.insert(key, None);
    }

    pub(super) fn take_in(&mut self, other: Self) {
        self.unwritten.extend(other.unwritten);
    }

    /// Takes the changes as one commit; `None` if there are none.
    pub(super) fn unwritten(&mut self) -> Option<(Commit, Changes)> {
        let changes = std::mem::take(&mut self.unwritten);
        let commit = changes.iter().fold(Commit::new(), |commit, (key, value)| match value {
            Some(value) => commit.put(Tree::Alerts, key, value.clone()),
            None => commit.remove(Tree::Alerts, key),
        });
        (!changes.is_empty()).then_some((commit, changes))
    }

    pub(super) fn write_again(&mut self, changes: Changes) {
        for (key, value) in changes {
            self.unwritten.entry(key).or_insert(value);
        }
    }

    pub(super) fn measure(&self) {
        for severity in [Severity::Page, Severity::Ticket, Severity::Notice] {
            let of = |alert: &&Alert| {
                alert.is_firing()
                    && AlertRule::named(&alert.name).is_some_and(|rule| rule.severity == severity)
            };
            let firing = self.alerts.values().filter(of).count();
            gauge!(ALERTS_FIRING, "severity" => severity.word()).set(firing as f64);
        }
        for (name, queue) in &self.queues {
            gauge!(ALERT_MESSAGES_OUTSTANDING, "receiver" => name.clone()).set(queue.messages.len() as f64);
        }
    }
}

fn count(receiver: &str, result: &'static str, messages: usize) {
    counter!(ALERT_MESSAGES, "receiver" => receiver.to_owned(), "result" => result)
        .increment(messages as u64);
}

fn key(kind: u8, name: &str) -> Vec<u8> {
    [&[kind], name.as_bytes()].concat()
}

fn message_key(receiver: &str, number: u64) -> Vec<u8> {
    [&key(MESSAGE, receiver)[..], &[0], &number.to_be_bytes()].concat()
}

fn place_of(rest: &[u8]) -> Option<(String, u64)> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let number = rest[end + 1..].try_into().ok()?;
    Some((String::from_utf8_lossy(&rest[..end]).into_owned(), u64::from_be_bytes(number)))
}

/// The last complete backup; `None` for a store that no daemon has opened yet.
pub fn last_backup(store: &Store) -> Option<BackupTaken> {
    store.read(Tree::Alerts, BACKUP).ok().flatten()
}

/// Records that a complete backup was taken now.
///
/// # Errors
/// The record was not written.
pub async fn note_backup(store: &Store, by: &str, missed: u64) -> Result<(), CommitError> {
    write_backup(store, BackupTaken { at_ms: store.now_ms(), by: Some(by.to_owned()), missed }).await
}

/// Sets the metric of the last backup. A store without one counts from now; databases are left out.
pub(super) async fn begin_backups(store: &Store) -> Result<(), CommitError> {
    if store.is_shared() || last_backup(store).is_some() {
        note_last_backup(store);
        return Ok(());
    }
    write_backup(store, BackupTaken { at_ms: store.now_ms(), by: None, missed: 0 }).await
}

pub(super) fn note_last_backup(store: &Store) {
    if let Some(taken) = last_backup(store).filter(|_| !store.is_shared()) {
        gauge!(BACKUP_AT).set(taken.at_ms as f64 / 1000.0);
    }
}

async fn write_backup(store: &Store, taken: BackupTaken) -> Result<(), CommitError> {
    store.commit(Commit::new().put(Tree::Alerts, BACKUP, codec::encode(&taken))).await?;
    note_last_backup(store);
    Ok(())
}
