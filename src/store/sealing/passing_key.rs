//! Passing keys: what is kept for some minutes is sealed with, each until the next one was begun and what is still wanted was sealed
//! with that.
//!
//! They lie beside the keys of identities, as such keys of no company that nobody needs any more, so that a build of before
//! destroys them.
//!
//! ```text
//! zeros (16)  id (16)  zeros (17)  key (32)
//! ```

use uuid::Uuid;

use super::identity_key::ENTRY;
use super::key::{KEY_LEN, Key};

const ID: usize = 16;

/// A key for what passes.
#[derive(Clone)]
pub(in crate::store) struct PassingKey {
    /// No other has it; it stands before what is sealed with the key.
    pub(in crate::store) id: Uuid,
    /// The key.
    pub(in crate::store) key: Key,
}

impl PassingKey {
    /// A new key.
    pub(super) fn random() -> Self {
        Self { id: crate::ids::random(), key: Key::random() }
    }

    /// Adds it to bytes that are to be sealed.
    pub(super) fn push(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(Uuid::nil().as_bytes());
        bytes.extend_from_slice(self.id.as_bytes());
        bytes.extend_from_slice(&[0; ENTRY - 2 * ID - KEY_LEN]);
        bytes.extend_from_slice(self.key.bytes());
    }

    /// Whether the bytes of an entry are those of a passing key.
    pub(super) fn is_one(entry: &[u8]) -> bool {
        entry.starts_with(Uuid::nil().as_bytes())
    }

    /// The key that was made bytes of.
    pub(super) fn parse(entry: &[u8]) -> Option<Self> {
        let (_, rest) = entry.split_at_checked(ID)?;
        let (id, rest) = rest.split_first_chunk()?;
        let (_, key) = rest.split_at_checked(ENTRY - 2 * ID - KEY_LEN)?;
        Some(Self { id: Uuid::from_bytes(*id), key: Key::of_bytes(key)? })
    }
}
