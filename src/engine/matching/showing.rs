//! Shows rate tables to their owners: from the cache, the actor or the records.

use std::time::Duration;

use actix::Addr;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use super::engine::MatchingEngine;
use super::messages::{AwaitTable, GetRateTable, LookForChange, Polled, TableSnapshot, Unchanged, Until};
use super::rate_table_actor::RateTableActor;
use crate::records::{Found, RecordUnavailable, reading};
use offerd_model::Viewer;

const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// How long after its deadline to wait for a table of a dead node: the lease, 5 s by default, and a poll.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(10);

/// A rate table as it is now; `None` when the viewer has no such table.
pub async fn rate_table(engine: &MatchingEngine, viewer: Viewer, uuid: Uuid) -> Found<Option<TableSnapshot>> {
    if let Some(kept) = engine.complete.get(viewer, uuid) {
        return Ok(Some(kept));
    }
    let since = engine.complete.generation();
    match engine.actors.get(uuid, viewer) {
        Some(None) => return Ok(None),
        Some(Some(actor)) => {
            // A table whose actor just stopped is complete or left to recovery; either way the store has it.
            if let Ok(Some(snapshot)) = actor.send(GetRateTable).await {
                // The store may have erased it without the actor's knowledge.
                if !snapshot.pending && complete_at(engine, viewer, uuid, &[snapshot.version]).is_some() {
                    engine.complete.insert(since, &snapshot);
                }
                return Ok(Some(snapshot));
            }
        }
        None => {}
    }
    let Some(stored) = reading::table(&engine.records, uuid)? else { return Ok(None) };
    let head = stored.head();
    if !viewer.sees(head.company, head.test) {
        return Ok(None);
    }
    let shown = engine.show(&stored).ok_or(RecordUnavailable)?;
    engine.complete.insert(since, &shown);
    Ok(Some(shown))
}

/// Polls a rate table for a client that holds these versions, and waits at most `longest` for another.
pub async fn poll(
    engine: &MatchingEngine,
    viewer: Viewer,
    table: Uuid,
    versions: &[u32],
    longest: Duration,
) -> Found<Option<Polled>> {
    let end = Instant::now() + longest;
    loop {
        match look(engine, viewer, table, versions, end.saturating_duration_since(Instant::now())).await? {
            Some(Polled::Unchanged(unchanged)) if unchanged.pending && Instant::now() < end => {
                sleep_until(end.min(Instant::now() + LOOK_AGAIN)).await;
            }
            polled => return Ok(polled),
        }
    }
}

/// A rate table once it is complete, or as it is when no node completes it.
pub async fn completed(engine: &MatchingEngine, viewer: Viewer, table: Uuid) -> Found<Option<TableSnapshot>> {
    let mut shown = rate_table(engine, viewer, table).await?;
    while let Some(pending) = shown.as_ref().filter(|shown| shown.pending) {
        let left = pending.deadline - engine.records.store.now_ms();
        let longest = Duration::from_millis(u64::try_from(left).unwrap_or(0)) + TAKEN_OVER_WITHIN;
        match poll(engine, viewer, table, &[pending.version], longest).await? {
            Some(Polled::Shown(newer)) => shown = Some(newer),
            Some(Polled::Unchanged(unchanged)) if unchanged.pending => break,
            Some(Polled::Unchanged(_)) => return rate_table(engine, viewer, table).await,
            None => return Ok(None),
        }
    }
    Ok(shown)
}

async fn look(
    engine: &MatchingEngine,
    viewer: Viewer,
    table: Uuid,
    versions: &[u32],
    longest: Duration,
) -> Found<Option<Polled>> {
    if versions.is_empty() {
        return Ok(rate_table(engine, viewer, table).await?.map(Polled::Shown));
    }
    if let Some(kept) = engine.complete.get(viewer, table) {
        return Ok(Some(kept.polled(versions)));
    }
    let unchanged = match engine.actors.get(table, viewer) {
        Some(Some(actor)) => unchanged(&actor, versions, longest).await,
        _ => complete_at(engine, viewer, table, versions),
    };
    match unchanged {
        Some(unchanged) => Ok(Some(Polled::Unchanged(unchanged))),
        None => Ok(rate_table(engine, viewer, table).await?.map(|shown| shown.polled(versions))),
    }
}

impl TableSnapshot {
    fn polled(self, versions: &[u32]) -> Polled {
        let Self { version, pending, deadline, .. } = self;
        let unchanged = Unchanged { version, pending, deadline };
        if versions.contains(&version) { Polled::Unchanged(unchanged) } else { Polled::Shown(self) }
    }
}

fn complete_at(engine: &MatchingEngine, viewer: Viewer, table: Uuid, versions: &[u32]) -> Option<Unchanged> {
    let head = reading::head(&engine.records.store, table).ok().flatten()?;
    let version = u32::try_from(head.seats.len()).ok().filter(|version| versions.contains(version))?;
    let seen = viewer.sees(head.company, head.test) && engine.records.store.is_erased(head.lead) == Ok(false);
    seen.then_some(Unchanged { version, pending: false, deadline: head.deadline })
}

async fn unchanged(actor: &Addr<RateTableActor>, versions: &[u32], longest: Duration) -> Option<Unchanged> {
    let look = || async { actor.send(LookForChange(versions.to_vec())).await.ok().flatten() };
    let unchanged = look().await?;
    if !unchanged.pending || longest.is_zero() {
        return Some(unchanged);
    }
    match tokio::time::timeout(longest, actor.send(AwaitTable(Until::After(unchanged.version)))).await {
        Ok(_) => None,
        Err(_) => look().await,
    }
}
