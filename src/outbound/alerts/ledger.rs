//! What the store holds of alerts, and how that changes: the alerts that fire or have ended, what receivers are still to be told, and
//! what else alerts go by.

use std::collections::{BTreeMap, VecDeque};

use metrics::{counter, gauge};
use serde::{Deserialize, Serialize};

use super::message::Message;
use super::receiver::names;
use super::rule::{Rule, Severity};
use super::state::{Alert, Change};
use crate::outbox::Backoff;
use offerd_base::config::AlertSettings;
use offerd_base::telemetry::metrics::{ALERT_MESSAGES, ALERT_MESSAGES_OUTSTANDING, ALERTS_FIRING, BACKUP_AT};
use offerd_store::{Commit, CommitError, Store, Tree, codec};

/// Alerts that have ended and are kept.
const ENDED_MAX: usize = 1000;

/// Messages that go out together.
const BATCH: usize = 64;

/// What the keys of the tree begin with.
const ALERT: u8 = b'a';
const MESSAGE: u8 = b'm';
const RECEIVER: u8 = b'r';
const BACKUP: &[u8] = b"b";
pub(super) const HOUR: u8 = b'h';

/// How the last attempts to tell a receiver ended. Times are Unix milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// When it last took a message.
    pub last_sent: Option<i64>,
    /// Since when it takes none.
    pub failing_since: Option<i64>,
    /// Why it did not take the last one.
    pub last_error: Option<String>,
}

/// When the last backup was taken to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupTaken {
    /// When, Unix milliseconds; of a store that never had one, when it was first seen.
    pub at_ms: i64,
    /// By whom; nothing where there never was one.
    pub by: Option<String>,
    /// Records and places that could not be read.
    pub missed: u64,
}

/// What a receiver is still to be told.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub messages: VecDeque<(u64, Message)>,
    pub told: Told,
    /// Whether some of it is under way.
    pub busy: bool,
}

/// Records by their keys; nothing where one is removed.
pub(super) type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// What is held in memory, and what of it is to be written.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub alerts: BTreeMap<String, Alert>,
    pub queues: BTreeMap<String, Queue>,
    unwritten: Changes,
}

