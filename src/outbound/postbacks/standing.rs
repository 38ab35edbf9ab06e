//! How subscriptions stand, as it is listed.

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::record::{Ended, What};
use super::subscription::Subscription;
use super::subscriptions::Subscriptions;
use offerd_store::{CommitError, Store};

/// How a subscription stands. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Whose events it tells.
    pub company: String,
    /// How: `webhook` or `url`.
    pub kind: String,
    /// Whom it calls.
    pub host: String,
    /// Whether it tells of test leads.
    pub test: bool,
    /// Whether it sends nothing for now.
    pub paused: bool,
    /// How long the oldest event waits that was not acknowledged, in seconds; nothing when none does.
    pub lag_seconds: Option<f64>,
    /// Events that were taken from the feed and not acknowledged.
    pub outstanding: usize,
    /// Since when calls fail.
    pub failing_since: Option<i64>,
    /// Events that were given up.
    pub dead: usize,
    /// How the last call ended.
    pub last: Option<Ended>,
}

/// All of them, in the order of their names. Blocks while it reads.
///
/// # Errors
/// The disk does not read.
pub fn standings(store: &Store, subscriptions: &Subscriptions) -> Result<Vec<Standing>, CommitError> {
    subscriptions.all().iter().map(|subscription| standing(store, subscription)).collect()
}

/// The subscriptions whose calls fail, by name, each with since when, Unix milliseconds. One that is paused makes none.
pub fn failing(store: &Store, subscriptions: &Subscriptions) -> Vec<(String, i64)> {
    let calling = subscriptions.all().iter().filter(|subscription| !subscription.paused);
    let since = |subscription: &Subscription| Ledger::of(store, subscription).tried()?.failing_since_ms;
    calling.filter_map(|one| Some((one.name.clone(), since(one)?))).collect()
}

fn standing(store: &Store, subscription: &Subscription) -> Result<Standing, CommitError> {
    let ledger = Ledger::of(store, subscription);
    let outstanding = ledger.outstanding()?;
    let oldest_ms = outstanding.iter().map(|(_, delivery)| delivery.taken_ms).min();
    let tried = ledger.tried();
    Ok(Standing {
        name: subscription.name.clone(),
        company: subscription.company.clone(),
        kind: subscription.way.word().to_owned(),
        host: subscription.host.clone(),
        test: subscription.test,
        paused: subscription.paused,
        lag_seconds: oldest_ms.map(|oldest_ms| (store.now_ms() - oldest_ms).max(0) as f64 / 1000.0),
        outstanding: outstanding.len(),
        failing_since: tried.as_ref().and_then(|tried| tried.failing_since_ms),
        dead: ledger.deliveries(What::Dead)?.len(),
        last: tried.map(|tried| tried.last),
    })
}
