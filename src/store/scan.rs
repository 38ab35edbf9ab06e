//! Scans: iterate over the records of a tree with a prefix.

use std::sync::Arc;

use uuid::Uuid;

use super::engine::{EntryWalk, StoreBackend, owner_of};
use super::sealing::LastKey;
use crate::{ReadError, ReadResult, Tree};

/// The records of one tree with a key prefix, in key order within each volume. Not a snapshot: a record
/// written meanwhile is met if its key lies ahead. Broken records are skipped. Steps may block.
pub struct Scan {
    engine: Arc<dyn StoreBackend>,
    tree: Tree,
    /// Restricts a scan of a tree sealed by lead to this lead.
    pub(super) about: Option<Uuid>,
    names_broken: bool,
    last_key: LastKey,
    ahead: EntryWalk,
}

impl Scan {
    /// Begins at `start`, or at the first key with the prefix if that is later.
    pub(super) fn new(engine: Arc<dyn StoreBackend>, tree: Tree, start: &[u8], prefix: &[u8]) -> Self {
        let ahead = engine.walk(tree, start, prefix);
        Self { engine, tree, about: None, names_broken: false, last_key: LastKey::default(), ahead }
    }

    pub(super) fn naming_broken(self) -> Self {
        Self { names_broken: true, ..self }
    }

    /// Maps the key and the payload of each record; records mapped to `None` are skipped.
    pub fn read_by<T>(
        self,
        read: impl Fn(Vec<u8>, Vec<u8>) -> Option<T>,
    ) -> impl Iterator<Item = ReadResult<T>> {
        self.filter_map(move |record| record.map(|(key, payload)| read(key, payload)).transpose())
    }
}

impl Iterator for Scan {
    type Item = ReadResult<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (mut tree_key, raw) = match self.ahead.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error.into())),
            };
            let key = tree_key.split_off(1);
            if self.about.is_some_and(|lead| owner_of(&raw) != Some(lead)) {
                continue;
            }
            match self.engine.payload(self.tree, &key, &raw, &mut self.last_key) {
                Ok(Some(payload)) => return Some(Ok((key, payload))),
                Ok(None) => {}
                Err(ReadError::Broken(_)) if !self.names_broken => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
