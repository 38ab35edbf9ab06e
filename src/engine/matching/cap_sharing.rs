//! Sharing the caps and budgets of seats with the other processes on a store, beside the leads.
//!
//! What of a cap is handed out to whom is a record ([`HandedOut`]) that each changes under a guard, so that together they never ask more than
//! the cap. A process that has ended without giving back what it held is seen to by whoever reads the record next: what it had asked is
//! counted from the rate tables, as at a start. Where the store is this process's alone, nothing is done.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use tracing::{error, warn};
use uuid::Uuid;

use super::engine::Engine;
use super::limiter::batch::{Capped, HandedOut, Wish};
use offerd_partners::Book;
use offerd_store::{Commit, CommitError, ReadError, Topic, Tree, codec};

/// Between two looks at what is held.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How often a record is read again that others have changed meanwhile, before that waits for the next look.
const TRIES: usize = 16;

/// How long a record is kept after its period, in ms.
const KEPT: i64 = 24 * 60 * 60 * 1000;

/// Between two looks for records whose periods are long over.
const SWEEP: Duration = Duration::from_secs(60 * 60);

/// Of the time, so much may be spent with summing budgets up: one in so many.
const SUMMING: u32 = 20;

/// A cap whose record was read.
struct Found {
    capped: Capped,
    wish: Wish,
    /// The payload, if there was one.
    known: Option<Vec<u8>>,
    /// Whether there was none that says anything.
    is_new: bool,
    record: HandedOut,
}

/// Takes what this process should hold of the caps of a book, and gives back what it should not: once this returns, its seats are asked as
/// often as that.
///
/// # Errors
/// Why nothing, or not all, was taken.
pub async fn share_out(engine: &Arc<Engine>, book: &Book) -> Result<(), String> {
    let store = &engine.records.store;
    if !store.is_shared() {
        return Ok(());
    }
    let _settling = engine.limiter.settling().await;
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
            // Who has lost is due again.
            outcome.map_err(|failure| failure.to_string())?;
        }
    }
    Ok(())
}

/// Does that for the book of the day, and sums budgets up, for ever.
pub async fn keep(engine: Arc<Engine>) {
    let store = engine.records.store.clone();
    if !store.is_shared() {
        return;
    }
    let mut swept = Instant::now();
    let mut is_told = false;
    loop {
        tokio::select! {
            () = engine.limiter.until_short() => {}
            () = sleep(LOOK_AGAIN) => {}
        }
        let shared = share_out(&engine, &engine.book()).await;
        if let Err(failure) = &shared
            && !is_told
        {
            error!(%failure, "what this node may ask of capped seats cannot be settled with the others; it is tried again");
        }
        is_told = shared.is_err();
        if store.leads() && swept.elapsed() >= SWEEP {
            swept = Instant::now();
            sweep(&engine).await;
        }
    }
}

/// Sums budgets up again each second, or as often as a twentieth of the time is enough for, where others earn too, for ever.
pub async fn follow_budgets(engine: Arc<Engine>) {
    let store = engine.records.store.clone();
    if !store.is_shared() {
        return;
    }
    let (mut alone_since, mut is_told) = (None, false);
    loop {
        let (changes, alone) = (store.changes_of(Topic::Nodes), store.known_alive() == 1);
        let has_budget = engine.book().seats().iter().any(|seat| seat.limits.per_day_budget.is_some());
        let begun = Instant::now();
        // Who is alone has booked all that was earned since nobody else was there.
        if has_budget && !(alone && alone_since == Some(changes)) {
            let summing = Arc::clone(&engine);
            let summed = spawn_blocking(move || summing.limiter.sum_up(&summing.records)).await;
            let is_summed = matches!(summed, Ok(Ok(())));
            if !is_summed && !is_told {
                error!("budgets cannot be summed up with what other nodes earn; it is tried again");
            }
            is_told = !is_summed;
            alone_since = (alone && is_summed).then_some(changes);
        }
        sleep(LOOK_AGAIN.max(begun.elapsed() * SUMMING)).await;
    }
}

/// Gives back all that this process holds of caps, which asks no more. What cannot be given back is counted from the rate tables later.
pub async fn give_back(engine: &Engine) {
    if engine.records.store.is_shared() {
        let _settling = engine.limiter.settling().await;
        join_all(
            engine.limiter.let_go().into_iter().map(|(capped, asked)| give_one_back(engine, capped, asked)),
        )
        .await;
    }
}

