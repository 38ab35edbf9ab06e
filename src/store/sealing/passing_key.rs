//! Passing keys: what is kept for some minutes is sealed with, each until the next one was begun and what is still wanted was sealed
//! with that.
//!
//! ```text
//! id (16)  key (32)
//! ```

use uuid::Uuid;

use super::key::{KEY_LEN, Key};

/// Length of a key and its id.
pub(super) const ENTRY: usize = 16 + KEY_LEN;

/// A key for what passes.
#[derive(Clone)]
pub(crate) struct PassingKey {
    /// No other has it; it stands before what is sealed with the key.
    pub(crate) id: Uuid,
    /// The key.
    pub(crate) key: Key,
}

impl PassingKey {
    /// A new key.
    pub(super) fn random() -> Self {
        Self { id: offerd_base::ids::random(), key: Key::random() }
    }

    /// Adds it to bytes that are to be sealed.
    pub(super) fn push(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.id.as_bytes());
        bytes.extend_from_slice(self.key.bytes());
    }

    /// The key that was made bytes of.
    pub(super) fn parse(entry: &[u8]) -> Option<Self> {
        let (id, key) = entry.split_first_chunk()?;
        Some(Self { id: Uuid::from_bytes(*id), key: Key::of_bytes(key)? })
    }
}
