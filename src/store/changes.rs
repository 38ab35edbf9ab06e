//! Changes: the writes of a group, encoded for the [journal](super::journal) and [backups](super::backup).
//!
//! ```text
//! change   volume u32 BE  key length u16 BE  value length u32 BE  key  value
//! ```
//! A removed record has the length `FFFFFFFF` and no value.

use std::collections::BTreeMap;

use super::volume_number::VolumeNumber;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordChange {
    pub(super) volume: VolumeNumber,
    pub(super) key: Vec<u8>,
    /// Its raw value; `None` removes the record.
    pub(super) value: Option<Vec<u8>>,
}

/// The value length that marks a removal.
pub(super) const REMOVED: u32 = u32::MAX;

pub(super) fn lengths(key: &[u8], value: Option<&[u8]>) -> (u16, u32) {
    let key_length = u16::try_from(key.len()).expect("keys of trees are some dozens of bytes long");
    let length = |value: &[u8]| u32::try_from(value.len()).expect("a value is within its limit of 16 MiB");
    (key_length, value.map_or(REMOVED, length))
}

pub(super) fn push(body: &mut Vec<u8>, volume: VolumeNumber, key: &[u8], value: Option<&[u8]>) {
    let (key_length, value_length) = lengths(key, value);
    body.extend_from_slice(&volume.to_be_bytes());
    body.extend_from_slice(&key_length.to_be_bytes());
    body.extend_from_slice(&value_length.to_be_bytes());
    body.extend_from_slice(key);
    body.extend_from_slice(value.unwrap_or_default());
}

pub(super) fn by_volume(changes: Vec<RecordChange>) -> BTreeMap<VolumeNumber, Vec<RecordChange>> {
    let mut by_volume: BTreeMap<VolumeNumber, Vec<RecordChange>> = BTreeMap::new();
    changes.into_iter().for_each(|change| by_volume.entry(change.volume).or_default().push(change));
    by_volume
}

/// The changes in a body; `None` if it is malformed.
pub(super) fn read(mut body: &[u8]) -> Option<Vec<RecordChange>> {
    let mut changes = Vec::new();
    while !body.is_empty() {
        let (change, rest) = read_next(body)?;
        changes.push(change);
        body = rest;
    }
    Some(changes)
}

fn read_next(body: &[u8]) -> Option<(RecordChange, &[u8])> {
    let (volume, rest) = body.split_first_chunk()?;
    let (key_length, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*key_length)))?;
    let (value, rest) = match u32::from_be_bytes(*length) {
        REMOVED => (None, rest),
        length => rest.split_at_checked(length as usize).map(|(value, rest)| (Some(value), rest))?,
    };
    let volume = u32::from_be_bytes(*volume);
    Some((RecordChange { volume, key: key.to_vec(), value: value.map(<[u8]>::to_vec) }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_were_pushed() {
        let change = |volume, key: &[u8], value: Option<&[u8]>| RecordChange {
            volume,
            key: key.to_vec(),
            value: value.map(<[u8]>::to_vec),
        };
        let pushed =
            [change(0, b"key", Some(b"value")), change(7, b"gone", None), change(u32::MAX, b"", Some(b""))];
        let mut body = Vec::new();
        for RecordChange { volume, key, value } in &pushed {
            push(&mut body, *volume, key, value.as_deref());
        }
        assert_eq!(read(&body).as_deref(), Some(&pushed[..]));
        assert!(read(&body[..body.len() - 1]).is_none());
    }
}
