//! The shape of a stored value: a version byte, a checksum, the payload.
//!
//! ```text
//! whole   01  crc32(payload) LE  payload
//! split   81  crc32(head) LE     head = parts u16 BE, length u32 BE, crc32(payload) BE
//! ```
//!
//! Up to format 3 a payload over 6 KiB was split, for sled's sake: its own record is then only a head, and the pieces are whole
//! frames in the tree `parts`. Such records are still read; what is written now is whole.

use std::fmt;

use super::trees::Tree;

/// The largest payload a commit may put.
pub const VALUE_LIMIT: usize = 16 * 1024 * 1024;

/// How many bytes longer a payload is when it is sealed: whose it is, a nonce and a tag.
pub(super) const OVERHEAD: usize = 16 + 12 + 16;

const VERSION: u8 = 1;
const SPLIT: u8 = 0x80;
const HEADER: usize = 5;
const HEAD: usize = 10;

/// Why a stored value is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Nothing of it is left where it lay.
    Lost,
    /// Fewer bytes than a frame has.
    Short,
    /// A version this build does not know.
    Version(u8),
    /// The bytes are not those that were written.
    Checksum,
    /// A piece of a large value is missing or broken.
    Part(u16),
    /// The payload does not begin with the time that a guard compares.
    NoTime,
    /// The data key of the lead that it is about is missing, or cannot be read.
    DataKey,
    /// It was not sealed with this key, or for this place, or was changed since.
    Seal,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost => write!(f, "nothing of it is left where it lay"),
            Self::Short => write!(f, "the frame is cut short"),
            Self::Version(found) => write!(f, "frame version `{found}` is not known, want `{VERSION}`"),
            Self::Checksum => write!(f, "the checksum does not match"),
            Self::Part(part) => write!(f, "part `{part}` is missing or broken"),
            Self::NoTime => write!(f, "the payload is too short to begin with a time"),
            Self::DataKey => write!(f, "the data key of its lead is missing or broken"),
            Self::Seal => write!(f, "it is not what was sealed here"),
        }
    }
}

/// A frame, read and found sound.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    /// The payload itself.
    Whole(&'a [u8]),
    /// Where the payload is.
    Split(Head),
}

/// What the record of a split payload says about its pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// How many pieces there are.
    pub parts: u16,
    length: u32,
    crc: u32,
}

impl<'a> Frame<'a> {
    /// Reads a frame, or gives why it is broken.
    pub(super) fn open(raw: &'a [u8]) -> Result<Self, Reason> {
        if raw.is_empty() {
            return Err(Reason::Lost);
        }
        let (header, body) = raw.split_at_checked(HEADER).ok_or(Reason::Short)?;
        let version = header[0];
        if version & !SPLIT != VERSION {
            return Err(Reason::Version(version));
        }
        if crc32fast::hash(body).to_le_bytes() != header[1..] {
            return Err(Reason::Checksum);
        }
        match version & SPLIT {
            0 => Ok(Self::Whole(body)),
            _ => Head::read(body).map(Self::Split).ok_or(Reason::Short),
        }
    }
}

impl Head {
    fn read(body: &[u8]) -> Option<Self> {
        let body: &[u8; HEAD] = body.try_into().ok()?;
        let [p0, p1, l0, l1, l2, l3, c0, c1, c2, c3] = *body;
        Some(Self {
            parts: u16::from_be_bytes([p0, p1]),
            length: u32::from_be_bytes([l0, l1, l2, l3]),
            crc: u32::from_be_bytes([c0, c1, c2, c3]),
        })
    }

    /// Whether the joined pieces are the payload that was split.
    pub(super) fn describes(&self, joined: &[u8]) -> bool {
        joined.len() == self.length as usize && crc32fast::hash(joined) == self.crc
    }
}

/// The frame that holds `payload`.
pub(super) fn framed(payload: &[u8]) -> Vec<u8> {
    assert!(
        payload.len() <= VALUE_LIMIT + OVERHEAD,
        "a commit is refused before a value over the limit gets here"
    );
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    frame.push(VERSION);
    frame.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// The key in the index of one piece of the record `key` of `tree`.
pub(super) fn part_key(tree: Tree, key: &[u8], part: u16) -> Vec<u8> {
    let mut sled_key = Tree::Parts.sled_key(&tree.sled_key(key));
    sled_key.extend_from_slice(&part.to_be_bytes());
    sled_key
}

/// The record and the number of the piece that lies in `parts` under `key`.
pub(super) fn part_owner(key: &[u8]) -> Option<(Tree, &[u8], u16)> {
    let (owner, part) = key.split_last_chunk::<2>()?;
    let (prefix, owner_key) = owner.split_first()?;
    Some((Tree::of_prefix(*prefix)?, owner_key, u16::from_be_bytes(*part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_one_whole_frame() {
        for payload in [&b""[..], b"lead", &vec![7; 100_000]] {
            assert_eq!(Frame::open(&framed(payload)), Ok(Frame::Whole(payload)));
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let frame = framed(&[0, 1, 2]);
        for bit in 0..frame.len() * 8 {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Frame::open(&flipped), Frame::open(&frame), "bit {bit}");
        }
    }

    #[test]
    fn a_cut_frame_and_a_newer_version_have_their_own_reasons() {
        assert_eq!(Frame::open(&[]), Err(Reason::Lost));
        assert_eq!(Frame::open(&[1, 0, 0]), Err(Reason::Short));
        assert_eq!(Frame::open(&[2, 0, 0, 0, 0]), Err(Reason::Version(2)));
    }

    #[test]
    fn a_part_key_leads_back_to_its_record() {
        let key = part_key(Tree::Leads, b"lead", 259);
        assert_eq!(part_owner(&key[1..]), Some((Tree::Leads, &b"lead"[..], 259)));
    }
}
