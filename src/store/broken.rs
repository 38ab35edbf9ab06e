//! Broken records: values that differ from what was written, and how they are named, counted and reported.

use std::collections::{BTreeMap, HashSet};

use parking_lot::Mutex;

use super::disk::DiskError;
use super::frame::BrokenReason;
use super::trees::{TREES, Tree};
use offerd_base::telemetry::metrics::STORE_BROKEN_RECORDS;

/// Upper bound on remembered broken records; each remembered one is reported once.
const REPORTED_LIMIT: usize = 10_000;

/// A record that cannot be read. Contains no part of the value, so that it may be logged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record `{key}` of tree `{}` is broken: {reason}", .tree.name())]
pub struct BrokenRecord {
    /// Its tree.
    pub tree: Tree,
    /// Its key, in hexadecimal.
    pub key: String,
    /// The fault.
    pub reason: BrokenReason,
}

/// Why a read failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The record exists and is broken; others are readable.
    #[error("{0}")]
    Broken(BrokenRecord),
    /// The disk failed.
    #[error("the store cannot be read: {0}")]
    Disk(String),
}

/// The result of a read.
pub type ReadResult<T> = Result<T, ReadError>;

impl BrokenRecord {
    pub(super) fn new(tree: Tree, key: &[u8], reason: BrokenReason) -> Self {
        Self { tree, key: const_hex::encode(key), reason }
    }

    /// Its key.
    pub fn key_bytes(&self) -> Vec<u8> {
        const_hex::decode(&self.key).unwrap_or_default()
    }

    pub(super) fn tree_key(&self) -> Vec<u8> {
        self.tree.tree_key(&self.key_bytes())
    }
}

/// The record read, or `None` if it is broken.
pub fn unless_broken<T>(read: ReadResult<Option<T>>) -> ReadResult<Option<T>> {
    match read {
        Err(ReadError::Broken(_)) => Ok(None),
        read => read,
    }
}

impl From<DiskError> for ReadError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error.to_string())
    }
}

/// The broken records met so far: each is counted and logged once, however often it is read.
#[derive(Debug)]
pub(super) struct Reported {
    seen: Mutex<HashSet<(Tree, String)>>,
}

impl Default for Reported {
    fn default() -> Self {
        // Exported as 0 first, since an alert queries their growth.
        TREES.iter().for_each(|row| metrics::counter!(STORE_BROKEN_RECORDS, "tree" => row.name).increment(0));
        Self { seen: Mutex::default() }
    }
}

impl Reported {
    pub(super) fn by_tree(&self) -> BTreeMap<Tree, u64> {
        let seen = self.seen.lock();
        let mut counts = BTreeMap::new();
        seen.iter().for_each(|(tree, _)| *counts.entry(*tree).or_default() += 1);
        counts
    }

    /// Counts and logs the record, unless it is known or the limit is reached. Returns whether it did.
    pub(super) fn note(&self, record: &BrokenRecord) -> bool {
        let mut seen = self.seen.lock();
        if seen.len() >= REPORTED_LIMIT || !seen.insert((record.tree, record.key.clone())) {
            return false;
        }
        drop(seen);
        metrics::counter!(STORE_BROKEN_RECORDS, "tree" => record.tree.name()).increment(1);
        let BrokenRecord { tree, key, reason } = record;
        tracing::error!(tree = tree.name(), %key, %reason, "a record is broken; \"Records cannot be read\" in \
            offerd(8) says what to do");
        true
    }
}
