//! From when on a new subscription is told, and what becomes of one whose file is gone.

use std::time::Duration;

use super::ledger::{Ledger, unreadable};
use super::record::{Cursor, Keys, What};
use super::subscriptions::Subscriptions;
use offerd_store::{Commit, CommitError, Store, Tree, codec};

/// How often is looked anew which are new, where another process gets in the way.
const TRIES: usize = 16;

/// Notes for each subscription that sends something and is new that it begins here: once this returns, it is told what arrives from now on,
/// whatever happens to the process. One that was there before goes on where it was.
///
/// # Errors
/// Why the store failed.
pub async fn begin(store: &Store, subscriptions: &Subscriptions) -> Result<(), CommitError> {
    for _ in 0..TRIES {
        match begin_those_of_now(store, subscriptions).await {
            // Another process has begun one meanwhile, or taken something in.
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
        let ledger = Ledger::of(store, subscription);
        let before = ledger.cursor()?;
        let cursor = match before {
            Some(Cursor { vanished_ms: None, .. }) => continue,
            Some(cursor) => Cursor { vanished_ms: None, ..cursor },
            None => Cursor { next_us: now_us, vanished_ms: None },
        };
        let place = ledger.keys.all(What::Cursor);
        let found = before.as_ref().map(codec::encode);
        commit = commit.as_found(Tree::Postbacks, &place, found);
        commit = commit.put(Tree::Postbacks, place, codec::encode(&cursor));
        is_new = true;
    }
    if is_new { store.commit(commit).await } else { Ok(()) }
}

/// Notes of which subscriptions there is no file any more, and forgets those of which there was none for as long as they are kept.
///
/// # Errors
/// Why the store failed.
pub(super) async fn forget_vanished(store: &Store, subscriptions: &Subscriptions) -> Result<(), CommitError> {
    let declared: Vec<Keys> = subscriptions.all().iter().map(|one| Ledger::of(store, one).keys).collect();
    let kept_ms = i64::try_from(subscriptions.settings.vanished_kept.as_millis()).unwrap_or(i64::MAX);
    let now_ms = store.now_ms();
    let mut start = Vec::new();
    while let Some(first) = store.scan_from(Tree::Postbacks, &start, []).next() {
        let (key, _) = first.map_err(unreadable)?;
        let Some(keys) = Keys::around(&key) else { break };
        start = keys.behind();
        if declared.contains(&keys) {
            continue;
        }
        let place = keys.all(What::Cursor);
        let found = store.get(Tree::Postbacks, &place).map_err(unreadable)?;
        // A cursor that does not decode is reported, and goes with its subscription.
        match found.and_then(|bytes| store.decode(Tree::Postbacks, &place, &bytes).ok()) {
            Some(before @ Cursor { vanished_ms: None, next_us }) => {
                let cursor = Cursor { next_us, vanished_ms: Some(now_ms) };
                let commit = Commit::new().unchanged(Tree::Postbacks, &place, codec::encode(&before));
                match store.commit(commit.put(Tree::Postbacks, place, codec::encode(&cursor))).await {
                    // It goes on meanwhile; the next look sees whether it does yet.
                    Ok(()) | Err(CommitError::Guard { .. }) => {}
                    Err(failure) => return Err(failure),
                }
            }
            Some(Cursor { vanished_ms: Some(since_ms), .. }) if now_ms - since_ms < kept_ms => {}
            _ => forget(store, &keys).await?,
        }
    }
    Ok(())
}

/// Removes all that is held of a subscription; the cursor, whose key is the first, with the last of it.
async fn forget(store: &Store, keys: &Keys) -> Result<(), CommitError> {
    let all = store.scan(Tree::Postbacks, keys.prefix()).filter_map(Result::ok).map(|(key, _)| key);
    let mut all: Vec<Vec<u8>> = all.collect();
    all.reverse();
    store.remove_all(Tree::Postbacks, &all).await
}
