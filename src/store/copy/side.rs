//! The two sides of a copy. Each can be the source or the target.

use super::error::CopyError;
use super::marker::{Marker, stays};
use crate::engine::{EntryWalk, RawEntry};
use crate::{BrokenRecord, DiskResult, MasterKey, Tree, unframed};

/// A key with the prefix of its tree, and its payload as stored, sealed.
pub(super) type KeyedPayload = (Vec<u8>, Vec<u8>);

pub(super) trait CopySide {
    /// Its name in messages.
    fn place(&self) -> String;

    fn parts(&self) -> Vec<u32>;

    fn entries(&self, part: u32, after: Vec<u8>) -> EntryWalk;

    /// The records of a part after a key that are to be copied.
    fn walk(&self, part: u32, after: Vec<u8>) -> impl Iterator<Item = Result<KeyedPayload, CopyError>> {
        let is_copied = |entry: &DiskResult<RawEntry>| !matches!(entry, Ok((tree_key, _)) if stays(tree_key));
        let copied = self.entries(part, after).filter(is_copied);
        copied.map(|entry| payload(entry?, &self.place()))
    }

    fn payloads(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, CopyError>;

    /// The approximate size of all records, bytes.
    fn bytes(&self) -> Result<u64, CopyError>;

    fn keys(&self) -> Result<Option<Vec<u8>>, CopyError>;

    /// Source only: locks out other writers and returns the sealed keys, which the master key opens.
    fn begin(&mut self, master: &MasterKey) -> Result<Vec<u8>, CopyError>;

    /// Source only: reports the key and the length of each record.
    fn sizes(&self, tell: &mut dyn FnMut(&[u8], u64)) -> Result<(), CopyError>;

    /// Source only: checks that no other process has written meanwhile. A locked source needs no check.
    fn end(&self) -> Result<(), CopyError> {
        Ok(())
    }

    /// Target only: checks that it is empty or has an unfinished copy, whose marker is returned.
    fn look(&mut self, keys: &[u8], master: &MasterKey) -> Result<Option<Marker>, CopyError>;

    /// Creates the target's storage with these keys, marked as an unfinished copy from the start.
    fn prepare(&mut self, keys: &[u8], marker: &Marker, source: &impl CopySide) -> Result<(), CopyError>;

    /// Writes records and the marker atomically. Without a marker, the copy is finished.
    fn write(&mut self, records: Vec<KeyedPayload>, marker: Option<&Marker>) -> Result<(), CopyError>;

    fn finish(&mut self) -> Result<(), CopyError> {
        Ok(())
    }
}

pub(super) fn tree_of<'k>(tree_key: &'k [u8], place: &str) -> Result<(Tree, &'k [u8]), CopyError> {
    let of = Tree::split(tree_key);
    of.ok_or_else(|| CopyError::Unknown { key: const_hex::encode(tree_key), place: place.to_owned() })
}

pub(super) fn payload((tree_key, raw): RawEntry, place: &str) -> Result<KeyedPayload, CopyError> {
    let (tree, key) = tree_of(&tree_key, place)?;
    let payload = unframed(&raw).map_err(|reason| CopyError::Broken(BrokenRecord::new(tree, key, reason)))?;
    Ok((tree_key, payload.to_vec()))
}
