//! A transaction of a group: the records it reads, locked until the end, and its writes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use tokio_postgres::types::ToSql;

use super::client::{Connection, DatabaseFailure, DatabaseResult};
use super::database::{Database, end_of};
use super::statements::{
    BEGIN, CHANGE_TOPICS, COMMIT, GET_FOR_UPDATE, HELD, HOLD_KEYS, INSERT, PUT, REMOVE, ROLLBACK, WALK,
};
use crate::broken::Reported;
use crate::engine::{EntryWalk, RawEntry, StoreBackend, walk_or_error};
use crate::raw::RawValues;
use crate::sealing::Sealing;
use crate::topics::topics_of;
use crate::{DiskResult, RecordChange, Tree, VolumeNumber};

type ReadCache = HashMap<Vec<u8>, Option<Vec<u8>>>;

/// A transaction in progress. Rolled back on drop.
pub(super) struct Transaction<'a> {
    database: &'a Database,
    held: Mutex<TransactionState>,
}

struct TransactionState {
    /// `None` once the transaction has ended.
    connection: Option<OpenTransaction>,
    read: ReadCache,
    failure: Option<DatabaseFailure>,
}

/// A connection in a transaction. Dropped before the end, it is closed: no other user may continue it.
struct OpenTransaction(Option<Connection>);

impl OpenTransaction {
    fn connection(&self) -> &Connection {
        self.0.as_ref().expect("it is there until it has ended")
    }

    fn end(mut self) {
        drop(self.0.take());
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            connection.close();
        }
    }
}

impl<'a> Transaction<'a> {
    /// Begins a transaction that reads and locks these keys. It may read others.
    pub(super) fn begin(database: &'a Database, wanted: BTreeSet<Vec<u8>>) -> DatabaseResult<Self> {
        let (node, keys) = (database.node.clone(), Arc::clone(&database.keys));
        let (connection, read) = database.client.ask(|connection| async move {
            let begun = OpenTransaction(Some(connection));
            let connection = begun.connection();
            let wanted: Vec<Vec<u8>> = wanted.into_iter().collect();
            let wanted_keys: [&(dyn ToSql + Sync); 1] = [&wanted];
            connection.prepare(&[HELD, HOLD_KEYS, GET_FOR_UPDATE]).await?;
            let (begins, is_held, version, rows) = tokio::join!(
                connection.say(BEGIN),
                node.is_held(connection),
                connection.row(HOLD_KEYS, &[]),
                connection.rows(GET_FOR_UPDATE, &wanted_keys),
            );
            begins?;
            if !is_held? {
                return Err(DatabaseFailure::Lost);
            }
            if version?.is_none_or(|row| row.get::<_, i64>(0) != keys.load(Ordering::Acquire)) {
                return Err(DatabaseFailure::OtherKeys);
            }
            let rows = rows?;
            let mut read: ReadCache = wanted.into_iter().map(|key| (key, None)).collect();
            read.extend(rows.into_iter().map(|row| (row.get(0), Some(row.get(1)))));
            Ok((begun, read))
        })?;
        let held = Mutex::new(TransactionState { connection: Some(connection), read, failure: None });
        Ok(Self { database, held })
    }

    /// Writes the changes durably: all or none.
    pub(super) fn commit(self, changes: Vec<RecordChange>) -> DatabaseResult<()> {
        let mut held = self.held.lock();
        if let Some(failure) = held.failure.clone() {
            return Err(failure);
        }
        let Some(begun) = held.connection.take() else { return Err(ended()) };
        let topics: Vec<i16> = topics_of(&changes).into_iter().map(|topic| topic as i16).collect();
        let writes = Writes::of(changes, &held.read);
        drop(held);
        self.database.client.wait_for(async move {
            let connection = begun.connection();
            connection.prepare(&[INSERT, PUT, REMOVE, CHANGE_TOPICS]).await?;
            let inserted: (Vec<_>, Vec<_>) = writes.inserted.into_iter().unzip();
            let (put_keys, put_values): (Vec<_>, Vec<_>) = writes.put.into_iter().unzip();
            let to_insert: [&(dyn ToSql + Sync); 2] = [&inserted.0, &inserted.1];
            let to_put: [&(dyn ToSql + Sync); 2] = [&put_keys, &put_values];
            let to_remove: [&(dyn ToSql + Sync); 1] = [&writes.removed];
            // The statements are pipelined; if one fails, those after it fail too.
            let noted = async {
                if topics.is_empty() { Ok(0) } else { connection.change(CHANGE_TOPICS, &[&topics]).await }
            };
            let (inserted, put, removed, noted, committed) = tokio::join!(
                connection.change(INSERT, &to_insert),
                connection.change(PUT, &to_put),
                connection.change(REMOVE, &to_remove),
                noted,
                connection.say(COMMIT),
            );
            // The first failure has the reason; later ones only repeat that the transaction failed.
            inserted.and(put).and(removed).and(noted)?;
            committed?;
            begun.end();
            Ok(())
        })
    }

