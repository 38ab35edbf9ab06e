//! Recovery: every pending table without an owner resumes under its original deadline, after a restart, a
//! failure of the disk or database, or the death of another node. Recorded answers stay. A pending seat that
//! the current book still has for the lead is asked again. One that it has not fails (`Gone`), and so does
//! one whose at-most-once call may have been sent (`Unsure`).

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use metrics::counter;
use tracing::{error, info};
use uuid::Uuid;

use super::engine::MatchingEngine;
use super::matchmaker::Matchmaker;
use crate::records::open_tables::OpenTable;
use offerd_base::telemetry::metrics::TABLES_RECOVERED;
use offerd_store::{CommitError, ReadError, Topic};

/// How long a table may have no actor because it is only just being accepted.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

const AT_ONCE: usize = 256;

/// Nodes, by [turn](OpenTable::turn), that try to take over a table at once, and the factor on each retry.
const FIRST_CANDIDATES: usize = 1;
const CANDIDATES_FACTOR: usize = 4;

/// When the daemon tries again.
const LATER: &str = "and is tried again after a failure of the store, and at the next start";

#[derive(Default)]
struct OrphanedTables {
    of_dead_nodes: Vec<OpenTable>,
    alive: BTreeSet<Uuid>,
    /// Tables of this node without an actor: abandoned, or just being started.
    of_this_node: HashSet<Uuid>,
}

/// Takes over and resumes the pending tables of dead nodes for which this node ranks first; returns how many.
/// Tables past their deadline complete at once with the answers they have.
pub async fn recover(matchmaker: &Matchmaker) -> usize {
    match orphaned(matchmaker).await {
        Ok(orphaned) => take_over(matchmaker, orphaned.ranked_below(FIRST_CANDIDATES, matchmaker)).await,
        Err(error) => {
            error!(%error, "cannot find the pending rate tables; will retry when the store works again");
            0
        }
    }
}

#[derive(PartialEq, Eq)]
enum RecoveryCause {
    /// The last run may have left some.
    Again,
    /// A node has started or ended.
    Nodes,
    /// The store recovered from a failure: it may hold a table whose acceptance it could not confirm.
    Mended,
}

/// Runs recovery for ever: whenever a node ends, and whenever the store recovers from a failure.
pub async fn recover_continuously(matchmaker: &Matchmaker) {
    let store = &matchmaker.engine().records.store;
    let mut nodes = store.changes_of(Topic::Nodes);
    let mut waiting: HashSet<Uuid> = HashSet::new();
    let (mut ranks, mut is_left) = (FIRST_CANDIDATES, true);
    loop {
        let look = tokio::select! {
            () = store.until_mended() => RecoveryCause::Mended,
            () = tokio::time::sleep(LOOK_AGAIN), if is_left || !waiting.is_empty() => RecoveryCause::Again,
            seen = store.until_changed(Topic::Nodes, nodes) => {
                nodes = seen;
                RecoveryCause::Nodes
            }
        };
        ranks = if look == RecoveryCause::Again {
            ranks.saturating_mul(CANDIDATES_FACTOR)
        } else {
            FIRST_CANDIDATES
        };
        let Ok(orphaned) = orphaned(matchmaker).await else { continue };
        let mine = orphaned.ranked_below(ranks, matchmaker);
        is_left = mine.len() < orphaned.of_dead_nodes.len();
        take_over(matchmaker, mine).await;
        if look == RecoveryCause::Nodes {
            continue;
        }
        // A table without an owner now is abandoned, or its actor was just being started.
        let (left, new): (HashSet<_>, HashSet<_>) =
            orphaned.of_this_node.into_iter().partition(|table| waiting.contains(table));
        resume_all(matchmaker, left).await;
        waiting = if look == RecoveryCause::Mended { new } else { HashSet::new() };
    }
}

impl OrphanedTables {
    fn ranked_below(&self, ranks: usize, matchmaker: &Matchmaker) -> Vec<OpenTable> {
        let me = matchmaker.engine().records.store.node();
        self.of_dead_nodes.iter().copied().filter(|table| table.turn(me, &self.alive) < ranks).collect()
    }
}

/// Reads the pending tables, then the live nodes: in this order, the owner of a new table was alive before.
async fn orphaned(matchmaker: &Matchmaker) -> Result<OrphanedTables, ReadError> {
    let engine = Arc::clone(matchmaker.engine());
    let read = tokio::task::spawn_blocking(move || read_orphaned(&engine)).await;
    // Fails only by a panic or at the end of the process.
    read.unwrap_or_else(|_| Ok(OrphanedTables::default()))
}

fn read_orphaned(engine: &MatchingEngine) -> Result<OrphanedTables, ReadError> {
    let store = &engine.records.store;
    let open = OpenTable::all(store).collect::<Result<Vec<_>, _>>()?;
    let alive = store.alive()?;
    let mut found = OrphanedTables { alive, ..OrphanedTables::default() };
    for table in open {
        if table.node == store.node() {
            if !engine.actors.has(table.uuid) {
                found.of_this_node.insert(table.uuid);
            }
        } else if !found.alive.contains(&table.node) {
            found.of_dead_nodes.push(table);
        }
    }
    Ok(found)
}

async fn take_over(matchmaker: &Matchmaker, tables: Vec<OpenTable>) -> usize {
    let store = &matchmaker.engine().records.store;
    let mut recovered = 0;
    for tables in tables.chunks(AT_ONCE) {
        let commits = tables.iter().map(|table| store.commit(table.taken_over_by(store.node())));
        let mut taken = Vec::with_capacity(tables.len());
        for (table, outcome) in tables.iter().zip(join_all(commits).await) {
            match outcome {
                Ok(()) => taken.push(table.uuid),
                Err(CommitError::Guard { .. }) => {}
                Err(failure) => {
                    error!(rate_table = %table.uuid, %failure, "cannot take over a pending rate table; it \
                        stays in the store unchanged, {LATER}");
                }
            }
        }
        recovered += resume_all(matchmaker, taken).await;
    }
    recovered
}

async fn resume_all(matchmaker: &Matchmaker, open: impl IntoIterator<Item = Uuid>) -> usize {
    let mut recovered = 0;
    for table in open {
        match matchmaker.resume(table).await {
            Ok(goes_on) => recovered += usize::from(goes_on),
            Err(_) => {
                error!(rate_table = %table, "cannot recover a pending rate table; it stays in the store \
                    unchanged, {LATER}")
            }
        }
    }
    if recovered > 0 {
        counter!(TABLES_RECOVERED).increment(recovered as u64);
        info!(rate_tables = recovered, "continuing pending rate tables");
    }
    recovered
}
