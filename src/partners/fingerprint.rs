//! Fingerprints: the keys under which templates are stored; a book has one, too.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The first half of the SHA-256 of a text: equal texts share a record, different texts never collide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The fingerprint of a text.
    pub fn of(text: &str) -> Self {
        Self::from(Sha256::new_with_prefix(text))
    }

    /// Its first six bytes as a number, which a gauge represents exactly.
    pub fn figure(self) -> u64 {
        (u128::from_be_bytes(self.0) >> 80) as u64
    }
}

impl From<Sha256> for Fingerprint {
    fn from(hasher: Sha256) -> Self {
        let digest: [u8; 32] = hasher.finalize().into();
        Self(std::array::from_fn(|nth| digest[nth]))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", u128::from_be_bytes(self.0))
    }
}
