//! Raw values: what lies under a key, wherever that is read from, and the payload that it holds.

use super::{broken::BrokenRecord, disk::DiskResult, frame::unframed, trees::Tree};

/// Something raw values can be read from: what is stored, or that under the writes of a group.
pub(super) trait RawValues {
    /// The raw value under a key of the index.
    fn raw(&self, sled_key: &[u8]) -> DiskResult<Option<Vec<u8>>>;
}

/// A payload, if the record is there, or what is wrong with it.
pub(super) type Record = Result<Option<Vec<u8>>, BrokenRecord>;

/// Reads one record as it lies there. The outer error is the disk's.
pub(super) fn read_clear(from: &(impl RawValues + ?Sized), tree: Tree, key: &[u8]) -> DiskResult<Record> {
    let Some(raw) = from.raw(&tree.sled_key(key))? else { return Ok(Ok(None)) };
    let payload = unframed(&raw).map(|payload| Some(payload.to_vec()));
    Ok(payload.map_err(|reason| BrokenRecord::new(tree, key, reason)))
}
