//! The sealed keys, in the database. They are what the file of keys is to the embedded engine: sealed by the master key, replaced as a
//! whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::client::{Client, Failure};
use super::statements::{KEYS, PUT_KEYS};
use crate::store::sealing::key_place::KeyPlace;
use crate::store::sealing::key_ring::KeyRing;
use crate::store::sealing::{MasterKey, SealingError, key_text};

/// What messages call the place.
const NAME: &str = "table offerd_keys";

/// The keys of a store in a database.
pub(super) struct DatabaseKeys {
    client: Arc<Client>,
    path: PathBuf,
}

impl DatabaseKeys {
    /// Those of this one.
    pub(super) fn of(client: Arc<Client>) -> Self {
        Self { client, path: PathBuf::from(NAME) }
    }

    fn read(&self) -> Result<Option<Vec<u8>>, SealingError> {
        let read = self.client.ask(|pool| async move {
            let connection = Client::connection(&pool).await?;
            Ok(connection.query_opt(KEYS, &[]).await?.map(|row| row.get(0)))
        });
        read.map_err(|failure| self.failed(&failure))
    }

    fn found(&self) -> Result<Vec<u8>, SealingError> {
        self.read()?.ok_or_else(|| SealingError::NoKeys { path: self.path.clone() })
    }

    fn failed(&self, failure: &Failure) -> SealingError {
        SealingError::Io { path: self.path.clone(), source: std::io::Error::other(failure.to_string()) }
    }
}

impl KeyPlace for DatabaseKeys {
    fn path(&self) -> &Path {
        &self.path
    }

    fn exists(&self) -> Result<bool, SealingError> {
        Ok(self.read()?.is_some())
    }

    fn open(&self, master: &MasterKey) -> Result<KeyRing, SealingError> {
        key_text::opened(&self.path, master, &self.found()?)
    }

    fn sealed_with(&self) -> Result<String, SealingError> {
        key_text::sealed_with(&self.path, &self.found()?)
    }

    fn write(&self, master: &MasterKey, ring: &KeyRing) -> Result<(), SealingError> {
        let text = key_text::text(master, ring);
        let written = self.client.ask(|pool| async move {
            let connection = Client::connection(&pool).await?;
            connection.execute(PUT_KEYS, &[&text]).await?;
            Ok(())
        });
        written.map_err(|failure| self.failed(&failure))
    }
}
