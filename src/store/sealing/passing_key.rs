//! Keys of ephemeral records: a new key reseals the records still wanted, and the old one is destroyed.
//!
//! ```text
//! id (16)  key (32)
//! ```

use uuid::Uuid;

use super::key::{KEY_LEN, SealKey};

pub(super) const ENTRY: usize = 16 + KEY_LEN;

#[derive(Clone)]
pub(crate) struct EphemeralKey {
    /// Unique; precedes the payloads sealed with the key.
    pub(crate) id: Uuid,
    pub(crate) key: SealKey,
}

impl EphemeralKey {
    pub(super) fn random() -> Self {
        Self { id: offerd_base::ids::random(), key: SealKey::random() }
    }

    pub(super) fn push(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.id.as_bytes());
        bytes.extend_from_slice(self.key.bytes());
    }

    pub(super) fn parse(entry: &[u8]) -> Option<Self> {
        let (id, key) = entry.split_first_chunk()?;
        Some(Self { id: Uuid::from_bytes(*id), key: SealKey::of_bytes(key)? })
    }
}
