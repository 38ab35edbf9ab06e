//! Dead letters: events that were given up, which can be looked at and sent again.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ledger::Ledger;
use super::record::{Delivery, Ended, What};
use super::subscription::Subscription;
use offerd_engine::records::projection::blocking;
use offerd_model::EventType;
use offerd_store::{Commit, CommitError, Store, Tree, codec};

/// Letters that are put back at once.
const AT_ONCE: usize = 500;

/// An event that was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The lead that it is of.
    pub lead_uuid: Uuid,
    /// What happened.
    pub event_type: EventType,
    /// How often it was sent.
    pub attempts: u32,
    /// When it was given up, Unix milliseconds.
    pub given_up_at: i64,
    /// How the last attempt ended.
    pub last: Option<Ended>,
}

/// Which of them are to be sent again.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// Those of this lead; all of them without.
    pub lead_uuid: Option<Uuid>,
}

/// What a retry came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retried {
    /// How many letters are outstanding again.
    pub put_back: usize,
}

/// The dead letters of a subscription, the oldest event first. Blocks while it reads.
///
/// # Errors
/// The disk does not read.
pub fn dead_letters(store: &Store, subscription: &Subscription) -> Result<Vec<DeadLetter>, CommitError> {
    let shown = |Delivery { lead, event_type, attempts, next_ms, last, .. }: Delivery| DeadLetter {
        lead_uuid: lead,
        event_type,
        attempts,
        given_up_at: next_ms,
        last,
    };
    Ok(dead(store, subscription)?.into_iter().map(shown).collect())
}

/// The same, as they are kept. Blocks while it reads.
///
/// # Errors
/// The disk does not read.
pub fn dead(store: &Store, subscription: &Subscription) -> Result<Vec<Delivery>, CommitError> {
    let letters = Ledger::of(store, subscription).deliveries(What::Dead)?;
    Ok(letters.into_iter().map(|(_, letter)| letter).collect())
}

/// The events of a subscription that were sent and not acknowledged, the oldest first. Blocks while it reads.
///
/// # Errors
/// The disk does not read.
pub fn waiting(store: &Store, subscription: &Subscription) -> Result<Vec<Delivery>, CommitError> {
    let outstanding = Ledger::of(store, subscription).outstanding()?.into_iter();
    Ok(outstanding.map(|(_, delivery)| delivery).filter(|delivery| delivery.attempts > 0).collect())
}

/// Has dead letters be sent again, as if they had just arrived, before what is younger of their leads.
///
/// # Errors
/// Why the store failed; some may be put back.
pub async fn retry(store: &Store, subscription: &Subscription, retry: Retry) -> Result<Retried, CommitError> {
    let ledger = Ledger::of(store, subscription);
    let is_meant = |letter: &Delivery| retry.lead_uuid.is_none_or(|lead| letter.lead == lead);
    let reads = ledger.clone();
    let mut letters = blocking(move || reads.deliveries(What::Dead)).await??;
    letters.retain(|(_, letter)| is_meant(letter));
    let now_ms = store.now_ms();
    for some in letters.chunks(AT_ONCE) {
        let commit = some.iter().fold(Commit::new(), |commit, (place, letter)| {
            let back = Delivery { taken_ms: now_ms, attempts: 0, next_ms: now_ms, ..letter.clone() };
            commit.remove(Tree::Postbacks, ledger.keys.one(What::Dead, *place)).put(
                Tree::Postbacks,
                ledger.keys.one(What::PutBack, *place),
                codec::encode(&back),
            )
        });
        store.commit(commit).await?;
    }
    Ok(Retried { put_back: letters.len() })
}
