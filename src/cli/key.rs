//! `offerd key create|rotate`

use super::files::cannot_make;
use super::prelude::*;
use offerd_admin::master_key::{Rotated, Rotation};
use offerd_store::{MasterKey, MasterKeyError};

/// Actions on keys.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create a master key or a suppression key, in a file that only its owner can read
    Create {
        /// File to create
        file: PathBuf,
    },
    /// Rotate the master key: re-seal the store's keys with another one; the records that they seal stay as
    /// they are
    Rotate {
        /// File with the new key; a running daemon reads it itself
        #[arg(long, value_name = "FILE")]
        new_key_file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs `offerd key`.
pub async fn run(config: Option<&Path>, command: KeyCommand) -> Result<(), CommandError> {
    match command {
        KeyCommand::Create { file } => Ok(create(&file)?),
        KeyCommand::Rotate { new_key_file: file, json } => {
            rotate(&super::settings(config)?, &file, json).await
        }
    }
}

fn create(file: &Path) -> Result<(), String> {
    let key = MasterKey::create(file).map_err(|error| match error {
        MasterKeyError::Unmade { error, .. } => cannot_make(file, &error),
        other => other.to_string(),
    })?;
    tell!(
        "key {} is in {}; copy it to a safe place, apart from the store and its backups: a lost key cannot be replaced",
        key.id(),
        file.display()
    );
    Ok(())
}

/// The file of a master key, if it came from a file.
pub fn file_of(key: &MasterKey) -> Option<PathBuf> {
    key.source().strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).map(PathBuf::from)
}

async fn rotate(settings: &Settings, new_key_file: &Path, json: bool) -> Result<(), CommandError> {
    // The daemon may run in another directory.
    let new_key_file = super::whole(new_key_file);
    if new_key_file.try_exists().is_ok_and(|there| !there) {
        let file = new_key_file.display();
        return Err(format!("there is no file {file}; make a new key with `offerd key create {file}`").into());
    }
    let rotation = Rotation { new_key_file };
    let rotated: Rotated = AdminClient::find(settings).await?.post("/masterKey", &rotation).await?;
    Ok(page::show(&rotated, json, || {
        let (Rotated { old_key, new_key }, file) = (&rotated, rotation.new_key_file.display());
        page::print(match old_key == new_key {
            true => format!("the store is sealed with {new_key} already; nothing changed"),
            false => format!(
                "the keys of the store are sealed with master key {new_key} now, {old_key} no longer opens them\n\
                 give {new_key} ({file}) to every start from now on; keep {old_key} only for the backups that are \
                 sealed with it"
            ),
        });
    })?)
}
