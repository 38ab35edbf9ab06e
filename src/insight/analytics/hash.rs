//! The ids of feed records: a digest of their parts.

use sha2::{Digest, Sha256};

/// The first 16 bytes of the SHA-256 of the parts, in hexadecimal. Each part is prefixed with its length, so
/// that different lists of parts never collide.
pub fn hash(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    const_hex::encode(&digest.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        assert_eq!(hash(&[b"a", b"b"]).len(), 32);
        assert_eq!(hash(&[b"a", b"b"]), hash(&[b"a", b"b"]));
        assert_ne!(hash(&[b"ab", b""]), hash(&[b"a", b"b"]));
    }
}
