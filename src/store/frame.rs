//! The shape of a stored value: a version byte, a checksum, the payload.
//!
//! ```text
//! whole   01  crc32(payload) LE  payload
//! split   81  crc32(head) LE     head = parts u16 BE, length u32 BE, crc32(payload) BE
//! ```
//!
//! A payload over [`PART_LIMIT`] is split: its own record is then only a head, and the pieces are whole frames in the
//! tree `parts`. So nothing reaches sled's blob files, which sled writes without a sync.
//!
//! What sled moves to a blob file is not a large value but a large node: it writes a leaf in one piece, splits it by the
//! number of its records (16) and not by their size, and makes a blob of what is over a quarter of a segment (128 KiB).

use std::fmt;

use super::{sealing::OVERHEAD, trees::Tree};

/// The largest payload that lies in one frame: 20 of them with their keys, more than a leaf of sled's ever has, are less
/// than 128 KiB. With 8 KiB blob files were seen, with 7 none.
pub(super) const PART_LIMIT: usize = 6 * 1024;

/// The largest payload a commit may put.
pub const VALUE_LIMIT: usize = 16 * 1024 * 1024;

const VERSION: u8 = 1;
const SPLIT: u8 = 0x80;
const HEADER: usize = 5;
const HEAD: usize = 10;

/// Why a stored value is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
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
    /// Reads a frame, or tells why it is broken.
    pub(super) fn open(raw: &'a [u8]) -> Result<Self, Reason> {
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
    fn of(payload: &[u8]) -> Self {
        let parts = payload.len().div_ceil(PART_LIMIT);
        Self {
            parts: u16::try_from(parts).expect("a value within the limit has fewer parts than u16 counts"),
            length: u32::try_from(payload.len())
                .expect("a value within the limit is shorter than u32 counts"),
            crc: crc32fast::hash(payload),
        }
    }

    fn read(body: &[u8]) -> Option<Self> {
        let body: &[u8; HEAD] = body.try_into().ok()?;
        let [p0, p1, l0, l1, l2, l3, c0, c1, c2, c3] = *body;
        Some(Self {
            parts: u16::from_be_bytes([p0, p1]),
            length: u32::from_be_bytes([l0, l1, l2, l3]),
            crc: u32::from_be_bytes([c0, c1, c2, c3]),
        })
    }

    fn to_bytes(self) -> [u8; HEAD] {
        let mut body = [0; HEAD];
        body[..2].copy_from_slice(&self.parts.to_be_bytes());
        body[2..6].copy_from_slice(&self.length.to_be_bytes());
        body[6..].copy_from_slice(&self.crc.to_be_bytes());
        body
    }

    /// Tells whether the joined pieces are the payload that was split.
    pub(super) fn describes(&self, joined: &[u8]) -> bool {
        joined.len() == self.length as usize && crc32fast::hash(joined) == self.crc
    }
}

/// The frames that hold `payload`: that of the record itself, then its pieces (none for a small payload).
pub(super) fn frames(payload: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    assert!(
        payload.len() <= VALUE_LIMIT + OVERHEAD,
        "a commit is refused before a value over the limit gets here"
    );
    if payload.len() <= PART_LIMIT {
        return (seal(VERSION, payload), Vec::new());
    }
    let pieces = payload.chunks(PART_LIMIT).map(|piece| seal(VERSION, piece)).collect();
    (seal(VERSION | SPLIT, &Head::of(payload).to_bytes()), pieces)
}

fn seal(version: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER + body.len());
    frame.push(version);
    frame.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    frame.extend_from_slice(body);
    frame
}

/// The key under which sled holds one piece of the record `key` of `tree`.
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
    fn a_small_payload_is_one_whole_frame() {
        for payload in [&b""[..], b"lead", &vec![7; PART_LIMIT]] {
            let (frame, pieces) = frames(payload);
            assert!(pieces.is_empty());
            assert_eq!(Frame::open(&frame), Ok(Frame::Whole(payload)));
        }
    }

    #[test]
    fn a_large_payload_is_a_head_and_its_pieces() {
        let payload: Vec<u8> = (0..3 * PART_LIMIT + 1).map(|i| i as u8).collect();
        let (frame, pieces) = frames(&payload);
        let Ok(Frame::Split(head)) = Frame::open(&frame) else { panic!("not split") };
        assert_eq!((head.parts, pieces.len()), (4, 4));
        let joined: Vec<u8> = pieces.iter().flat_map(|piece| piece[HEADER..].to_vec()).collect();
        assert!(head.describes(&joined));
        assert!(!head.describes(&joined[1..]));
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        for payload in [vec![0, 1, 2], vec![9; PART_LIMIT + 1]] {
            let (frame, _) = frames(&payload);
            for bit in 0..frame.len() * 8 {
                let mut flipped = frame.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let seen = Frame::open(&flipped) != Frame::open(&frame);
                assert!(seen, "bit {bit}");
            }
        }
    }

    #[test]
    fn a_cut_frame_and_a_newer_version_have_their_own_reasons() {
        assert_eq!(Frame::open(&[1, 0, 0]), Err(Reason::Short));
        assert_eq!(Frame::open(&[2, 0, 0, 0, 0]), Err(Reason::Version(2)));
    }

    #[test]
    fn a_part_key_leads_back_to_its_record() {
        let key = part_key(Tree::Leads, b"lead", 259);
        assert_eq!(part_owner(&key[1..]), Some((Tree::Leads, &b"lead"[..], 259)));
    }
}