async fn give_one_back(engine: &Engine, capped: Capped, asked: u32) {
    let store = &engine.records.store;
    for _ in 0..TRIES {
        let Ok(Some(known)) = store.get(Tree::Caps, capped.key()) else { return };
        let record = store.decode_json::<HandedOut>(Tree::Caps, &capped.key(), &known);
        let Ok(mut record) = record else { return };
        record.give_back(store.node(), asked);
        match write(engine, &capped, Some(known), &record).await {
            Err(CommitError::Guard { .. }) => {}
            Err(failure) => {
                return warn!(%failure, "what this node held of a cap could not be given back");
            }
            Ok(()) => return,
        }
    }
}

/// Reads the records that are due, and sees to what ended processes held. May wait for the store.
fn find(engine: &Engine, due: Vec<(Capped, Wish)>) -> Result<Vec<Found>, ReadError> {
    let store = &engine.records.store;
    let read = |(capped, wish): (Capped, Wish)| {
        let known = store.get(Tree::Caps, capped.key())?;
        let decoded = |known| store.decode_json(Tree::Caps, &capped.key(), known).ok();
        let record = known.as_deref().and_then(decoded);
        let is_new = record.is_none();
        let record = record.unwrap_or_else(|| HandedOut { until: capped.span.end, ..HandedOut::default() });
        Ok(Found { capped, wish, known, is_new, record })
    };
    let mut found: Vec<Found> = due.into_iter().map(read).collect::<Result<_, ReadError>>()?;
    let me = BTreeSet::from([store.node()]);
    if !found.iter().any(|found| found.is_new || found.record.is_held_by_others_than(&me)) {
        return Ok(found);
    }
    // Asked for behind the records: who is in one of them and is not alive has ended, and all that it has asked can be counted.
    let alive = store.alive()?;
    let is_unknown = |found: &Found| found.is_new || found.record.is_held_by_others_than(&alive);
    if found.iter().any(is_unknown) {
        count(engine, &alive, found.iter_mut().filter(|found| is_unknown(found)).collect())?;
    }
    Ok(found)
}

/// Counts from the rate tables what was asked in periods that nobody has begun, or by processes that have ended.
fn count(engine: &Engine, alive: &BTreeSet<Uuid>, mut unknown: Vec<&mut Found>) -> Result<(), ReadError> {
    let node = engine.records.store.node();
    unknown.iter_mut().for_each(|found| engine.limiter.note(&found.capped, node, &mut found.record));
    let spans = unknown.iter().map(|found| &found.capped.span);
    let mut counted = engine.limiter.counted(&engine.records, spans)?;
    for found in &mut unknown {
        let asked = counted.of(&found.capped);
        found.record.end(alive, asked);
    }
    Ok(())
}

/// Changes a record to what should be held here, and holds that once the store has taken it.
async fn take(engine: &Engine, found: Found) -> Result<(), CommitError> {
    let Found { capped, wish, known, mut record, .. } = found;
    let node = engine.records.store.node();
    let before = record.clone();
    engine.limiter.wish(&capped, wish, node, &mut record);
    if known.is_none() || record != before {
        match write(engine, &capped, known, &record).await {
            // It is due still, and what is in the record by then counts.
            Err(CommitError::Guard { .. }) => return Ok(()),
            written => written?,
        }
    }
    engine.limiter.hold(&capped, wish, node, &record);
    Ok(())
}

async fn write(
    engine: &Engine,
    capped: &Capped,
    known: Option<Vec<u8>>,
    record: &HandedOut,
) -> Result<(), CommitError> {
    let key = capped.key();
    let commit = Commit::new().as_found(Tree::Caps, &key, known);
    engine.records.store.commit(commit.put(Tree::Caps, &key, codec::encode_json(record))).await
}

/// Removes the records of periods that are long over.
async fn sweep(engine: &Arc<Engine>) {
    let store = engine.records.store.clone();
    let before = engine.limiter.now() - KEPT;
    let old = move || -> Vec<Vec<u8>> {
        let is_old = |(key, bytes): &(Vec<u8>, Vec<u8>)| {
            let record = store.decode_json::<HandedOut>(Tree::Caps, key, bytes);
            record.is_ok_and(|record| record.until < before)
        };
        let records = store.scan(Tree::Caps, []).filter_map(Result::ok);
        records.filter(is_old).map(|(key, _)| key).collect()
    };
    let old = spawn_blocking(old).await.unwrap_or_default();
    let commit = old.iter().fold(Commit::new(), |commit, key| commit.remove(Tree::Caps, key));
    if !old.is_empty()
        && let Err(failure) = engine.records.store.commit(commit).await
    {
        warn!(%failure, "what was handed out of caps in past periods could not be removed; it is tried again");
    }
}
