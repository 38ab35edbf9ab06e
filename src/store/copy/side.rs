//! What a copy asks of its two sides. Records can be copied from each, and to each.

use super::error::CopyError;
use super::marker::{Marker, stays};
use crate::broken::BrokenRecord;
use crate::disk::DiskResult;
use crate::engine::{Entry, Walk};
use crate::frame::unframed;
use crate::sealing::MasterKey;
use crate::trees::Tree;

/// A key with the prefix of its tree, and the payload under it, sealed as it lies.
pub(super) type Payload = (Vec<u8>, Vec<u8>);

/// Payloads on their way.
pub(super) type Payloads<'a> = Box<dyn Iterator<Item = Result<Payload, CopyError>> + 'a>;

/// Where records are read and written.
pub(super) trait Side {
    /// What messages call it.
    fn place(&self) -> String;

    /// The parts in which it is read, in their order.
    fn parts(&self) -> Vec<u32>;

    /// All that lies in a part behind a key, in the order of the keys.
    fn entries(&self, part: u32, after: Vec<u8>) -> Walk;

    /// The records of it.
    fn walk(&self, part: u32, after: Vec<u8>) -> Payloads<'_> {
        let is_copied = |entry: &DiskResult<Entry>| !matches!(entry, Ok((sled_key, _)) if stays(sled_key));
        let copied = self.entries(part, after).filter(is_copied);
        Box::new(copied.map(|entry| payload(entry?, &self.place())))
    }

    /// The payloads under these keys, in their order; nothing where there is none.
    fn payloads(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, CopyError>;

    /// How many bytes all records have, about.
    fn bytes(&self) -> Result<u64, CopyError>;

    /// The sealed keys, as they lie there.
    fn keys(&self) -> Result<Option<Vec<u8>>, CopyError>;

    /// Of the source: sees to it that nobody else writes, and gives the sealed keys, which the master key opens.
    fn begin(&mut self, master: &MasterKey) -> Result<Vec<u8>, CopyError>;

    /// Of the source: gives the key and the length of each record.
    fn sizes(&self, tell: &mut dyn FnMut(&[u8], u64)) -> Result<(), CopyError>;

    /// Of the source: checks that nobody else wrote meanwhile. A locked source needs no check.
    fn end(&self) -> Result<(), CopyError> {
        Ok(())
    }

    /// Of the target: sees to it that there is nothing, or the marker of an unfinished copy, which is given.
    fn look(&mut self, keys: &[u8], master: &MasterKey) -> Result<Option<Marker>, CopyError>;

    /// Makes what records are written to, with these keys; from its first moment on it is known to be an unfinished copy.
    fn prepare(&mut self, keys: &[u8], marker: &Marker, source: &impl Side) -> Result<(), CopyError>;

    /// Writes records, and how far the copy is then; all of it or nothing. Without a marker it is finished.
    fn write(&mut self, records: Vec<Payload>, marker: Option<&Marker>) -> Result<(), CopyError>;

    /// Of the target: ends the writing.
    fn finish(&mut self) -> Result<(), CopyError> {
        Ok(())
    }
}

/// The tree and the key in it that a key of an index is of.
pub(super) fn tree_of<'k>(sled_key: &'k [u8], place: &str) -> Result<(Tree, &'k [u8]), CopyError> {
    let of = Tree::split(sled_key);
    of.ok_or_else(|| CopyError::Unknown { key: const_hex::encode(sled_key), place: place.to_owned() })
}

/// The key and payload of an entry of an index.
pub(super) fn payload((sled_key, raw): Entry, place: &str) -> Result<Payload, CopyError> {
    let (tree, key) = tree_of(&sled_key, place)?;
    let payload = unframed(&raw).map_err(|reason| CopyError::Broken(BrokenRecord::new(tree, key, reason)))?;
    Ok((sled_key, payload.to_vec()))
}
