//! Raw access to the tables as a whole, for copies only: bypasses keys, leases and arrivals.

use std::collections::BTreeSet;
use std::sync::Arc;

use uuid::Uuid;

use super::client::Client;
use super::database::Pages;
use super::statements::{FIRST_KEYS, GET_MANY, KEYS, MAKE, NODES, PUT, PUT_KEYS, REMOVE, SIZES, WALK};
use super::{nodes, schema};
use crate::engine::{EntryWalk, RawEntry};
use crate::{DiskResult, StoreError};
use offerd_base::config::PostgresSettings;

/// Sorts after the byte of every tree.
pub(crate) const END: u8 = u8::MAX;

pub(crate) struct DatabaseTables {
    client: Arc<Client>,
}

impl DatabaseTables {
    /// The tables of this database, which has this build's schema version or no tables.
    pub(crate) fn of(options: &PostgresSettings) -> Result<Self, StoreError> {
        let client = Arc::new(Client::of(options).map_err(StoreError::Database)?);
        schema::is_known(&client)?;
        Ok(Self { client })
    }

    pub(crate) fn are_there(&self) -> Result<bool, StoreError> {
        Ok(schema::version(&self.client)?.is_some())
    }

    /// Creates the tables, with a record that exists as soon as any can.
    pub(crate) fn make_with(&self, key: Vec<u8>, value: Vec<u8>) -> Result<(), StoreError> {
        self.client.ask(|connection| async move {
            let begun = async {
                connection.say(MAKE[0]).await?;
                connection.change(PUT, &[&vec![key], &vec![value]]).await
            };
            connection.together(begun).await
        })?;
        Ok(schema::make(&self.client)?)
    }

    /// Ends the nodes with expired leases and returns the ids of the live ones.
    pub(crate) fn alive(&self) -> Result<BTreeSet<Uuid>, StoreError> {
        Ok(nodes::alive_by_lease(&self.client)?)
    }

    /// The ids of all known nodes, including ended ones.
    pub(crate) fn known(&self) -> Result<BTreeSet<Uuid>, StoreError> {
        Ok(self.client.ask(|connection| async move { nodes::ids(connection.rows(NODES, &[]).await?) })?)
    }

    pub(crate) fn keys(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.client.ask(|connection| async move { connection.row(KEYS, &[]).await });
        Ok(found?.map(|row| row.get(1)))
    }

    pub(crate) fn put_keys(&self, text: &[u8]) -> Result<(), StoreError> {
        let text = text.to_vec();
        Ok(self.client.ask(|connection| async move {
            connection.change(FIRST_KEYS, &[&text]).await?;
            let kept = connection.one(KEYS, &[]).await?;
            let (version, sealed): (i64, Vec<u8>) = (kept.get(0), kept.get(1));
            if sealed != text {
                connection.change(PUT_KEYS, &[&text, &version]).await?;
            }
            Ok(())
        })?)
    }

    pub(crate) fn walk(&self, from: Vec<u8>, until: u8) -> EntryWalk {
        Box::new(Pages::<Vec<u8>>::between(Arc::clone(&self.client), WALK, from, vec![until]))
    }

    /// The raw values of these keys, with the keys that exist.
    pub(crate) fn raw_of(&self, keys: Vec<Vec<u8>>) -> DiskResult<Vec<RawEntry>> {
        Ok(self.client.ask(|connection| async move {
            let rows = connection.rows(GET_MANY, &[&keys]).await?;
            Ok(rows.into_iter().map(|row| (row.get(0), row.get(1))).collect())
        })?)
    }

    pub(crate) fn sizes(&self, tell: &mut dyn FnMut(&[u8], u64)) -> Result<(), StoreError> {
        for size in Pages::<i32>::between(Arc::clone(&self.client), SIZES, Vec::new(), vec![END]) {
            let (key, bytes) = size?;
            tell(&key, u64::try_from(bytes).unwrap_or(0));
        }
        Ok(())
    }

    /// Writes and removes records in one transaction. Once this returns, they are durable.
    pub(crate) fn write(&self, put: Vec<RawEntry>, removed: Vec<Vec<u8>>) -> Result<(), StoreError> {
        let (keys, values): (Vec<_>, Vec<_>) = put.into_iter().unzip();
        self.client.ask(|connection| async move {
            let written = async {
                connection.change(PUT, &[&keys, &values]).await?;
                connection.change(REMOVE, &[&removed]).await
            };
            connection.together(written).await
        })?;
        Ok(())
    }
}
