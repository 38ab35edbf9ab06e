//! A block: its head in the clear, and its sealed body.

use super::super::frame::{VALUE_LIMIT, checksum};
use super::super::sealing::key::SealKey;
use super::super::trees::Tree;

pub(super) const VERSION: u32 = 1;

pub(super) const MAGIC: &str = "offerd backup ";

pub(super) const BLOCK_BYTES: usize = 256 * 1024;

/// Longest body that is accepted: a full block, and the record that filled it.
pub(super) const BODY_BYTES_MAX: usize = BLOCK_BYTES + VALUE_LIMIT + 4096;

pub(super) const HEAD_LEN: usize = 13;

/// Set in the byte of a tree, whose prefix is a letter, for a block that counts its broken records.
const BROKEN: u8 = 0x80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Heading,
    Records(Tree),
    Changes,
    /// The number of unreadable records of a tree, which are copied as stored.
    Broken(Tree),
    Damages,
    Volumes,
    Keys,
    End,
}

impl BlockKind {
    /// The byte in the head of a block, and the name.
    fn row(self) -> (u8, &'static str) {
        match self {
            Self::Heading => (b'H', "the heading"),
            Self::Records(tree) => (tree.row().prefix, tree.name()),
            Self::Changes => (b'+', "changes made meanwhile"),
            Self::Broken(tree) => (tree.row().prefix | BROKEN, "how many records are broken"),
            Self::Damages => (b'!', "what is damaged"),
            Self::Volumes => (b'V', "the volumes"),
            Self::Keys => (b'K', "the keys"),
            Self::End => (b'.', "the end"),
        }
    }

    fn of_byte(byte: u8) -> Option<Self> {
        let plain = [Self::Heading, Self::Changes, Self::Damages, Self::Volumes, Self::Keys, Self::End];
        let of_tree = || match byte & BROKEN {
            0 => Tree::of_prefix(byte).map(Self::Records),
            _ => Tree::of_prefix(byte & !BROKEN).map(Self::Broken),
        };
        plain.into_iter().find(|kind| kind.row().0 == byte).or_else(of_tree)
    }

    pub(super) fn name(self) -> &'static str {
        self.row().1
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BlockHeader {
    pub(super) kind: Option<BlockKind>,
    pub(super) records: u32,
    pub(super) length: usize,
    summed: [u8; HEAD_LEN - 4],
    crc: u32,
}

impl BlockHeader {
    pub(super) fn read(bytes: &[u8; HEAD_LEN]) -> Self {
        let [kind, r0, r1, r2, r3, l0, l1, l2, l3, c0, c1, c2, c3] = *bytes;
        Self {
            kind: BlockKind::of_byte(kind),
            records: u32::from_be_bytes([r0, r1, r2, r3]),
            length: u32::from_be_bytes([l0, l1, l2, l3]) as usize,
            summed: [kind, r0, r1, r2, r3, l0, l1, l2, l3],
            crc: u32::from_be_bytes([c0, c1, c2, c3]),
        }
    }

    /// Whether the checksum matches the head and the body.
    pub(super) fn describes(&self, body: &[u8]) -> bool {
        checksum(&[&self.summed, body]) == self.crc
    }
}

pub(super) fn framed(kind: BlockKind, records: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("a block gathers far less than u32 counts");
    let summed = [&[kind.row().0], &records.to_be_bytes()[..], &length.to_be_bytes()].concat();
    let crc = checksum(&[&summed, body]);
    [&summed, &crc.to_be_bytes()[..], body].concat()
}

/// A framed block whose body is sealed for its position in the file.
pub(super) fn sealed(with: &SealKey, number: u64, kind: BlockKind, records: u32, text: &[u8]) -> Vec<u8> {
    framed(kind, records, &with.seal(&context(number, kind, records), text))
}

/// The context that a block is sealed in: its position in the file, and its head.
pub(super) fn context(number: u64, kind: BlockKind, records: u32) -> Vec<u8> {
    [&b"offerd backup block "[..], &number.to_be_bytes(), &[kind.row().0], &records.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TREES;

    #[test]
    fn no_tree_has_the_byte_of_another_kind() {
        for row in &TREES {
            assert_eq!(BlockKind::of_byte(row.prefix), Some(BlockKind::Records(row.tree)));
        }
    }
}
