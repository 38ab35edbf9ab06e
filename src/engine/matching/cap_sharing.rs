//! Shares the caps and budgets of seats with other nodes on the store. Nodes change the grants of a cap
//! ([`CapGrants`]) under a guard, so together they never exceed it. The next reader of the record revokes the
//! grant of a dead node and counts its asks from the rate tables.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use tracing::{error, warn};

use super::engine::MatchingEngine;
use super::limiter::batch::{CapGrants, GrantRequest, SeatCap};
use offerd_partners::Book;
use offerd_store::{Commit, CommitError, ReadError, Topic, Tree, codec};

const LOOK_AGAIN: Duration = Duration::from_secs(1);

const TRIES: usize = 16;

/// Retention of a record after its period, milliseconds.
const KEPT: i64 = 24 * 60 * 60 * 1000;

const SWEEP: Duration = Duration::from_secs(60 * 60);

/// At most one part in this many of the time goes into recomputing budgets.
const SUMMING: u32 = 20;

struct FoundCap {
    capped: SeatCap,
    wish: GrantRequest,
    known: Option<Vec<u8>>,
    is_new: bool,
    record: CapGrants,
}

/// Adjusts this node's grants to the book. Once this returns, its seats are asked within the grants.
///
/// # Errors
/// Why some or all grants could not be adjusted.
pub async fn share_out(engine: &Arc<MatchingEngine>, book: &Book) -> Result<(), String> {
    let store = &engine.records.store;
    if !store.is_shared() {
        return Ok(());
    }
    let _grants_lock = engine.limiter.lock_grants().await;
    for _ in 0..TRIES {
        let nodes = u32::try_from(store.known_alive()).unwrap_or(u32::MAX);
        engine.limiter.share_among(nodes);
        let due = engine.limiter.due(book, nodes);
        if due.is_empty() {
            return Ok(());
        }
        let reading = Arc::clone(engine);
        let found = spawn_blocking(move || find(&reading, due)).await.map_err(|panic| panic.to_string())?;
        let found = found.map_err(|failure| failure.to_string())?;
        for outcome in join_all(found.into_iter().map(|found| take(engine, found))).await {
            // A lost race is due again.
            outcome.map_err(|failure| failure.to_string())?;
        }
    }
    Ok(())
}

/// Runs [`share_out`] for the current book, and sweeps old records, for ever.
pub async fn run(engine: Arc<MatchingEngine>) {
    let store = engine.records.store.clone();
    if !store.is_shared() {
        return;
    }
    let mut swept = Instant::now();
    let mut is_told = false;
    loop {
        tokio::select! {
            () = engine.limiter.short.notified() => {}
            () = sleep(LOOK_AGAIN) => {}
        }
        let shared = share_out(&engine, &engine.book()).await;
        if let Err(failure) = &shared
            && !is_told
        {
            error!(%failure, "cannot agree with the other nodes on this node's share of the caps; will \
                retry");
        }
        is_told = shared.is_err();
        if store.is_leader() && swept.elapsed() >= SWEEP {
            swept = Instant::now();
            sweep(&engine).await;
        }
    }
}

/// Recomputes budgets for ever, where other nodes earn too, in at most a twentieth of the time.
pub async fn follow_budgets(engine: Arc<MatchingEngine>) {
    let store = engine.records.store.clone();
    if !store.is_shared() {
        return;
    }
    let (mut alone_since, mut is_told) = (None, false);
    loop {
        let (changes, alone) = (store.changes_of(Topic::Nodes), store.known_alive() == 1);
        let has_budget = engine.book().seats().iter().any(|seat| seat.limits.per_day_budget.is_some());
        let begun = Instant::now();
        // A node that has been alone since the last recount has booked all earnings itself.
        if has_budget && !(alone && alone_since == Some(changes)) {
            let summing = Arc::clone(&engine);
            let summed = spawn_blocking(move || summing.limiter.sum_up(&summing.records)).await;
            let is_summed = matches!(summed, Ok(Ok(())));
            if !is_summed && !is_told {
                error!("cannot add other nodes' payouts to the budgets; will retry");
            }
            is_told = !is_summed;
            alone_since = (alone && is_summed).then_some(changes);
        }
        sleep(LOOK_AGAIN.max(begun.elapsed() * SUMMING)).await;
    }
}

/// Returns all grants; this node must ask no more. Grants that are not returned are recounted later.
pub async fn give_back(engine: &MatchingEngine) {
    if engine.records.store.is_shared() {
        let _grants_lock = engine.limiter.lock_grants().await;
        let held = engine.limiter.let_go().into_iter();
        join_all(held.map(|(capped, asked)| give_one_back(engine, capped, asked))).await;
    }
}

