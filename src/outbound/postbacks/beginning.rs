//! The start of new subscriptions, and the removal of those whose file is gone.

use std::time::Duration;

use super::ledger::{PostbackLedger, unreadable};
use super::record::{FeedCursor, RecordKind, SubscriptionKeys};
use super::subscriptions::Subscriptions;
use offerd_store::{Commit, CommitError, Store, Tree, codec};

/// The most attempts to start new subscriptions when other processes interfere.
const TRIES: usize = 16;

/// Records the start of each new active subscription. Once this returns, it receives every event from now on,
/// whatever happens to the process. An existing subscription continues from its cursor.
///
/// # Errors
/// The failure of the store.
pub async fn begin(store: &Store, subscriptions: &Subscriptions) -> Result<(), CommitError> {
    for _ in 0..TRIES {
        match begin_those_of_now(store, subscriptions).await {
            // Another process has started one or moved its cursor meanwhile.
            Err(CommitError::Guard { .. }) => {}
            outcome => return outcome,
        }
    }
    begin_those_of_now(store, subscriptions).await
}

async fn begin_those_of_now(store: &Store, subscriptions: &Subscriptions) -> Result<(), CommitError> {
    let mut commit = Commit::new().mark_time();
    let (now_us, mut is_new) = (store.aged_us(Duration::ZERO), false);
    for subscription in subscriptions.active() {
        let ledger = PostbackLedger::of(store, subscription);
        let before = ledger.cursor()?;
        let cursor = match before {
            Some(FeedCursor { vanished_ms: None, .. }) => continue,
            Some(cursor) => FeedCursor { vanished_ms: None, ..cursor },
            None => FeedCursor { next_us: now_us, vanished_ms: None },
        };
        let place = ledger.keys.all(RecordKind::Cursor);
        let found = before.as_ref().map(codec::encode);
        commit = commit.as_found(Tree::Postbacks, &place, found);
        commit = commit.put(Tree::Postbacks, place, codec::encode(&cursor));
        is_new = true;
    }
    if is_new { store.commit(commit).await } else { Ok(()) }
}

/// Marks subscriptions whose file is gone, and removes those marked for `postbacks.vanished_kept`.
pub(super) async fn forget_vanished(store: &Store, subscriptions: &Subscriptions) -> Result<(), CommitError> {
    let declared: Vec<SubscriptionKeys> =
        subscriptions.all().iter().map(|one| PostbackLedger::of(store, one).keys).collect();
    let kept_ms = i64::try_from(subscriptions.settings.vanished_kept.as_millis()).unwrap_or(i64::MAX);
    let now_ms = store.now_ms();
    let mut start = Vec::new();
    while let Some(first) = store.scan_from(Tree::Postbacks, &start, []).next() {
        let (key, _) = first.map_err(unreadable)?;
        let Some(keys) = SubscriptionKeys::around(&key) else { break };
        start = [&keys.0[..], &[u8::MAX]].concat();
        if declared.contains(&keys) {
            continue;
        }
        let place = keys.all(RecordKind::Cursor);
        let found = store.get(Tree::Postbacks, &place).map_err(unreadable)?;
        // An unreadable cursor is reported by the store, and removed with its subscription.
        match found.and_then(|bytes| store.decode(Tree::Postbacks, &place, &bytes).ok()) {
            Some(before @ FeedCursor { vanished_ms: None, next_us }) => {
                let cursor = FeedCursor { next_us, vanished_ms: Some(now_ms) };
                let commit = Commit::new().unchanged(Tree::Postbacks, &place, codec::encode(&before));
                match store.commit(commit.put(Tree::Postbacks, place, codec::encode(&cursor))).await {
                    // Its cursor moved meanwhile; the next sweep checks again.
                    Ok(()) | Err(CommitError::Guard { .. }) => {}
                    Err(failure) => return Err(failure),
                }
            }
            Some(FeedCursor { vanished_ms: Some(since_ms), .. }) if now_ms - since_ms < kept_ms => {}
            _ => forget(store, &keys).await?,
        }
    }
    Ok(())
}

/// Removes all records of a subscription. The cursor, whose key is the first, goes last.
async fn forget(store: &Store, keys: &SubscriptionKeys) -> Result<(), CommitError> {
    let all = store.scan(Tree::Postbacks, &keys.0).filter_map(Result::ok).map(|(key, _)| key);
    let mut all: Vec<Vec<u8>> = all.collect();
    all.reverse();
    store.remove_all(Tree::Postbacks, &all).await
}