impl Ledger {
    /// What a store holds. What cannot be read is left out: it is reported by the store.
    pub(super) fn load(store: &Store) -> Self {
        let mut ledger = Self::default();
        for (key, bytes) in store.scan(Tree::Alerts, []).filter_map(Result::ok) {
            let _ = ledger.take_record(store, &key, &bytes);
        }
        ledger
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
            _ => {}
        }
        Some(())
    }

    /// Has receivers that were none until now be told what fires already, so that no end comes to them without its beginning.
    pub(super) fn welcome(&mut self, settings: &AlertSettings, now_ms: i64) {
        let mut new = names(settings);
        new.retain(|name| !self.queues.contains_key(name));
        let firing: Vec<Alert> = self.alerts.values().filter(|alert| alert.is_firing()).cloned().collect();
        for name in new {
            self.write(key(RECEIVER, &name), &Told::default());
            self.queues.insert(name.clone(), Queue::default());
            for alert in &firing {
                self.push(&name, Message::of(Change::Fired, alert, now_ms), settings.outstanding);
            }
        }
    }

    /// Takes in how a receiver took something: why not, if it has not.
    pub(super) fn tried(&mut self, name: &str, error: Option<&str>, now_ms: i64) {
        let told = &mut self.queues.entry(name.to_owned()).or_default().told;
        match error {
            None => *told = Told { last_sent: Some(now_ms), ..Told::default() },
            Some(error) => {
                told.failing_since.get_or_insert(now_ms);
                told.last_error = Some(error.to_owned());
            }
        }
        let told = told.clone();
        self.write(key(RECEIVER, name), &told);
    }

    /// Takes in what became of an alert, with a message for each receiver where something has changed.
    pub(super) fn note(
        &mut self,
        alert: Alert,
        change: Option<Change>,
        settings: &AlertSettings,
        now_ms: i64,
    ) {
        let id = alert.fingerprint();
        if let Some(change) = change {
            // What waits is forgotten by a restart, and waits anew.
            self.write(key(ALERT, &id), &alert);
            for name in names(settings) {
                self.push(&name, Message::of(change, &alert, now_ms), settings.outstanding);
            }
        }
        self.alerts.insert(id, alert);
    }

    fn push(&mut self, name: &str, message: Message, most: usize) {
        let queue = self.queues.entry(name.to_owned()).or_default();
        let number = queue.messages.back().map_or(0, |(last, _)| last + 1);
        let encoded = codec::encode(&message);
        queue.messages.push_back((number, message));
        // What is under way is the oldest, and is removed when it is through.
        let surplus = if queue.messages.len() > most { queue.messages.pop_front() } else { None };
        self.unwritten.insert(message_key(name, number), Some(encoded));
        if let Some((oldest, _)) = surplus {
            self.unwritten.insert(message_key(name, oldest), None);
            count(name, "dropped", 1);
        }
    }

    /// The messages that a receiver is to be told next, if any is due and none is under way: those of the same kind from the oldest on.
    pub(super) fn due(&mut self, name: &str, now_ms: i64) -> Vec<(u64, Message)> {
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

    /// When the next message is due that is not under way.
    pub(super) fn next_due_ms(&self) -> Option<i64> {
        let waiting = self.queues.values().filter(|queue| !queue.busy);
        waiting.filter_map(|queue| Some(queue.messages.front()?.1.next_ms)).min()
    }

    /// A receiver has taken messages, or not, for a cause: then they are tried again later, or given up.
    pub(super) fn settle(
        &mut self,
        name: &str,
        numbers: &[u64],
        error: Option<&str>,
        settings: &AlertSettings,
        now_ms: i64,
    ) {
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

    /// Forgets receivers that are none any more, and alerts that ended long ago.
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

    /// Has a record written with the next commit.
    pub(super) fn write<T: Serialize>(&mut self, key: Vec<u8>, value: &T) {
        self.unwritten.insert(key, Some(codec::encode(value)));
    }

    /// Has a record removed with the next commit.
    pub(super) fn remove(&mut self, key: Vec<u8>) {
        self.unwritten.insert(key, None);
    }

    /// Takes in what is to be written of another.
    pub(super) fn take_in(&mut self, other: Self) {
        self.unwritten.extend(other.unwritten);
    }

    /// What is to be written, as one commit; nothing where nothing is.
    pub(super) fn unwritten(&mut self) -> Option<(Commit, Changes)> {
        let changes = std::mem::take(&mut self.unwritten);
        let commit = changes.iter().fold(Commit::new(), |commit, (key, value)| match value {
            Some(value) => commit.put(Tree::Alerts, key, value.clone()),
            None => commit.remove(Tree::Alerts, key),
        });
        (!changes.is_empty()).then_some((commit, changes))
    }

    /// What could not be written is tried again with what comes.
    pub(super) fn write_again(&mut self, changes: Changes) {
        for (key, value) in changes {
            self.unwritten.entry(key).or_insert(value);
        }
    }

    /// Tells the metrics how many fire, and what waits.
    pub(super) fn measure(&self) {
        for severity in [Severity::Page, Severity::Ticket, Severity::Notice] {
            let of = |alert: &&Alert| {
                alert.is_firing() && Rule::named(&alert.name).is_some_and(|rule| rule.severity == severity)
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

/// When the last backup was taken to its end; nothing of a store that no daemon has looked at yet.
pub fn last_backup(store: &Store) -> Option<BackupTaken> {
    store.read(Tree::Alerts, BACKUP).ok().flatten()
}

/// Notes that a backup was taken to its end now.
///
/// # Errors
/// Why it is not written.
pub async fn note_backup(store: &Store, by: &str, missed: u64) -> Result<(), CommitError> {
    write_backup(store, BackupTaken { at_ms: store.now_ms(), by: Some(by.to_owned()), missed }).await
}

/// Tells the metrics of the last backup; a store without one is as old as this. Those of a database are not ours to take.
pub(super) async fn begin_backups(store: &Store) -> Result<(), CommitError> {
    if store.is_shared() || last_backup(store).is_some() {
        note_last_backup(store);
        return Ok(());
    }
    write_backup(store, BackupTaken { at_ms: store.now_ms(), by: None, missed: 0 }).await
}

/// Tells the metrics of the last backup, where there is one, of a store in files.
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
