//! A test alert, sent to receivers at once and ahead of their queues.

use serde::{Deserialize, Serialize};

use super::message::{AlertMessage, MessageBatch};
use super::receiver::{all, names};
use super::state::{Alert, AlertChange};
use super::webhook::wire;
use offerd_base::config::AlertSettings;
use offerd_base::declaration::{did_you_mean, nearest};

/// The result of a test for one receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiverTest {
    /// The receiver's name.
    pub receiver: String,
    /// The destination.
    pub place: String,
    /// Why it has not taken it, if it has not.
    pub error: Option<String>,
}

/// Checks that a receiver exists, if a name is given.
///
/// # Errors
/// There is none; with the nearest name.
pub fn check_receiver(settings: &AlertSettings, name: Option<&str>) -> Result<(), String> {
    let known = names(settings);
    let is_none = |name: &&str| !known.iter().any(|one| one == name);
    let Some(name) = name.filter(is_none) else { return Ok(()) };
    let near = did_you_mean(nearest(name, known.iter().map(String::as_str)));
    Err(format!("there is no receiver `{name}`: `offerd alerts list` shows all{near}"))
}

/// Sends a firing test alert to all receivers, or to one; only [the result](super::AlertBoard::tried) is recorded.
pub async fn try_out(settings: &AlertSettings, only: Option<&str>, now_ms: i64) -> Vec<ReceiverTest> {
    let alert = Alert {
        name: "OfferdTest".to_owned(),
        labels: Vec::new(),
        summary: "this is a test of alert delivery".to_owned(),
        since_ms: now_ms,
        fired_ms: Some(now_ms),
        ended_ms: None,
        held_ms: now_ms,
    };
    let message = AlertMessage::of(AlertChange::Fired, &alert, now_ms);
    let mut tried = Vec::new();
    let wire = wire();
    for one in all(settings).into_iter().filter(|one| only.is_none_or(|name| name == one.name())) {
        let batch = MessageBatch::to(one.name(), vec![message.clone()], settings);
        let error = one.tell(&wire, &batch).await.unwrap_or_else(Some);
        tried.push(ReceiverTest { receiver: batch.receiver, place: one.place(), error });
    }
    tried
}
