//! `POST /masterKey`, `GET /masterKey`: what `offerd key rotate` and `offerd doctor` call on a running daemon.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::error;

use super::App;
use super::audit::{audit_by, operator};
use super::unwritten::unwritten;
use crate::store::{MasterKey, SealingError, Store};
use crate::web::{Context, Failure, Reply};

/// Longest body of a command: a path.
const MAX_BODY_BYTES: usize = 8192;

/// Longest time that its arrival may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// With which master key the store is to be sealed. The key itself goes over no wire: whoever has the store open reads it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rotation {
    /// The file that holds the new key.
    pub new_key_file: PathBuf,
}

/// A master key was exchanged; where both ids are one, it was in use already and nothing was done.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rotated {
    /// The id of the key before.
    pub old_key: String,
    /// The id of the key from now on.
    pub new_key: String,
}

impl Rotation {
    /// Seals the keys of a store with the new key, and notes who wanted it.
    ///
    /// # Errors
    /// What is wrong with the new key, or with the file of the store's keys.
    pub fn apply(&self, store: &Store, who: &str) -> Result<Rotated, SealingError> {
        let new = MasterKey::read(&self.new_key_file).map_err(SealingError::MasterKey)?;
        let rotated = Rotated { old_key: store.master_key_id(), new_key: new.id() };
        if rotated.old_key == rotated.new_key {
            return Ok(rotated);
        }
        store.exchange_master_key(new)?;
        let Rotated { old_key, new_key } = &rotated;
        audit_by!(who, "key.rotate", old_key, new_key, "master key rotated");
        Ok(rotated)
    }
}

/// The master key that a store is sealed with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SealedWith {
    /// Its id, which says nothing of the key itself.
    pub key: String,
}

/// With which key the next start must open the store.
pub(super) async fn sealed_with(context: Context<App>) -> Result<Reply, Failure> {
    Reply::json(&SealedWith { key: context.app.engine.store.master_key_id() })
}

/// Reads and writes files on a thread that may block.
pub(super) async fn rotate(mut context: Context<App>) -> Result<Reply, Failure> {
    let body = context.request.read_body(MAX_BODY_BYTES, BODY_TIMEOUT).await?;
    let rotation: Rotation = serde_json::from_slice(&body)
        .map_err(|error| Failure::bad_request(format!("body does not fit: {error}")))?;
    let who = operator(&context.request.headers);
    let engine = Arc::clone(&context.app.engine);
    let applied = tokio::task::spawn_blocking(move || rotation.apply(&engine.store, &who)).await;
    match applied {
        Ok(Ok(rotated)) => Reply::json(&rotated),
        Ok(Err(SealingError::MasterKey(fault))) => {
            Err(Failure::bad_attribute("newKeyFile", fault.to_string()))
        }
        Ok(Err(failure)) => Err(unwritten("the file of the keys, sealed with the new master key,", &failure)),
        Err(error) => {
            error!(%error, "the master key could not be exchanged");
            Err(Failure::internal())
        }
    }
}
