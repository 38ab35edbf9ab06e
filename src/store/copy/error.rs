//! Why a store was not copied.

use uuid::Uuid;

use crate::cluster::listed;
use crate::{BrokenRecord, StoreError};

/// Why a store was not copied, or not completely.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is no store to copy.
    #[error("there is no store in {0}; name the daemon's settings by `--config FILE`")]
    NoStore(String),
    /// No master key is configured.
    #[error("no master key is given, and both sides need the store's: set `store.master_key_file`")]
    NoMasterKey,
    /// The target holds something else.
    #[error(
        "{target} is not empty: {found}, and holds no unfinished copy of this store; nothing was changed. \
            If the store was copied there before, that copy is complete: set `store.engine`, and start. \
            Otherwise {}", emptied(.target)
    )]
    NotEmpty {
        /// The target.
        target: String,
        /// Its content.
        found: String,
    },
    /// The target has an unfinished copy of another store.
    #[error(
        "{0} has an unfinished copy of another store; nothing was changed: finish that copy, or {emptied}",
        emptied = emptied(.0)
    )]
    OtherSource(String),
    /// The target has an unfinished copy of an earlier state of the same store.
    #[error(
        "{0} has an unfinished copy of this store, which has changed since; nothing was changed: {emptied}, \
            and copy it again",
        emptied = emptied(.0)
    )]
    Changed(String),
    /// The source is itself an unfinished copy.
    #[error("{0} has an unfinished copy of a store: finish that copy first")]
    SourceUnfinished(String),
    /// An erasure in the database was interrupted.
    #[error(
        "an erasure in the database was interrupted: a daemon finishes it when it starts, so start one there, stop it, and copy then"
    )]
    Unerased,
    /// Nodes are alive in the database.
    #[error(
        "nodes are alive in the database ({}): stop them all; one that was killed counts as alive until its lease \
         (`store.postgres.lease`) has run out", listed(.0)
    )]
    Alive(Vec<Uuid>),
    /// A node has joined the database during the copy.
    #[error(
        "a node was started on the database while it was copied, so the copy may be incomplete: stop the \
            node, empty the other side, and copy again"
    )]
    Joined,
    /// A record cannot be read.
    #[error("{0}: a copy would lose it; make a good store of files with `offerd store salvage`")]
    Broken(BrokenRecord),
    /// A key belongs to no known tree.
    #[error(
        "the key `{key}` in {place} belongs to a tree that this offerd does not know: a newer version wrote \
            it"
    )]
    Unknown {
        /// The key, in hexadecimal.
        key: String,
        /// The side that has it.
        place: String,
    },
    /// A side cannot be used.
    #[error(transparent)]
    Store(StoreError),
}

/// The remedy for a target that is not empty.
fn emptied(target: &str) -> &'static str {
    match target.starts_with('`') {
        true => "name another `store.path`, or move the directory away",
        false => {
            "name another database or schema in `store.postgres.url`, or drop the tables `offerd_…` there"
        }
    }
}

impl<E: Into<StoreError>> From<E> for CopyError {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}
