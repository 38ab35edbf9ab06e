//! The marker of an unfinished copy: a record of the store's metadata, written with every batch.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::CopyError;
use super::side::CopySide;
use crate::engine::StoreBackend;
use crate::postgres::{DatabaseTables, PROBE};
use crate::sealing::id_of;
use crate::{LAST_ARRIVAL, MasterKey, StoreError, Tree, codec, disk, framed, io_error};
use offerd_base::config::PostgresSettings;

const KEY: &[u8] = b"copying";

/// The file that marks a directory without records.
const CLAIM: &str = "copying";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// The identity of the source, shared by all of its copies.
    pub(super) source: String,
    /// The digest of its sealed keys, which an erasure changes.
    keys: String,
    last_arrival: String,
    /// The part of the source being read.
    pub(super) part: u32,
    /// The last copied key of that part.
    pub(super) key: Vec<u8>,
}

impl Marker {
    pub(super) fn begins(source: &impl CopySide, keys: &[u8], master: &MasterKey) -> Result<Self, CopyError> {
        let last = source.payloads(&[Tree::Meta.tree_key(LAST_ARRIVAL)])?;
        let last_arrival = last.into_iter().flatten().map(const_hex::encode).collect();
        let source = const_hex::encode(id_of(keys, master)?);
        let keys = const_hex::encode(Sha256::digest(keys));
        Ok(Self { source, keys, last_arrival, part: 0, key: Vec::new() })
    }

    /// Whether it is of the same source in the same state.
    pub(super) fn is_of(&self, begins: &Self) -> bool {
        let (keys, last) = (&begins.keys, &begins.last_arrival);
        self.source == begins.source && self.keys == *keys && self.last_arrival == *last
    }

    pub(super) fn raw(&self) -> Vec<u8> {
        framed(&codec::encode_json(self))
    }

    pub(super) fn tree_key() -> Vec<u8> {
        Tree::Meta.tree_key(KEY)
    }
}

pub(super) fn of(side: &impl CopySide) -> Result<Option<Marker>, CopyError> {
    let found = side.payloads(&[Marker::tree_key()])?.into_iter().flatten().next();
    let place = side.place();
    let unread =
        || CopyError::NotEmpty { target: place, found: "a marker of a copy that cannot be read".to_owned() };
    found.map(|payload| codec::decode_json(&payload).map_err(|_| unread())).transpose()
}

/// Whether a record belongs to its side only and is not copied.
pub(super) fn stays(tree_key: &[u8]) -> bool {
    tree_key == Tree::Meta.tree_key(KEY) || tree_key.starts_with(&Tree::Meta.tree_key(PROBE))
}

/// Marks a directory as an unfinished copy, before anything else is in it.
pub(super) fn claim(directory: &Path) -> io::Result<()> {
    disk::make_directory(directory)?;
    disk::replace(&directory.join(CLAIM), b"")
}

/// Removes that file, durably, once the record replaces it: it would keep a finished copy closed.
pub(super) fn release(directory: &Path) -> io::Result<()> {
    disk::remove_file(&directory.join(CLAIM))
}

pub(crate) fn refuse_claimed(directory: &Path) -> Result<(), StoreError> {
    let is_claimed = directory.join(CLAIM).try_exists();
    refuse_if(is_claimed.map_err(|source| io_error(directory, source))?)
}

/// Refuses a database with an unfinished copy, without opening it.
pub(crate) fn refuse_unfinished_in(database: &PostgresSettings) -> Result<(), StoreError> {
    refuse_if(!DatabaseTables::of(database)?.raw_of(vec![Marker::tree_key()])?.is_empty())
}

pub(crate) fn refuse_unfinished(engine: &(impl StoreBackend + ?Sized)) -> Result<(), StoreError> {
    refuse_if(engine.raw(&Marker::tree_key())?.is_some())
}

fn refuse_if(is_unfinished: bool) -> Result<(), StoreError> {
    if is_unfinished { Err(StoreError::Unfinished) } else { Ok(()) }
}