async fn give_one_back(engine: &MatchingEngine, capped: SeatCap, asked: u32) {
    let store = &engine.records.store;
    for _ in 0..TRIES {
        let Ok(Some(known)) = store.get(Tree::Caps, capped.key()) else { return };
        let record = store.decode_json::<CapGrants>(Tree::Caps, &capped.key(), &known);
        let Ok(mut record) = record else { return };
        record.give_back(store.node(), asked);
        match write(engine, &capped, Some(known), &record).await {
            Err(CommitError::Guard { .. }) => {}
            Err(failure) => {
                return warn!(%failure, "could not return this node's share of a cap");
            }
            Ok(()) => return,
        }
    }
}

/// Reads the due records and revokes the grants of dead nodes. May block.
fn find(engine: &MatchingEngine, due: Vec<(SeatCap, GrantRequest)>) -> Result<Vec<FoundCap>, ReadError> {
    let store = &engine.records.store;
    let read = |(capped, wish): (SeatCap, GrantRequest)| {
        let known = store.get(Tree::Caps, capped.key())?;
        let decoded = |known| store.decode_json(Tree::Caps, &capped.key(), known).ok();
        let record = known.as_deref().and_then(decoded);
        let is_new = record.is_none();
        let record = record.unwrap_or_else(|| CapGrants { until: capped.span.end, ..CapGrants::default() });
        Ok(FoundCap { capped, wish, known, is_new, record })
    };
    let mut found: Vec<FoundCap> = due.into_iter().map(read).collect::<Result<_, ReadError>>()?;
    let me = BTreeSet::from([store.node()]);
    if !found.iter().any(|found| found.is_new || found.record.is_held_by_others_than(&me)) {
        return Ok(found);
    }
    // After the records: a node in a record that is not alive now is dead, and all its asks can be counted.
    let alive = store.alive()?;
    let is_unknown = |found: &&mut FoundCap| found.is_new || found.record.is_held_by_others_than(&alive);
    let mut unknown: Vec<&mut FoundCap> = found.iter_mut().filter(is_unknown).collect();
    if let Some(since) = unknown.iter().map(|found| found.capped.span.start).min() {
        // The asks in new periods and those of dead nodes are counted from the rate tables.
        let limiter = &engine.limiter;
        unknown.iter_mut().for_each(|found| limiter.note(&found.capped, store.node(), &mut found.record));
        let mut counted = limiter.counted(&engine.records, since)?;
        unknown.iter_mut().for_each(|found| found.record.end(&alive, counted.of(&found.capped)));
    }
    Ok(found)
}

async fn take(engine: &MatchingEngine, found: FoundCap) -> Result<(), CommitError> {
    let FoundCap { capped, wish, known, mut record, .. } = found;
    let node = engine.records.store.node();
    let before = record.clone();
    engine.limiter.wish(&capped, wish, node, &mut record);
    if known.is_none() || record != before {
        match write(engine, &capped, known, &record).await {
            // It is still due and will be read again.
            Err(CommitError::Guard { .. }) => return Ok(()),
            written => written?,
        }
    }
    engine.limiter.hold(&capped, wish, node, &record);
    Ok(())
}

async fn write(
    engine: &MatchingEngine,
    capped: &SeatCap,
    known: Option<Vec<u8>>,
    record: &CapGrants,
) -> Result<(), CommitError> {
    let key = capped.key();
    let commit = Commit::new().as_found(Tree::Caps, &key, known);
    engine.records.store.commit(commit.put(Tree::Caps, &key, codec::encode_json(record))).await
}

async fn sweep(engine: &Arc<MatchingEngine>) {
    let store = engine.records.store.clone();
    let before = engine.now_ms() - KEPT;
    let old = move || -> Vec<Vec<u8>> {
        let is_old = |(key, bytes): &(Vec<u8>, Vec<u8>)| {
            let record = store.decode_json::<CapGrants>(Tree::Caps, key, bytes);
            record.is_ok_and(|record| record.until < before)
        };
        store.scan(Tree::Caps, []).filter_map(Result::ok).filter(is_old).map(|(key, _)| key).collect()
    };
    let old = spawn_blocking(old).await.unwrap_or_default();
    let commit = old.iter().fold(Commit::new(), |commit, key| commit.remove(Tree::Caps, key));
    if !old.is_empty()
        && let Err(failure) = engine.records.store.commit(commit).await
    {
        warn!(%failure, "could not remove the shares of caps of past periods; will retry");
    }
}
