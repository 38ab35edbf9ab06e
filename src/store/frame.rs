//! The frame of a stored value: a version byte, a checksum, the payload.
//!
//! ```text
//! 01  crc32(payload) LE  payload
//! ```
//! All records have this version. One with another version is a broken record.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use super::codec::CodecError;

/// The largest payload a commit may put.
pub const VALUE_LIMIT: usize = 16 * 1024 * 1024;

/// How much sealing adds to a payload, in bytes: its owner's id, a nonce and a tag.
pub(super) const OVERHEAD: usize = 16 + 12 + 16;

const VERSION: u8 = 1;
const HEADER: usize = 5;

/// Why a stored value is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenReason {
    /// Nothing of it is left at its place.
    #[error("nothing of it is left in its place")]
    Lost,
    /// Its file ends before its place.
    #[error("its file is cut off before it")]
    CutOff,
    /// Shorter than a frame.
    #[error("the frame is cut short")]
    Short,
    /// Not the version of this build.
    #[error("its version is `{0}`, want `{VERSION}`", VERSION = VERSION)]
    Version(u8),
    /// The bytes differ from those written.
    #[error("the checksum does not match")]
    Checksum,
    /// The payload does not begin with the time that a guard compares.
    #[error("the payload is too short to begin with a time")]
    NoTime,
    /// The data key of its lead is missing, or cannot be read.
    #[error("the data key of its lead is missing or broken")]
    DataKey,
    /// It was not sealed with this key or for this place, or was changed since.
    #[error("it does not decrypt: it was changed or moved")]
    Seal,
    /// The payload is sound, but does not decode as a record of its tree.
    #[error("{0}")]
    Payload(CodecError),
}

pub(super) fn unframed(raw: &[u8]) -> Result<&[u8], BrokenReason> {
    if raw.is_empty() {
        return Err(BrokenReason::Lost);
    }
    let (header, payload) = raw.split_at_checked(HEADER).ok_or(BrokenReason::Short)?;
    if header[0] != VERSION {
        return Err(BrokenReason::Version(header[0]));
    }
    if crc32fast::hash(payload).to_le_bytes() != header[1..] {
        return Err(BrokenReason::Checksum);
    }
    Ok(payload)
}

pub(super) fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// A hash for in-memory lookups. Never store it: it may change with the Rust release.
pub(super) fn hash(of: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(of)
}

pub(super) fn framed(payload: &[u8]) -> Vec<u8> {
    assert!(
        payload.len() <= VALUE_LIMIT + OVERHEAD,
        "a commit is refused before a value over the limit gets here"
    );
    [&[VERSION], &crc32fast::hash(payload).to_le_bytes()[..], payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_unframed_as_it_was_framed() {
        for payload in [&b""[..], b"lead", &vec![7; 100_000]] {
            assert_eq!(unframed(&framed(payload)), Ok(payload));
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let frame = framed(&[0, 1, 2]);
        for bit in 0..frame.len() * 8 {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(unframed(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_cut_frame_and_another_version_have_their_own_reasons() {
        assert_eq!(unframed(&[]), Err(BrokenReason::Lost));
        assert_eq!(unframed(&[1, 0, 0]), Err(BrokenReason::Short));
        for version in [0, 2, 0x81] {
            assert_eq!(unframed(&[version, 0, 0, 0, 0]), Err(BrokenReason::Version(version)));
        }
    }
}
