//! Dead letters: events that were given up, to be inspected and sent again.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ledger::PostbackLedger;
use super::record::{AttemptResult, PostbackDelivery, RecordKind};
use super::subscription::Subscription;
use offerd_engine::records::projection::blocking;
use offerd_model::EventType;
use offerd_store::{Commit, CommitError, Store, Tree, codec};

const AT_ONCE: usize = 500;

/// An event that was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The event's lead.
    pub lead_uuid: Uuid,
    /// The type of event.
    pub event_type: EventType,
    /// The number of attempts.
    pub attempts: u32,
    /// When it was given up, in Unix milliseconds.
    pub given_up_at: i64,
    /// The result of the last attempt.
    pub last: Option<AttemptResult>,
}

/// Selects the dead letters to send again.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// Those of this lead; all if `None`.
    pub lead_uuid: Option<Uuid>,
}

/// The result of a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retried {
    /// The number of requeued letters.
    pub put_back: usize,
}

/// The dead letters of a subscription, oldest event first. Blocks while it reads the store.
///
/// # Errors
/// The disk cannot be read.
pub fn dead_letters(store: &Store, subscription: &Subscription) -> Result<Vec<DeadLetter>, CommitError> {
    let shown = |PostbackDelivery { lead, event_type, attempts, next_ms, last, .. }: PostbackDelivery| {
        DeadLetter { lead_uuid: lead, event_type, attempts, given_up_at: next_ms, last }
    };
    Ok(dead(store, subscription)?.into_iter().map(shown).collect())
}

/// The dead letters as stored. Blocks while it reads the store.
///
/// # Errors
/// The disk cannot be read.
pub fn dead(store: &Store, subscription: &Subscription) -> Result<Vec<PostbackDelivery>, CommitError> {
    let letters = PostbackLedger::of(store, subscription).deliveries(RecordKind::Dead)?;
    Ok(letters.into_iter().map(|(_, letter)| letter).collect())
}

/// The events that were sent and not acknowledged, oldest first. Blocks while it reads the store.
///
/// # Errors
/// The disk cannot be read.
pub fn waiting(store: &Store, subscription: &Subscription) -> Result<Vec<PostbackDelivery>, CommitError> {
    let outstanding = PostbackLedger::of(store, subscription).outstanding()?.into_iter();
    Ok(outstanding.map(|(_, delivery)| delivery).filter(|delivery| delivery.attempts > 0).collect())
}

/// Requeues dead letters as if they had just arrived, ahead of their leads' younger events.
///
/// # Errors
/// The failure of the store; some letters may be requeued.
pub async fn retry(store: &Store, subscription: &Subscription, retry: Retry) -> Result<Retried, CommitError> {
    let ledger = PostbackLedger::of(store, subscription);
    let is_meant = |letter: &PostbackDelivery| retry.lead_uuid.is_none_or(|lead| letter.lead == lead);
    let reads = ledger.clone();
    let mut letters = blocking(move || reads.deliveries(RecordKind::Dead)).await??;
    letters.retain(|(_, letter)| is_meant(letter));
    let now_ms = store.now_ms();
    for some in letters.chunks(AT_ONCE) {
        let commit = some.iter().fold(Commit::new(), |commit, (place, letter)| {
            let back = PostbackDelivery { taken_ms: now_ms, attempts: 0, next_ms: now_ms, ..letter.clone() };
            commit.remove(Tree::Postbacks, ledger.keys.one(RecordKind::Dead, *place)).put(
                Tree::Postbacks,
                ledger.keys.one(RecordKind::PutBack, *place),
                codec::encode(&back),
            )
        });
        store.commit(commit).await?;
    }
    Ok(Retried { put_back: letters.len() })
}
