//! The tables as a whole, for who copies all records in or out and for nobody else: past keys, leases and arrivals.

use std::collections::BTreeSet;
use std::sync::Arc;

use deadpool_postgres::Pool;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::client::{Client, Connection, Failure};
use super::database::{MORE, Pages};
use super::statements::{
    ALIVE, BEGIN, COMMIT, END_LAPSED, FIRST_KEYS, GET_MANY, KEYS, MAKE, NODES, PUT, PUT_KEYS, REMOVE,
    ROLLBACK, SIZES,
};
use super::{lost, nodes, schema};
use crate::config::PostgresSettings;
use crate::store::disk::{DiskError, DiskResult};
use crate::store::engine::{Entry, Walk};
use crate::store::error::StoreError;

/// Behind the byte of every tree.
const END: u8 = u8::MAX;

/// The tables of a database that nobody has a store open in.
pub(in crate::store) struct Tables {
    client: Arc<Client>,
}

impl Tables {
    /// Of the database of these options; what it has is of this build's version, or nothing at all.
    pub(in crate::store) fn of(options: &PostgresSettings) -> Result<Self, StoreError> {
        let client = Arc::new(Client::of(options).map_err(StoreError::Database)?);
        let version = schema::version(&client).map_err(|failure| lost(&failure))?;
        match version {
            Some(found) if found != schema::KNOWN => Err(StoreError::Tables { found, known: schema::KNOWN }),
            _ => Ok(Self { client }),
        }
    }

    /// Whether there are any.
    pub(in crate::store) fn are_there(&self) -> Result<bool, StoreError> {
        Ok(schema::version(&self.client).map_err(|failure| lost(&failure))?.is_some())
    }

    /// Makes them, with a record that is there as soon as there can be any.
    pub(in crate::store) fn make_with(&self, key: Vec<u8>, value: Vec<u8>) -> Result<(), StoreError> {
        let begun = self.client.ask(|pool| async move {
            let connection = Client::connection(&pool).await?;
            connection.say(BEGIN).await?;
            let begun = async {
                connection.say(MAKE[0]).await?;
                connection.change(PUT, &[&vec![key], &vec![value]]).await
            };
            let begun = begun.await;
            connection.say(if begun.is_ok() { COMMIT } else { ROLLBACK }).await?;
            begun.map(drop)
        });
        begun.and_then(|()| schema::make(&self.client)).map_err(|failure| lost(&failure))
    }

    /// Ends the nodes whose leases have run out, and gives the ids of those that are alive.
    pub(in crate::store) fn alive(&self) -> Result<BTreeSet<Uuid>, StoreError> {
        let ended = self.client.ask(|pool| async move {
            let connection = Client::connection(&pool).await?;
            connection.change(END_LAPSED, &[]).await?;
            nodes::ids(connection.rows(ALIVE, &[]).await?)
        });
        ended.map_err(|failure| lost(&failure))
    }

    /// The ids of the nodes that are known, those that have ended too.
    pub(in crate::store) fn known(&self) -> Result<BTreeSet<Uuid>, StoreError> {
        let known = self
            .client
            .ask(|pool| async move { nodes::ids(Client::connection(&pool).await?.rows(NODES, &[]).await?) });
        known.map_err(|failure| lost(&failure))
    }

    /// The sealed keys, as they lie there; nothing where there are none.
    pub(in crate::store) fn keys(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let read = self.client.ask(|pool| async move {
            let row = Client::connection(&pool).await?.row(KEYS, &[]).await?;
            Ok(row.map(|row| row.get(1)))
        });
        read.map_err(|failure| lost(&failure))
    }

    /// Writes the sealed keys, whatever they were.
    pub(in crate::store) fn put_keys(&self, text: &[u8]) -> Result<(), StoreError> {
        let text = text.to_vec();
        let put = self.client.ask(|pool| async move {
            let connection = Client::connection(&pool).await?;
            connection.change(FIRST_KEYS, &[&text]).await?;
            let kept = connection.one(KEYS, &[]).await?;
            let (version, sealed): (i64, Vec<u8>) = (kept.get(0), kept.get(1));
            if sealed != text {
                connection.change(PUT_KEYS, &[&text, &version]).await?;
            }
            Ok(())
        });
        put.map_err(|failure| lost(&failure))
    }

    /// All records from a key on, in the order of their keys.
    pub(in crate::store) fn walk(&self, from: Vec<u8>) -> Walk {
        Box::new(Pages::between(Arc::clone(&self.client), from, vec![END]))
    }

    /// The same, of one tree, from the key behind one on.
    pub(in crate::store) fn walk_between(&self, from: Vec<u8>, until: Vec<u8>) -> Walk {
        Box::new(Pages::between(Arc::clone(&self.client), from, until))
    }

    /// The raw values of these keys, with the keys that have one.
    pub(in crate::store) fn raw_of(&self, keys: Vec<Vec<u8>>) -> DiskResult<Vec<Entry>> {
        let read = self.client.ask(|pool| async move {
            let connection = Client::connection(&pool).await?;
            let rows = connection.rows(GET_MANY, &[&keys]).await?;
            Ok(rows.into_iter().map(|row| (row.get(0), row.get(1))).collect())
        });
        read.map_err(DiskError::from)
    }

    /// Tells the key and the length of every record.
    pub(in crate::store) fn sizes(&self, tell: &mut dyn FnMut(&[u8], u64)) -> Result<(), StoreError> {
        let mut from = Vec::new();
        loop {
            let first = from.clone();
            let page = self.client.ask(|pool| async move { sizes(pool, first).await });
            let page = page.map_err(|failure| lost(&failure))?;
            page.iter().for_each(|(key, bytes)| tell(key, *bytes));
            match page.last() {
                Some((last, _)) if page.len() as i64 == MORE => from = [&last[..], &[0]].concat(),
                _ => return Ok(()),
            }
        }
    }

    /// Writes and removes records in one transaction. Once this returns, they are durable.
    pub(in crate::store) fn write(&self, put: Vec<Entry>, removed: Vec<Vec<u8>>) -> Result<(), StoreError> {
        let (keys, values): (Vec<_>, Vec<_>) = put.into_iter().unzip();
        let written = self.client.ask(|pool| async move {
            let connection = Client::connection(&pool).await?;
            connection.say(BEGIN).await?;
            let written = write(&connection, &keys, &values, &removed).await;
            let end = if written.is_ok() { COMMIT } else { ROLLBACK };
            connection.say(end).await?;
            written
        });
        written.map_err(|failure| lost(&failure))
    }
}

async fn write(
    connection: &Connection,
    keys: &[Vec<u8>],
    values: &[Vec<u8>],
    removed: &[Vec<u8>],
) -> Result<(), Failure> {
    let put: [&(dyn ToSql + Sync); 2] = [&keys, &values];
    connection.change(PUT, &put).await?;
    connection.change(REMOVE, &[&removed]).await?;
    Ok(())
}

async fn sizes(pool: Pool, from: Vec<u8>) -> Result<Vec<(Vec<u8>, u64)>, Failure> {
    let connection = Client::connection(&pool).await?;
    let rows = connection.rows(SIZES, &[&from, &vec![END], &MORE]).await?;
    let size = |bytes: i32| u64::try_from(bytes).unwrap_or(0);
    Ok(rows.into_iter().map(|row| (row.get(0), size(row.get(1)))).collect())
}
