//! Changes: what a batch does to the records, and how that is written down, in the [journal](super::journal) and in
//! [backups](super::backup).
//!
//! ```text
//! change   key length u16 BE  value length u32 BE  key  value
//! ```
//! A record that is removed has the length `FFFFFFFF` and no value.

use sled::IVec;

/// A record of sled's, or that there is none any more.
pub(super) type Change = (IVec, Option<IVec>);

/// The length that says that a record is removed.
const REMOVED: u32 = u32::MAX;

/// Adds a change to a body.
pub(super) fn push(body: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    let key_length = u16::try_from(key.len()).expect("keys of trees are some dozens of bytes long");
    let length = |value: &[u8]| u32::try_from(value.len()).expect("sled holds pieces of some kilobytes");
    body.extend_from_slice(&key_length.to_be_bytes());
    body.extend_from_slice(&value.map_or(REMOVED, length).to_be_bytes());
    body.extend_from_slice(key);
    body.extend_from_slice(value.unwrap_or_default());
}

/// The changes of a body; `None` when it is not made of changes.
pub(super) fn read(mut body: &[u8]) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    while !body.is_empty() {
        let (key_length, rest) = body.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*key_length)))?;
        let (value, rest) = match u32::from_be_bytes(*length) {
            REMOVED => (None, rest),
            length => rest.split_at_checked(length as usize).map(|(value, rest)| (Some(value), rest))?,
        };
        changes.push((IVec::from(key), value.map(IVec::from)));
        body = rest;
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_were_pushed() {
        let pushed: [Change; 3] = [
            (IVec::from(b"key"), Some(IVec::from(b"value"))),
            (IVec::from(b"gone"), None),
            (IVec::from(b""), Some(IVec::from(b""))),
        ];
        let mut body = Vec::new();
        for (key, value) in &pushed {
            push(&mut body, key, value.as_deref());
        }
        assert_eq!(read(&body).as_deref(), Some(&pushed[..]));
        assert!(read(&body[..body.len() - 1]).is_none());
    }
}
