//! The engine for databases with PostgreSQL's protocol: PostgreSQL itself, or a distributed one.
//!
//! # Layout
//! One table of records, `offerd_records`: the byte of the tree and the key, and the framed and sealed value.
//! Other tables hold the sealed keys and the schema version. [`statements`] lists every statement.
//!
//! # How a commit becomes durable
//! A group is one transaction of two round trips:
//! 1. The transaction begins, and reads and locks the existing records that its commits depend on.
//! 2. `group` decides the outcome, and all writes are sent together with the COMMIT. A record that was found
//!    missing is inserted, so the group fails if another node has written it since. One that a guard requires
//!    to be missing, and that the group does not write, is inserted and removed again, for the same reason.
//!
//! A group in conflict with another is rolled back and retried. While the database is lost or refuses writes,
//! the store is failed; reads continue where the database still answers them.
//!
//! # Who writes
//! Every live process that has [joined](mod@nodes); each transaction checks this. Arrivals are serialised
//! across processes by a lock on the last one: no record appears before one already readable. A process that
//! has the latest keys may replace them as a whole; a group is sealed with the latest keys, or retried.
//!
//! # Where it waits
//! Each read is a round trip that blocks the calling thread. They have their own runtime ([`client`]).

mod bulk;
pub(crate) mod client;
mod database;
mod directory_id;
mod figures;
mod keys;
mod nodes;
mod schema;
mod statements;
#[cfg(test)]
pub(super) mod tests;
mod transaction;
mod writer;

use std::collections::BTreeSet;
use std::sync::Arc;

use uuid::Uuid;

pub(super) use self::bulk::{DatabaseTables, END};
use self::client::Client;
pub(super) use self::client::fault;
pub(super) use self::database::Database;
pub use self::figures::DatabaseFigures;
use self::keys::DatabaseKeys;
use self::nodes::LeasedNode;
use self::writer::DatabaseWriter;
pub(super) use self::writer::PROBE;
use super::arrival_clock::ArrivalClock;
use super::cluster::{Cluster, NodeRow};
use super::committer::Committer;
use super::engine::StoreBackend;
use super::sealing::{Sealing, SealingError};
use super::stall::Stalls;
use super::topics::Topics;
use crate::{
    Arrivals, DiskError, FailureLatch, LAST_ARRIVAL, MasterKey, ReadResult, StoreError, StoreOptions, Tree,
    io_error,
};
use offerd_base::config::PostgresSettings;

/// An open store before its background work starts.
pub(super) struct OpenedDatabase {
    pub(super) database: Arc<Database>,
    pub(super) committer: Committer<DatabaseWriter>,
    pub(super) clock: Arc<ArrivalClock>,
    pub(super) topics: Arc<Topics>,
    pub(super) cluster: Arc<Cluster>,
}

pub(super) fn open(
    options: &StoreOptions,
    database: &PostgresSettings,
) -> Result<OpenedDatabase, StoreError> {
    let master = MasterKey::find(options.master_key_file.as_deref(), &options.path)?;
    let client = Arc::new(Client::of(database).map_err(StoreError::Database)?);
    let is_new = !schema::is_known(&client)?;
    if is_new {
        schema::make(&client)?;
    }
    let keys = Arc::default();
    let place = Box::new(DatabaseKeys::of(Arc::clone(&client), Arc::clone(&keys)));
    let sealing = Sealing::open(place, master, &options.path, is_new)?;
    let directory_id =
        directory_id::find_or_make(&options.path).map_err(|source| io_error(&options.path, source))?;
    let node = LeasedNode::join(&client, directory_id, database.lease)?;
    let latch = Arc::new(FailureLatch::default());
    node.keep(&client, &latch);
    let (topics, cluster) = (Arc::clone(&node.topics), Arc::clone(&node.cluster));
    let database = Arc::new(Database::new(client, node, keys, sealing));
    let last_us = last_arrival_us(&*database)?;
    let clock = Arc::new(ArrivalClock::after(last_us, options.clock.clone(), options.clock_limits));
    let arrivals = Arrivals::after(last_us, Arc::clone(&clock));
    let stalls = Arc::new(Stalls::new(options.stall_after));
    let writer = DatabaseWriter::new(Arc::clone(&database), arrivals, Arc::clone(&stalls));
    let mend_interval = options.mend_interval;
    let mut committer = Committer { latch, stalls, mend_interval, tried: None, writer };
    committer.finish_rewraps();
    Ok(OpenedDatabase { database, committer, clock, topics, cluster })
}

pub(super) fn leave(database: &Database, refused: StoreError) -> Result<(), StoreError> {
    let left = database.node.leave(&database.client);
    left.unwrap_or_else(|failure| tracing::debug!(%failure, "could not release the lease of the database"));
    Err(refused)
}

pub(super) fn figures(database: &PostgresSettings) -> Result<Option<DatabaseFigures>, StoreError> {
    let client = Arc::new(Client::of(database).map_err(StoreError::Database)?);
    Ok(figures::ask(&client)?)
}

pub(super) fn nodes(database: &Database) -> ReadResult<Vec<NodeRow>> {
    Ok(nodes::list(&database.client).map_err(DiskError::from)?)
}

pub(super) fn alive(database: &Database) -> ReadResult<BTreeSet<Uuid>> {
    Ok(nodes::alive(&database.client).map_err(DiskError::from)?)
}

/// The other live nodes; ends those with expired leases.
pub(super) fn others(database: &Database) -> Result<Vec<Uuid>, SealingError> {
    let alive = nodes::alive_by_lease(&database.client).map_err(|failure| SealingError::Io {
        path: "table offerd_nodes".into(),
        error: std::io::Error::other(failure.to_string()),
    })?;
    Ok(alive.into_iter().filter(|node| *node != database.node.cluster.me).collect())
}

pub(super) fn last_arrival_us(database: &(impl StoreBackend + ?Sized)) -> Result<u64, StoreError> {
    let last = database.get(Tree::Meta, LAST_ARRIVAL)?;
    Ok(last.and_then(|last| last.try_into().ok()).map_or(0, u64::from_be_bytes))
}
