//! The sealed keys, stored in the database: sealed by the master key and replaced as a whole.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::client::{Client, DatabaseFailure};
use super::statements::{FIRST_KEYS, KEYS, KEYS_VERSION, PUT_KEYS};
use crate::sealing::key_place::KeyPlace;
use crate::sealing::key_ring::KeyRing;
use crate::sealing::{MasterKey, SealingError, key_text};

const NAME: &str = "table offerd_keys";

pub(super) struct DatabaseKeys {
    client: Arc<Client>,
    /// The version of the keys when last read or written here; 0 before that.
    known: Arc<AtomicI64>,
}

impl DatabaseKeys {
    pub(super) fn of(client: Arc<Client>, known: Arc<AtomicI64>) -> Self {
        Self { client, known }
    }

    fn read(&self) -> Result<Option<(i64, Vec<u8>)>, SealingError> {
        let read = self.client.ask(|connection| async move {
            Ok(connection.row(KEYS, &[]).await?.map(|row| (row.get(0), row.get(1))))
        });
        read.map_err(|failure| self.failed(&failure))
    }

    fn found(&self) -> Result<(i64, Vec<u8>), SealingError> {
        self.read()?.ok_or_else(|| SealingError::NoKeys(NAME.into()))
    }

    fn failed(&self, failure: &DatabaseFailure) -> SealingError {
        SealingError::Io { path: NAME.into(), error: std::io::Error::other(failure.to_string()) }
    }

    fn write_as(&self, text: Vec<u8>, version: i64) -> Result<u64, SealingError> {
        let written = self.client.ask(move |connection| async move {
            Ok(match version {
                0 => connection.change(FIRST_KEYS, &[&text]).await?,
                version => connection.change(PUT_KEYS, &[&text, &version]).await?,
            })
        });
        written.map_err(|failure| self.failed(&failure))
    }
}

impl KeyPlace for DatabaseKeys {
    fn path(&self) -> &Path {
        Path::new(NAME)
    }

    fn exists(&self) -> Result<bool, SealingError> {
        Ok(self.read()?.is_some())
    }

    fn open(&self, master: &MasterKey) -> Result<KeyRing, SealingError> {
        let (version, text) = self.found()?;
        let ring = key_text::opened(self.path(), master, &text)?;
        self.known.store(version, Ordering::Release);
        Ok(ring)
    }

    fn sealed_with(&self) -> Result<String, SealingError> {
        key_text::sealed_with(self.path(), &self.found()?.1)
    }

    fn write(&self, master: &MasterKey, ring: &KeyRing) -> Result<(), SealingError> {
        let version = self.known.load(Ordering::Acquire);
        match self.write_as(key_text::text(master, ring), version)? {
            0 => Err(SealingError::Replaced),
            _ => {
                self.known.store(version + 1, Ordering::Release);
                Ok(())
            }
        }
    }

    fn replaced(&self, master: &MasterKey) -> Result<Option<KeyRing>, SealingError> {
        let version = self.client.ask(|connection| async move {
            Ok(connection.row(KEYS_VERSION, &[]).await?.map_or(0, |row| row.get(0)))
        });
        let version: i64 = version.map_err(|failure| self.failed(&failure))?;
        if self.known.load(Ordering::Acquire) == version { Ok(None) } else { self.open(master).map(Some) }
    }

    fn create(&self, master: &MasterKey) -> Result<KeyRing, SealingError> {
        let ring = KeyRing::random();
        match self.write(master, &ring) {
            // Another process has just created them.
            Err(SealingError::Replaced) => self.open(master),
            written => written.map(|()| ring),
        }
    }
}
