//! `POST /masterKey`, `GET /masterKey` for `offerd key rotate` and `offerd doctor`.

use std::path::PathBuf;

use super::prelude::*;
use offerd_base::config::StoreSettings;
use offerd_model::record;
use offerd_store::{MasterKey, SealingError, Store};

const FAILED: &str = "the master key could not be rotated";

record! { plain
    /// A master key rotation. The key itself is not sent: the process that has the store open reads its file.
    Rotation {
        /// File of the new key.
        new_key_file: PathBuf,
    }

    /// Result of a rotation; equal ids mean that the key was already in use.
    Rotated {
        /// Id of the old key.
        old_key: String,
        /// Id of the new key.
        new_key: String,
    }

    /// The master key that a store is sealed with.
    SealedWith {
        /// Its id, which reveals nothing of the key.
        key: String,
    }
}

/// Why a start with these settings would not open a store with this master key, if the key that they give is
/// another one or cannot be read. A key that is not given may come with the next start.
pub fn fault(settings: &StoreSettings, needed: &str) -> Option<String> {
    let found = match MasterKey::find(settings.master_key_file.as_deref(), &settings.path) {
        Ok(given) => {
            let given = given.filter(|given| given.id() != needed)?;
            format!("the given master key is {} ({})", given.id(), given.source())
        }
        Err(error) => format!("the given master key cannot be read ({error})"),
    };
    Some(format!(
        "{found}, but the store needs {needed}: the next start will fail; name the file that holds {needed} \
            as `store.master_key_file`, or give it as OFFERD_MASTER_KEY or as the systemd credential"
    ))
}

pub(super) async fn sealed_with(context: Context) -> Result<Reply> {
    Reply::json(&SealedWith { key: context.app.store.master_key_id() })
}

/// Reads and writes files on a blocking thread.
pub(super) async fn rotate(mut context: Context) -> Result<Reply> {
    let rotation: Rotation = read_body(&mut context, BODY_BYTES).await?;
    let rotate = move |app: &AdminState| rotation.apply(&app.store).inspect(|_| app.readiness.look_at_key());
    match context.app.reading(FAILED, rotate).await? {
        Ok(rotated) => {
            let Rotated { old_key, new_key } = &rotated;
            if old_key != new_key {
                let note = note!("key.rotate", old_key, new_key, "master key rotated");
                context.app.note_if_can(&by(&context), note.about(format!("{old_key} by {new_key}"))).await;
            }
            Reply::json(&rotated)
        }
        Err(SealingError::MasterKey(fault)) => Err(Failure::bad_attribute("newKeyFile", fault.to_string())),
        Err(refused @ SealingError::OthersAlive(_)) => Err(Failure::led_elsewhere(refused.to_string())),
        Err(failure) => {
            let old_key = context.app.store.master_key_id();
            Err(unwritten(
                &format!("the file of the keys for the new master key ({old_key} stays in force)"),
                &failure,
            ))
        }
    }
}

impl Rotation {
    fn apply(&self, store: &Store) -> Result<Rotated, SealingError> {
        let new = MasterKey::read(&self.new_key_file).map_err(SealingError::MasterKey)?;
        let rotated = Rotated { old_key: store.master_key_id(), new_key: new.id() };
        if rotated.old_key != rotated.new_key {
            store.exchange_master_key(new)?;
        }
        Ok(rotated)
    }
}
