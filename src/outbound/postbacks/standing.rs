//! The status of subscriptions.

use serde::{Deserialize, Serialize};

use super::ledger::PostbackLedger;
use super::record::{AttemptResult, PostbackRecordKind};
use super::subscription::Subscription;
use super::subscriptions::Subscriptions;
use offerd_store::{CommitError, Store};

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
pub fn standings(store: &Store, declared: &Subscriptions) -> Result<Vec<SubscriptionStatus>, CommitError> {
    declared.all().iter().map(|subscription| standing(store, subscription)).collect()
}

/// The active subscriptions whose calls fail, each with its name and since when, in Unix milliseconds.
pub fn failing(store: &Store, subscriptions: &Subscriptions) -> Vec<(String, i64)> {
    let calling = subscriptions.all().iter().filter(|subscription| !subscription.paused);
    let since = |of: &Subscription| PostbackLedger::of(store, of).tried()?.failing_since_ms;
    calling.filter_map(|one| Some((one.name.clone(), since(one)?))).collect()
}

fn standing(store: &Store, subscription: &Subscription) -> Result<SubscriptionStatus, CommitError> {
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
        dead: ledger.deliveries(PostbackRecordKind::Dead)?.len(),
        last: tried.map(|tried| tried.last),
    })
}
