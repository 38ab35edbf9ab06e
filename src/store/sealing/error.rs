//! Why the keys of a store cannot be used, and what to do about it.

use std::io;
use std::path::PathBuf;

use uuid::Uuid;

use super::super::space::unusable;
use super::master_key::{MasterKeyError, OtherMasterKey};
use crate::cluster::listed;

/// How a master key is configured.
pub const GIVE: &str = "give it as `store.master_key_file`, as OFFERD_MASTER_KEY or as the systemd credential \
                    `offerd-master-key`";

/// Why the keys of a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SealingError {
    /// The configured master key is unusable.
    #[error("{0}")]
    MasterKey(MasterKeyError),
    /// No master key is configured, and the store is sealed with one.
    #[error("`{path}` needs master key {sealed_with}, and none is given: {GIVE}", GIVE = GIVE)]
    NoMasterKey {
        /// The file of the store's keys.
        path: PathBuf,
        /// The id of the required master key.
        sealed_with: String,
    },
    /// Another master key is configured than the one for this file of the store's keys.
    #[error("`{0}` needs master key {1}: {GIVE}", GIVE = GIVE)]
    WrongMasterKey(PathBuf, OtherMasterKey),
    /// The store has records, but the file of its keys is gone.
    #[error(
        "`{0}` is missing, and without it no personal data can be read: restore it from a backup with \
            `offerd store salvage`"
    )]
    NoKeys(PathBuf),
    /// The file of the store's keys has another format.
    #[error("`{path}` has format `{found}`, this offerd reads `1`: start the offerd that wrote it")]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The file of the store's keys is damaged.
    #[error("`{0}` is damaged: restore it from a backup with `offerd store salvage`")]
    Damaged(PathBuf),
    /// Other nodes would keep the old master key.
    #[error(
        "other nodes are alive in the database ({}): stop them, rotate, give each the new file as \
            `store.master_key_file`, and start them; one that was killed counts as alive until its lease \
            (`store.postgres.lease`) has run out", listed(.0)
    )]
    OthersAlive(Vec<Uuid>),
    /// Another process has replaced the keys of the store meanwhile.
    #[error("another node has replaced the keys of the store meanwhile")]
    Replaced,
    /// The file of the store's keys cannot be read or written.
    #[error("{}", unusable(path, error))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}
