//! A scan: the records of a tree with a prefix, one after the other.

use std::sync::Arc;

use uuid::Uuid;

use super::broken::ReadError;
use super::engine::{Engine, Walk};
use super::frame::unframed;
use super::sealing::{LastKey, owner};
use super::trees::Tree;

/// The records of one tree whose key begins with a prefix, in the order of their keys in each volume.
///
/// Not a snapshot: a record written meanwhile is met when its key lies ahead. Broken records are reported and left out. Each step may
/// wait for the engine.
pub struct Scan {
    engine: Arc<dyn Engine>,
    tree: Tree,
    /// The only lead that is looked for, in a tree that is sealed by lead.
    about: Option<Uuid>,
    /// Whether broken records are met as errors.
    names_broken: bool,
    last_key: LastKey,
    ahead: Walk,
}

impl Scan {
    /// Begins at `start`, or at the first key with the prefix where that is later.
    pub(super) fn new(engine: Arc<dyn Engine>, tree: Tree, start: &[u8], prefix: &[u8]) -> Self {
        let ahead = engine.walk(tree, start, prefix);
        Self { engine, tree, about: None, names_broken: false, last_key: LastKey::default(), ahead }
    }

    /// Leaves out what is about other leads, without opening it.
    pub(super) fn about(self, lead: Uuid) -> Self {
        Self { about: Some(lead), ..self }
    }

    /// Gives broken records as errors, where each counts.
    pub(super) fn naming_broken(self) -> Self {
        Self { names_broken: true, ..self }
    }

    /// What `read` makes of the key and the payload of each record; those of which it makes nothing are left out.
    pub fn read_by<T>(
        self,
        read: impl Fn(Vec<u8>, Vec<u8>) -> Option<T>,
    ) -> impl Iterator<Item = Result<T, ReadError>> {
        self.filter_map(move |record| record.map(|(key, payload)| read(key, payload)).transpose())
    }

    fn is_wanted(&self, raw: &[u8]) -> bool {
        self.about.is_none_or(|lead| owner_of(raw) == Some(lead))
    }
}

/// The lead that a record of a tree that is sealed by lead is about, read without opening it; nothing where it is broken.
pub(super) fn owner_of(raw: &[u8]) -> Option<Uuid> {
    unframed(raw).ok().and_then(owner)
}

/// Whom the records of a tree that is sealed by lead are about, with their keys: what [`Scan`] goes through, without opening any.
pub(super) fn owners(
    engine: Arc<dyn Engine>,
    tree: Tree,
    start: &[u8],
    prefix: &[u8],
) -> impl Iterator<Item = Result<(Uuid, Vec<u8>), ReadError>> + use<> {
    engine.walk(tree, start, prefix).filter_map(move |entry| {
        let owned = entry.map(|(mut sled_key, raw)| Some((owner_of(&raw)?, sled_key.split_off(1))));
        owned.map_err(ReadError::from).transpose()
    })
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Vec<u8>), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (mut sled_key, raw) = match self.ahead.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error.into())),
            };
            let key = sled_key.split_off(1);
            if !self.is_wanted(&raw) {
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
