//! Stores of whatever format: which one a store has, and how it is opened all the same.

use std::path::Path;

use super::{
    error::{StoreError, io_error},
    manifest::{FORMAT, Found, Manifest},
    migration,
    open::{self, Opened},
    options::StoreOptions,
    owner, recovery,
    sealing::{MasterKey, SealingError, key_file::KeyFile},
};

/// Opens the store, checks its format and makes a writer for it.
pub(super) fn open(options: &StoreOptions) -> Result<Opened, StoreError> {
    let master = MasterKey::find(options.master_key_file.as_deref(), &options.path)
        .map_err(|error| StoreError::Sealing(SealingError::MasterKey(error)))?;
    open_with(options, master)
}

/// Opens the store with this master key, rewritten if it is of an older format.
pub(super) fn open_with(options: &StoreOptions, master: Option<MasterKey>) -> Result<Opened, StoreError> {
    let path = &options.path;
    owner::check(path)?;
    migration::finish_interrupted(path)?;
    let master = match migration::is_older(path) {
        true => Some(migration::migrate(options, master)?),
        false => master,
    };
    open::open_with(options, master)
}

/// Whether there is a store.
pub(super) fn exists(path: &Path) -> bool {
    matches!(Manifest::read(path), Ok(Found::Manifest { .. } | Found::Damaged))
        || recovery::has_files(path)
        || migration::is_older(path)
        || migration::is_interrupted(path)
}

/// Whether there is one of an older format that has no keys.
pub(super) fn is_of_before_keys(path: &Path) -> bool {
    migration::is_older(path) && !KeyFile::of(path).exists()
}

/// The format that a store says it has; `None` where there is none, or a new one.
pub(super) fn format(options: &StoreOptions) -> Result<Option<u32>, StoreError> {
    let path = &options.path;
    if migration::is_older(path) {
        owner::check(path)?;
        return migration::format(options);
    }
    match Manifest::read(path).map_err(|source| io_error(path, source))? {
        Found::Nothing if !recovery::has_files(path) => Ok(None),
        Found::Nothing | Found::Damaged => Ok(Some(FORMAT)),
        Found::Manifest { format, .. } if format > FORMAT => {
            Err(StoreError::Newer { found: format, known: FORMAT })
        }
        Found::Manifest { format, .. } => Ok(Some(format)),
    }
}
