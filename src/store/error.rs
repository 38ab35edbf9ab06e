//! Why a store could not be opened or closed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::broken::ReadError;
use super::disk::DiskError;
use super::manifest::FORMAT;
use super::sealing::{MasterKeyError, SealingError};
use super::space::unusable;
use super::user::User;

/// Why a store could not be opened or closed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or directory of the store could not be made or read.
    #[error("{}", unusable(path, source))]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process has the store in this directory open.
    #[error("the store `{path}` is locked: another offerd is running on it{holder}", path = .path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Words for that process, where the system knows it.
        holder: String,
    },
    /// The store belongs to another user.
    #[error(
        "`{path}` belongs to {}, but you are {}, and the daemon could not read files of that user; nothing \
            was changed: run `{}`",
        User(*.owner), User(*.user), User(*.owner).command(*.user)
    )]
    Owner {
        /// The store's directory.
        path: PathBuf,
        /// The owner's user number.
        owner: u32,
        /// The user number of this process.
        user: u32,
    },
    /// The store's format is not this build's.
    #[error(
        "the store in `{path}` has format `{found}`, this offerd reads `{}`, and nothing was changed: start \
            the offerd that wrote it, or set `store.path` to another directory",
        FORMAT
    )]
    Format {
        /// The store's directory.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The directory holds another database, and no store.
    #[error(
        "`{0}` holds a database or a manifest that is not of offerd; nothing was changed: set `store.path` \
            to another directory"
    )]
    Foreign(PathBuf),
    /// Sealed data of the store cannot be opened, or data cannot be sealed.
    #[error("{0}")]
    Sealing(#[from] SealingError),
    /// A record needed for opening could not be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The disk failed.
    #[error("the store failed: {0}")]
    Disk(String),
    /// The database cannot be used.
    #[error("the database of `store.postgres.url` cannot be used: {0}")]
    Database(String),
    /// The tables in the database have another version.
    #[error(
        "the tables in the database of `store.postgres.url` have version `{found}`, this offerd needs \
            `{known}`: run the offerd that made them, or use an empty database"
    )]
    Tables {
        /// The version found.
        found: i32,
        /// The version that this build reads.
        known: i32,
    },
    /// The store is an unfinished copy.
    #[error(
        "it is an unfinished copy of a store, which cannot be opened: repeat the same `offerd store copy` \
            to continue it"
    )]
    Unfinished,
    /// The writer did not finish within this time; unanswered commits may be lost.
    #[error("the store's writer did not finish within `{0:?}`")]
    CloseTimedOut(Duration),
}

impl StoreError {
    /// Whether a full disk can be the cause. An error that was passed on as text has lost its kind.
    pub(super) fn may_be_full_disk(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::Other)
            }
            Self::Disk(_) | Self::Read(_) | Self::Sealing(_) => true,
            _ => false,
        }
    }
}

impl From<DiskError> for StoreError {
    fn from(error: DiskError) -> Self {
        Self::Read(error.into())
    }
}

impl From<MasterKeyError> for StoreError {
    fn from(error: MasterKeyError) -> Self {
        Self::Sealing(SealingError::MasterKey(error))
    }
}

pub(super) fn io_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { path: PathBuf::from(path), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_known_by_the_kind_of_the_error_and_not_by_its_text() {
        let of = |source: io::Error| io_error(Path::new("data"), source).may_be_full_disk();
        assert!(of(io::Error::from_raw_os_error(28)) && !of(io::Error::from_raw_os_error(13)));
        let path = "data (os error 28)";
        assert!(!StoreError::Foreign(path.into()).may_be_full_disk());
        assert!(!io_error(Path::new(path), io::ErrorKind::NotFound.into()).may_be_full_disk());
    }
}
