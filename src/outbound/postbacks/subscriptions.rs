//! The subscriptions in force, and their status.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::check;
use super::ledger::PostbackLedger;
use super::record::{AttemptResult, RecordKind};
use super::subscription::Subscription;
use offerd_base::config::PostbackSettings;
use offerd_base::declaration::{DeclarationsDiff, Fault, FileEdit, Source, declared_in};
use offerd_store::{CommitError, Store};

/// All subscriptions, by name, with their common limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscriptions {
    /// The common limits.
    pub settings: PostbackSettings,
    all: Vec<Arc<Subscription>>,
}

impl Subscriptions {
    /// No subscriptions.
    pub fn none(settings: &PostbackSettings) -> Self {
        Self { settings: settings.clone(), all: Vec::new() }
    }

    /// Loads every `*.toml` of `postbacks.path`. A missing directory is an empty one. `edit` changes
    /// a file, if any.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn load(settings: &PostbackSettings, edit: Option<&FileEdit>) -> Result<Self, Vec<Fault>> {
        let read = |name: &str, source: &Source| check::subscription(name, source).map(Arc::new);
        let (all, faults) = declared_in(&settings.path, "postbacks.path", edit, read);
        if faults.is_empty() { Ok(Self { settings: settings.clone(), all }) } else { Err(faults) }
    }

    /// The changes in `after`, including changed secrets.
    pub fn diff(&self, after: &Self) -> DeclarationsDiff {
        DeclarationsDiff::between(&self.all, &after.all, |subscription| &subscription.name)
    }

    /// A text that is equal for equal subscriptions, independent of file paths; secrets are hidden.
    pub fn text(&self) -> String {
        let all = self.all.iter().map(|one| Subscription { file: PathBuf::new(), ..one.as_ref().clone() });
        format!("{:?}", all.collect::<Vec<_>>())
    }

    /// All subscriptions.
    pub fn all(&self) -> &[Arc<Subscription>] {
        &self.all
    }

    /// Finds a subscription by name.
    pub fn named(&self, name: &str) -> Option<&Arc<Subscription>> {
        self.all.iter().find(|subscription| subscription.name == name)
    }

    /// The subscriptions that are not paused.
    pub fn active(&self) -> impl Iterator<Item = &Arc<Subscription>> {
        self.all.iter().filter(|subscription| !subscription.paused)
    }

    /// Warnings for files whose company has no token, a sentence each: they will send nothing.
    pub fn without_token(&self, holders: &BTreeSet<String>) -> Vec<String> {
        let strange = self.active().filter(|subscription| !holders.contains(&subscription.company));
        let told = strange.map(|subscription| {
            let Subscription { file, company, .. } = &**subscription;
            format!("{}: `company` names `{company}`, which has no token", file.display())
        });
        told.collect()
    }
}

/// The status of a subscription. Times are in Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionStatus {
    /// Its name.
    pub name: String,
    /// The company whose events it sends.
    pub company: String,
    /// The kind of call: `webhook` or `url`.
    pub kind: String,
    /// The host that it calls.
    pub host: String,
    /// Whether it sends events of test leads.
    pub test: bool,
    /// Whether sending is suspended.
    pub paused: bool,
    /// The age of the oldest unacknowledged event in seconds; `None` if all are acknowledged.
    pub lag_seconds: Option<f64>,
    /// Events taken from the feed and not acknowledged.
    pub outstanding: usize,
    /// Since when calls have failed.
    pub failing_since: Option<i64>,
    /// The number of dead letters.
    pub dead: usize,
    /// The result of the last call.
    pub last: Option<AttemptResult>,
}

/// The status of all subscriptions, by name. Blocks while it reads the store.
///
/// # Errors
/// The disk cannot be read.
pub fn statuses(store: &Store, declared: &Subscriptions) -> Result<Vec<SubscriptionStatus>, CommitError> {
    declared.all().iter().map(|subscription| status_of(store, subscription)).collect()
}

/// The active subscriptions whose calls fail, each with its name and since when, in Unix milliseconds.
pub fn failing(store: &Store, subscriptions: &Subscriptions) -> Vec<(String, i64)> {
    let calling = subscriptions.all().iter().filter(|subscription| !subscription.paused);
    let since = |of: &Subscription| PostbackLedger::of(store, of).tried()?.failing_since_ms;
    calling.filter_map(|one| Some((one.name.clone(), since(one)?))).collect()
}

fn status_of(store: &Store, subscription: &Subscription) -> Result<SubscriptionStatus, CommitError> {
    let ledger = PostbackLedger::of(store, subscription);
    let outstanding = ledger.outstanding()?;
    let oldest_ms = outstanding.iter().map(|(_, delivery)| delivery.taken_ms).min();
    let tried = ledger.tried();
    Ok(SubscriptionStatus {
        name: subscription.name.clone(),
        company: subscription.company.clone(),
        kind: subscription.way.word().to_owned(),
        host: subscription.host.clone(),
        test: subscription.test,
        paused: subscription.paused,
        lag_seconds: oldest_ms.map(|oldest_ms| (store.now_ms() - oldest_ms).max(0) as f64 / 1000.0),
        outstanding: outstanding.len(),
        failing_since: tried.as_ref().and_then(|tried| tried.failing_since_ms),
        dead: ledger.deliveries(RecordKind::Dead)?.len(),
        last: tried.map(|tried| tried.last),
    })
}
