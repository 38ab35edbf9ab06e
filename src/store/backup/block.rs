//! A block: what is in the clear before it, and what is sealed in it.

use super::super::frame::{VALUE_LIMIT, checksum};
use super::super::{sealing::key::Key, trees::Tree};

/// The version of the file's form.
pub(super) const VERSION: u32 = 1;

/// The first line of a file, without the version and what follows it.
pub(super) const MAGIC: &str = "offerd backup ";

/// How many bytes of records a block gathers.
pub(super) const BLOCK_BYTES: usize = 256 * 1024;

/// Longest body of a block that is read: a full one, and the record that filled it.
pub(super) const BODY_BYTES_MAX: usize = BLOCK_BYTES + VALUE_LIMIT + 4096;

/// Length of what is before a body.
pub(super) const HEAD_LEN: usize = 13;

/// What the byte of a tree has beside it where its broken records are counted; prefixes are letters.
const BROKEN: u8 = 0x80;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the file is sealed with, and when it was made.
    Heading,
    /// Records of a tree, as they were read.
    Records(Tree),
    /// Changes of any trees, in their order.
    Changes,
    /// How many of the records of a tree cannot be read; they are carried as they lie there.
    Broken(Tree),
    /// What of the store's files is damaged.
    Damages,
    /// Which volumes there are, and when they begin.
    Volumes,
    /// The file of the store's keys.
    Keys,
    /// That this is all.
    End,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Heading => b'H',
            Self::Records(tree) => tree.row().prefix,
            Self::Changes => b'+',
            Self::Broken(tree) => tree.row().prefix | BROKEN,
            Self::Damages => b'!',
            Self::Volumes => b'V',
            Self::Keys => b'K',
            Self::End => b'.',
        }
    }

    fn of_byte(byte: u8) -> Option<Self> {
        match byte {
            b'H' => Some(Self::Heading),
            b'+' => Some(Self::Changes),
            b'!' => Some(Self::Damages),
            broken if broken & BROKEN != 0 => Tree::of_prefix(broken & !BROKEN).map(Self::Broken),
            b'V' => Some(Self::Volumes),
            b'K' => Some(Self::Keys),
            b'.' => Some(Self::End),
            prefix => Tree::of_prefix(prefix).map(Self::Records),
        }
    }

    /// What it holds, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Heading => "the heading",
            Self::Records(tree) => tree.name(),
            Self::Changes => "changes made meanwhile",
            Self::Broken(_) => "how many records are broken",
            Self::Damages => "what is damaged",
            Self::Volumes => "the volumes",
            Self::Keys => "the keys",
            Self::End => "the end",
        }
    }
}

/// What is before a body, in the clear.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// What the body holds; nothing when the byte means nothing.
    pub(super) kind: Option<Kind>,
    /// How many records it holds.
    pub(super) records: u32,
    /// How long it is.
    pub(super) length: usize,
    summed: [u8; HEAD_LEN - 4],
    crc: u32,
}

impl Head {
    /// Reads what is before a body.
    pub(super) fn read(bytes: &[u8; HEAD_LEN]) -> Self {
        let [kind, r0, r1, r2, r3, l0, l1, l2, l3, c0, c1, c2, c3] = *bytes;
        Self {
            kind: Kind::of_byte(kind),
            records: u32::from_be_bytes([r0, r1, r2, r3]),
            length: u32::from_be_bytes([l0, l1, l2, l3]) as usize,
            summed: [kind, r0, r1, r2, r3, l0, l1, l2, l3],
            crc: u32::from_be_bytes([c0, c1, c2, c3]),
        }
    }

    /// Whether it and the body are what was written, accidents considered.
    pub(super) fn describes(&self, body: &[u8]) -> bool {
        checksum(&[&self.summed, body]) == self.crc
    }
}

/// A block as it goes into the file.
pub(super) fn framed(kind: Kind, records: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("a block gathers far less than u32 counts");
    let summed = [&[kind.byte()], &records.to_be_bytes()[..], &length.to_be_bytes()].concat();
    let crc = checksum(&[&summed, body]);
    [&summed, &crc.to_be_bytes()[..], body].concat()
}

/// A block whose body is sealed for its place in the file.
pub(super) fn sealed(with: &Key, number: u64, kind: Kind, records: u32, text: &[u8]) -> Vec<u8> {
    framed(kind, records, &with.seal(&context(number, kind, records), text))
}

/// The body of a block as it was before it was sealed.
pub(super) fn opened(with: &Key, number: u64, kind: Kind, records: u32, body: &[u8]) -> Option<Vec<u8>> {
    with.open(&context(number, kind, records), body)
}

fn context(number: u64, kind: Kind, records: u32) -> Vec<u8> {
    [&b"offerd backup block "[..], &number.to_be_bytes(), &[kind.byte()], &records.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TREES;

    #[test]
    fn no_tree_has_the_byte_of_another_kind() {
        for row in &TREES {
            assert_eq!(Kind::of_byte(row.prefix), Some(Kind::Records(row.tree)));
        }
    }
}
