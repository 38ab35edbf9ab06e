//! Why the keys of a store cannot be used, and what to do about it.

use std::path::PathBuf;
use std::{error, fmt, io};

use super::master_key::MasterKeyError;

/// Why the keys of a store cannot be used.
#[derive(Debug)]
pub enum SealingError {
    /// A master key is given, and is none.
    MasterKey(MasterKeyError),
    /// No master key is given for a store that has been sealed with one.
    NoMasterKey {
        /// The file of the store's keys.
        path: PathBuf,
        /// The id of the master key that is needed.
        sealed_with: String,
    },
    /// The master key is another one.
    WrongMasterKey {
        /// The file of the store's keys.
        path: PathBuf,
        /// The id of the master key that is needed.
        sealed_with: String,
        /// The id of the one that was given.
        given: String,
        /// Where it was found.
        place: String,
    },
    /// The store has records, but the file of its keys is gone.
    NoKeys {
        /// Where it ought to be.
        path: PathBuf,
    },
    /// The file of the store's keys is not as it was written.
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Others have replaced the keys of the store meanwhile.
    Replaced,
    /// The file of the store's keys cannot be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl fmt::Display for SealingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GIVE: &str = "give it as `store.master_key_file`, as OFFERD_MASTER_KEY or as the systemd credential \
                            `offerd-master-key`";
        match self {
            Self::MasterKey(error) => error.fmt(f),
            Self::Replaced => f.write_str("others have replaced the keys of the store meanwhile"),
            Self::NoMasterKey { path, sealed_with } => {
                write!(
                    f,
                    "`{}` is sealed with master key {sealed_with}, and none is given: {GIVE}",
                    path.display()
                )
            }
            Self::WrongMasterKey { path, sealed_with, given, place } => {
                let path = path.display();
                write!(f, "`{path}` is sealed with master key {sealed_with}, but {place} has {given}: {GIVE}")
            }
            Self::NoKeys { path } => {
                let path = path.display();
                write!(
                    f,
                    "`{path}` is gone, and without it nothing of a person can be read: `offerd store salvage` takes it from a \
                     backup"
                )
            }
            Self::Damaged { path } => {
                write!(
                    f,
                    "`{}` is not as it was written: `offerd store salvage` takes it from a backup",
                    path.display()
                )
            }
            Self::Io { path, source } => {
                write!(f, "`{}` cannot be read or written: {source}", path.display())
            }
        }
    }
}

impl error::Error for SealingError {}
