//! Why a store was not copied.

use std::error::Error;
use std::fmt;

use uuid::Uuid;

use crate::store::broken::BrokenRecord;
use crate::store::disk::DiskError;
use crate::store::error::StoreError;
use crate::store::sealing::SealingError;

/// Why a store was not copied, or not whole.
#[derive(Debug)]
pub enum CopyError {
    /// There is nothing to copy.
    NoStore {
        /// Where it was looked for.
        place: String,
    },
    /// No master key is given.
    NoMasterKey,
    /// There is something else where the copy is to be.
    NotEmpty {
        /// Where.
        target: String,
        /// What was found there.
        found: String,
    },
    /// There is an unfinished copy of another store.
    OtherSource {
        /// Where.
        target: String,
    },
    /// There is an unfinished copy of what the same store was before.
    Changed {
        /// Where.
        target: String,
    },
    /// What is to be copied is an unfinished copy itself.
    SourceUnfinished {
        /// Where it is.
        source: String,
    },
    /// An erasure in the database was interrupted.
    Unerased,
    /// Nodes are alive in the database.
    Alive(Vec<Uuid>),
    /// A node has joined the database meanwhile.
    Joined,
    /// A record cannot be read.
    Broken(BrokenRecord),
    /// A key is of no tree.
    Unknown {
        /// The key, in hexadecimal.
        key: String,
        /// Where it lies.
        place: String,
    },
    /// One of the sides cannot be used.
    Store(StoreError),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStore { place } => {
                write!(f, "there is no store in {place}; name the daemon's settings by `--config FILE`")
            }
            Self::NoMasterKey => f.write_str(
                "no master key is given, and both sides have to open with the one of the store: name it by `store.master_key_file`",
            ),
            Self::NotEmpty { target, found } => write!(
                f,
                "{target} is not empty: {found}, and no unfinished copy of this store; nothing was changed. Where it was copied there before, \
                 that copy is whole: set `store.engine`, and start. Otherwise {}",
                emptied(target)
            ),
            Self::OtherSource { target } => write!(
                f,
                "{target} has an unfinished copy of another store; nothing was changed: copy that one to its end, or {}",
                emptied(target)
            ),
            Self::Changed { target } => write!(
                f,
                "{target} has an unfinished copy of this store, which was written to since; nothing was changed: {}, and copy it anew",
                emptied(target)
            ),
            Self::SourceUnfinished { source } => {
                write!(f, "{source} has an unfinished copy of a store: copy that to its end first")
            }
            Self::Unerased => f.write_str(
                "an erasure in the database was interrupted: a daemon finishes it when it starts, so start one there, stop it, and \
                 copy then",
            ),
            Self::Alive(nodes) => {
                let ids: Vec<String> = nodes.iter().map(Uuid::to_string).collect();
                write!(
                    f,
                    "nodes are alive in the database ({}): stop them all; one that was killed counts as alive until its lease \
                     (`store.postgres.lease`) has run out",
                    ids.join(", ")
                )
            }
            Self::Joined => f.write_str(
                "a node was started on the database while it was copied, so what was copied may not be all: stop it, empty the other \
                 side, and copy anew",
            ),
            Self::Broken(record) => {
                write!(f, "{record}: a copy would lose it; `offerd store salvage` makes a good store of files")
            }
            Self::Unknown { key, place } => {
                write!(f, "the key `{key}` in {place} is of no tree that this offerd knows: a newer one wrote it")
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

/// What to do about a side that is not empty.
fn emptied(target: &str) -> &'static str {
    match target.starts_with('`') {
        true => "name another `store.path`, or move the directory away",
        false => {
            "name another database or schema in `store.postgres.url`, or drop the tables `offerd_…` there"
        }
    }
}

impl Error for CopyError {}

impl From<StoreError> for CopyError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DiskError> for CopyError {
    fn from(error: DiskError) -> Self {
        Self::Store(StoreError::from_disk(error))
    }
}

impl From<SealingError> for CopyError {
    fn from(error: SealingError) -> Self {
        Self::Store(StoreError::Sealing(error))
    }
}
