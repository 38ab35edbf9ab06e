//! After a restart, when a failed disk or database works again, or when another process that shared it has ended: every table that was
//! pending and that nobody sees to goes on, under its original deadline, through the same machine.
//!
//! What was answered stays as it was recorded. Who had not answered is asked again, by the book of the day, but for whoever may be posted only
//! once; who has left the book has failed.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use metrics::counter;
use tracing::{error, info};
use uuid::Uuid;

use super::engine::Engine;
use super::matchmaker::{Matchmaker, Resumed};
use crate::records::open_tables::OpenTable;
use offerd_base::telemetry::metrics::TABLES_RECOVERED;
use offerd_store::{CommitError, ReadError, Topic};

/// How long a table may be without an actor because it is only now being taken in.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How many tables are taken over at once.
const AT_ONCE: usize = 256;

/// Of all processes that see that a table is left behind so many try to take it over, by [rank](OpenTable::rank); each time that it is
/// looked again so many times more.
const FIRST: usize = 1;
const MORE: usize = 4;

/// The pending tables that nobody sees to.
#[derive(Default)]
struct Unattended {
    /// Those of processes that have ended.
    left_behind: Vec<OpenTable>,
    /// The processes that are alive.
    alive: BTreeSet<Uuid>,
    /// Those of this one that have no actor: it was left, or is just being started.
    own: HashSet<Uuid>,
}

/// Resumes the pending tables of processes that have ended and that this one is the first to take over; returns how many. Those past
/// their deadline complete at once, with what they have.
pub async fn recover(matchmaker: &Matchmaker) -> usize {
    match unattended(matchmaker).await {
        Ok(unattended) => take_over(matchmaker, unattended.of_ranks_below(FIRST, matchmaker)).await,
        Err(error) => {
            error!(%error, "it cannot be seen which rate tables are pending; it is tried again when the store works again");
            0
        }
    }
}

/// Why it is looked which tables nobody sees to.
#[derive(PartialEq, Eq)]
enum Look {
    /// Something may be left of the look before.
    Again,
    /// A process has begun or ended.
    Nodes,
    /// The store works again after a failure: it may hold the table of a lead that it could not say to have taken in.
    Mended,
}

/// Does that whenever a process that shares the store has ended, for ever; and goes on with this one's own whenever the store works
/// again after a failure.
pub async fn recover_for_ever(matchmaker: &Matchmaker) {
    let store = &matchmaker.engine().records.store;
    let mut nodes = store.changes_of(Topic::Nodes);
    let mut waiting: HashSet<Uuid> = HashSet::new();
    let (mut ranks, mut is_left) = (FIRST, true);
    loop {
        let look = tokio::select! {
            () = store.until_mended() => Look::Mended,
            () = tokio::time::sleep(LOOK_AGAIN), if is_left || !waiting.is_empty() => Look::Again,
            seen = store.until_changed(Topic::Nodes, nodes) => {
                nodes = seen;
                Look::Nodes
            }
        };
        ranks = if look == Look::Again { ranks.saturating_mul(MORE) } else { FIRST };
        let Ok(unattended) = unattended(matchmaker).await else { continue };
        let mine = unattended.of_ranks_below(ranks, matchmaker);
        is_left = mine.len() < unattended.left_behind.len();
        take_over(matchmaker, mine).await;
        if look == Look::Nodes {
            continue;
        }
        // Whoever is not seen to now either has been left, or its actor was just being started.
        let (left, new): (HashSet<_>, HashSet<_>) =
            unattended.own.into_iter().partition(|table| waiting.contains(table));
        resume_all(matchmaker, left).await;
        waiting = if look == Look::Mended { new } else { HashSet::new() };
    }
}

impl Unattended {
    /// Of what was left behind that for which this process is among so many to take it over.
    fn of_ranks_below(&self, ranks: usize, matchmaker: &Matchmaker) -> Vec<OpenTable> {
        let me = matchmaker.engine().records.store.node();
        let tables = self.left_behind.iter().copied();
        tables.filter(|table| table.rank(me, &self.alive) < ranks).collect()
    }
}

/// Reads which tables are pending, aside, and then who is alive: in this order, since who has begun a table was alive before.
async fn unattended(matchmaker: &Matchmaker) -> Result<Unattended, ReadError> {
    let engine = Arc::clone(matchmaker.engine());
    let read = tokio::task::spawn_blocking(move || read_unattended(&engine)).await;
    // It is ended by a panic only, or by the end of the process.
    read.unwrap_or_else(|_| Ok(Unattended::default()))
}

fn read_unattended(engine: &Engine) -> Result<Unattended, ReadError> {
    let store = &engine.records.store;
    let open = OpenTable::all(store).collect::<Result<Vec<_>, _>>()?;
    let alive = store.alive()?;
    let mut found = Unattended { alive, ..Unattended::default() };
    for table in open {
        if table.node == store.node() {
            if !engine.live.has(table.uuid) {
                found.own.insert(table.uuid);
            }
        } else if !found.alive.contains(&table.node) {
            found.left_behind.push(table);
        }
    }
    Ok(found)
}

/// Takes tables over and resumes those that nobody else was quicker with.
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
                    error!(rate_table = %table.uuid, %failure, "a pending rate table cannot be taken over; it stays in the store as it is");
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
            Ok(Resumed::GoesOn) => recovered += 1,
            Ok(Resumed::Erased) => {}
            Err(_) => {
                error!(rate_table = %table, "a pending rate table cannot be recovered; it stays in the store as it is")
            }
        }
    }
    if recovered > 0 {
        counter!(TABLES_RECOVERED).increment(recovered as u64);
        info!(rate_tables = recovered, "pending rate tables go on");
    }
    recovered
}
