//! Why a store could not be opened or closed.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{broken::ReadError, disk::DiskError, manifest::FORMAT, sealing::SealingError, user::User};

/// Why a store could not be opened or closed.
#[derive(Debug)]
pub enum StoreError {
    /// A file or directory of the store could not be made or read.
    Io {
        /// Which one.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process has the store open.
    Locked {
        /// The store's directory.
        path: PathBuf,
    },
    /// The store is another user's.
    Owner {
        /// The store's directory.
        path: PathBuf,
        /// Whose it is, by number.
        owner: u32,
        /// Who would open it.
        user: u32,
    },
    /// The store is of another format than this build's.
    Format {
        /// The store's directory.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The directory holds another database, and no store.
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// What is sealed in the store cannot be opened, or sealed.
    Sealing(SealingError),
    /// A record needed for opening could not be read.
    Read(ReadError),
    /// The disk failed.
    Disk(String),
    /// The database cannot be used.
    Database(String),
    /// The tables in the database are of another version.
    Tables {
        /// Theirs.
        found: i32,
        /// The one that this build reads.
        known: i32,
    },
    /// It is a copy that was not finished.
    Unfinished,
    /// The writer did not finish in time; commits that were not answered may be lost.
    CloseTimedOut {
        /// How long it was given.
        bound: Duration,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => {
                write!(f, "`{}` cannot be read or written: {source}", path.display())
            }
            Self::Locked { path } => {
                write!(f, "the store `{}` is locked: another offerd is running on it", path.display())
            }
            Self::Owner { path, owner, user } => {
                let (path, owner, this) = (path.display(), User(*owner), User(*user));
                write!(
                    f,
                    "`{path}` belongs to {owner}, and this is {this}, whose files in it the daemon could not read; nothing was \
                     changed: run `{}`",
                    owner.command(*user)
                )
            }
            Self::Foreign { path } => write!(
                f,
                "`{}` holds a database that is no store of offerd; nothing was changed: name another directory as `store.path`",
                path.display()
            ),
            Self::Format { path, found } => {
                write!(
                    f,
                    "the store in `{}` has format `{found}`, this offerd reads `{FORMAT}`, and nothing was changed: start the \
                     offerd that wrote it, or name another directory as `store.path`",
                    path.display()
                )
            }
            Self::Sealing(error) => error.fmt(f),
            Self::Read(error) => error.fmt(f),
            Self::Disk(reason) => write!(f, "the store failed: {reason}"),
            Self::Database(reason) => {
                write!(f, "the database of `store.postgres.url` cannot be used: {reason}")
            }
            Self::Tables { found, known } => {
                write!(
                    f,
                    "the tables in the database of `store.postgres.url` have version `{found}`, this offerd wants `{known}`: run the \
                     offerd that made them, or name an empty database"
                )
            }
            Self::Unfinished => f.write_str(
                "it is an unfinished copy of a store, and opened by nobody: `offerd store copy`, given as before, goes on with it",
            ),
            Self::CloseTimedOut { bound } => {
                write!(f, "the store's writer did not finish within `{bound:?}`")
            }
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Read(error) => Some(error),
            Self::Sealing(error) => Some(error),
            _ => None,
        }
    }
}

impl StoreError {
    /// What a step on the disk came to.
    pub(super) fn from_disk(error: DiskError) -> Self {
        Self::Read(error.into())
    }
}

impl From<ReadError> for StoreError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// A file or directory of the store that could not be made or read.
pub(super) fn io_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { path: PathBuf::from(path), source }
}
