//! Raw values: what lies under a key, wherever that is read from, and the payload that it holds.

use super::{
    broken::BrokenRecord,
    disk::DiskResult,
    frame::{Frame, Head, Reason, part_key},
    trees::Tree,
};

/// Something raw values can be read from: what is stored, or that under the writes of a group.
pub(super) trait RawValues {
    /// The raw value under a key of the index.
    fn raw(&self, sled_key: &[u8]) -> DiskResult<Option<Vec<u8>>>;
}

/// A payload, if the record is there, or what is wrong with it.
pub(super) type Record = Result<Option<Vec<u8>>, BrokenRecord>;

/// Reads one record as it lies there, joining its pieces. The outer error is the disk's.
pub(super) fn read_clear(from: &(impl RawValues + ?Sized), tree: Tree, key: &[u8]) -> DiskResult<Record> {
    let Some(raw) = from.raw(&tree.sled_key(key))? else { return Ok(Ok(None)) };
    let payload = match Frame::open(&raw) {
        Ok(Frame::Whole(payload)) => Ok(payload.to_vec()),
        Ok(Frame::Split(head)) => join(from, tree, key, head)?,
        Err(reason) => Err(reason),
    };
    Ok(payload.map(Some).map_err(|reason| BrokenRecord::new(tree, key, reason)))
}

fn join(
    from: &(impl RawValues + ?Sized),
    tree: Tree,
    key: &[u8],
    head: Head,
) -> DiskResult<Result<Vec<u8>, Reason>> {
    let mut joined = Vec::new();
    for part in 0..head.parts {
        let raw = from.raw(&part_key(tree, key, part))?;
        match raw.as_deref().map(Frame::open) {
            Some(Ok(Frame::Whole(piece))) => joined.extend_from_slice(piece),
            _ => return Ok(Err(Reason::Part(part))),
        }
    }
    Ok(if head.describes(&joined) { Ok(joined) } else { Err(Reason::Checksum) })
}