    fn ask<T, F>(&self, asked: impl FnOnce(OpenTransaction) -> F) -> DiskResult<T>
    where
        T: Send + 'static,
        F: Future<Output = DatabaseResult<(OpenTransaction, T)>> + Send + 'static,
    {
        let Some(begun) = self.held.lock().connection.take() else { return Err(ended().into()) };
        let asked = self.database.client.wait_for(asked(begun));
        let mut held = self.held.lock();
        match asked {
            Ok((begun, said)) => {
                held.connection = Some(begun);
                Ok(said)
            }
            Err(failure) => {
                held.failure = Some(failure.clone());
                Err(failure.into())
            }
        }
    }

    /// The reason for a failure: that of a failed read, if any.
    pub(super) fn why(&self, error: impl ToString) -> DatabaseFailure {
        let failure = self.held.lock().failure.clone();
        failure.unwrap_or_else(|| DatabaseFailure::of(error))
    }
}

fn ended() -> DatabaseFailure {
    DatabaseFailure::of("the transaction has ended")
}

/// What a transaction writes. Records that the group requires to be missing and does not write are inserted and
/// removed again, so that of two groups that each depend on the other's write, one fails.
#[derive(Default)]
struct Writes {
    /// Records found missing: inserting them fails if another node has written them since.
    inserted: Vec<RawEntry>,
    put: Vec<RawEntry>,
    removed: Vec<Vec<u8>>,
}

impl Writes {
    fn of(changes: Vec<RecordChange>, read: &ReadCache) -> Self {
        let mut writes = Self::default();
        let written: BTreeSet<&[u8]> = changes.iter().map(|change| change.key.as_slice()).collect();
        let absent = read.iter().filter(|(key, found)| found.is_none() && !written.contains(key.as_slice()));
        writes.removed = absent.map(|(key, _)| key.clone()).collect();
        writes.inserted = writes.removed.iter().map(|key| (key.clone(), Vec::new())).collect();
        for RecordChange { key, value, .. } in changes {
            match (value, read.get(&key)) {
                (Some(value), Some(None)) => writes.inserted.push((key, value)),
                (Some(value), _) => writes.put.push((key, value)),
                (None, _) => writes.removed.push(key),
            }
        }
        writes
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        let Some(begun) = self.held.lock().connection.take() else { return };
        // If the rollback cannot be sent, the connection is closed, which rolls back too.
        let ended = self.database.client.wait_for(async move {
            begun.connection().say(ROLLBACK).await?;
            begun.end();
            Ok(())
        });
        drop(ended);
    }
}

impl RawValues for Transaction<'_> {
    fn raw(&self, tree_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        if let Some(found) = self.held.lock().read.get(tree_key) {
            return Ok(found.clone());
        }
        let key = tree_key.to_vec();
        let found: Option<Vec<u8>> = self.ask(|begun| async move {
            let row = begun.connection().row(GET_FOR_UPDATE, &[&vec![key]]).await?;
            let value = row.map(|row| row.get(1));
            Ok((begun, value))
        })?;
        self.held.lock().read.insert(tree_key.to_vec(), found.clone());
        Ok(found)
    }
}

impl StoreBackend for Transaction<'_> {
    fn sealing(&self) -> &Sealing {
        self.database.sealing()
    }

    fn reported(&self) -> &Reported {
        self.database.reported()
    }

    fn newest_volume(&self) -> VolumeNumber {
        self.database.time()
    }

    fn walk(&self, tree: Tree, start: &[u8], prefix: &[u8]) -> EntryWalk {
        let prefix = tree.tree_key(prefix);
        let (from, until) = (tree.tree_key(start).max(prefix.clone()), end_of(prefix));
        let entries = self.ask(|begun| async move {
            let rows = begun.connection().rows(WALK, &[&from, &until, &i64::MAX]).await?;
            let entries: Vec<RawEntry> = rows.into_iter().map(|row| (row.get(0), row.get(1))).collect();
            Ok((begun, entries))
        });
        walk_or_error(entries.map(|entries| entries.into_iter().map(Ok)))
    }
}
