//! Raw values: the bytes stored under a key, and the payload in them.

use crate::{BrokenRecord, DiskResult, Tree, unframed};

/// A source of raw values: the stored records, those overlaid with the writes of a group, or a part of them.
pub(super) trait RawValues {
    fn raw(&self, tree_key: &[u8]) -> DiskResult<Option<Vec<u8>>>;
}

impl<F: Fn(&[u8]) -> DiskResult<Option<Vec<u8>>>> RawValues for F {
    fn raw(&self, tree_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        self(tree_key)
    }
}

pub(super) type RawRecord = Result<Option<Vec<u8>>, BrokenRecord>;

/// Reads one record without opening a seal. The outer error is the disk's.
pub(super) fn read_clear(from: &(impl RawValues + ?Sized), tree: Tree, key: &[u8]) -> DiskResult<RawRecord> {
    let Some(raw) = from.raw(&tree.tree_key(key))? else { return Ok(Ok(None)) };
    let payload = unframed(&raw).map(|payload| Some(payload.to_vec()));
    Ok(payload.map_err(|reason| BrokenRecord::new(tree, key, reason)))
}
