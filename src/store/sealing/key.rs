//! A key and its use: authenticated encryption, bound to a context.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

pub(crate) const KEY_LEN: usize = 32;

/// Length that sealing adds, bytes: the nonce before the text and the tag after it.
pub(crate) const SEAL_LEN: usize = NONCE_LEN + 16;

/// A 256-bit key for ChaCha20-Poly1305. Wiped from memory on drop. Each sealing draws a 96-bit nonce; a key
/// seals thousands of texts at most, far below the 2^32 at which nonces might collide.
#[derive(Clone)]
pub(crate) struct SealKey(Zeroizing<[u8; KEY_LEN]>);

impl SealKey {
    pub(crate) fn random() -> Self {
        let mut bytes = Zeroizing::new([0; KEY_LEN]);
        draw(&mut *bytes);
        Self(bytes)
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self(Zeroizing::new(bytes)))
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }

    pub(crate) fn seal(&self, context: &[u8], text: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE_LEN];
        draw(&mut nonce);
        let mut sealed = Vec::with_capacity(text.len() + SEAL_LEN);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(text);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag =
            self.cipher().seal_in_place_separate_tag(nonce, Aad::from(context), &mut sealed[NONCE_LEN..]);
        let tag = tag.expect("a text in memory is shorter than the cipher's limit of 256 GiB");
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }

    /// Opens a sealed text; `None` if the key or the context is wrong, or the text is damaged.
    pub(crate) fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let mut text = text.to_vec();
        let length = self.cipher().open_in_place(nonce, Aad::from(context), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }

    fn cipher(&self) -> LessSafeKey {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &*self.0);
        LessSafeKey::new(key.expect("a key has the length that the cipher wants"))
    }
}

/// Panics if the system has no randomness: no key may be made and nothing sealed without it.
fn draw(bytes: &mut [u8]) {
    SystemRandom::new()
        .fill(bytes)
        .expect("the system gives randomness to every process, at any time after its start");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_opens_under_its_key_and_in_its_context_only() {
        let key = SealKey::random();
        let sealed = key.seal(b"here", b"078-05-1120");
        assert_eq!(sealed.len(), 11 + SEAL_LEN);
        assert_eq!(key.open(b"here", &sealed).as_deref(), Some(&b"078-05-1120"[..]));
        assert_eq!(key.open(b"there", &sealed), None);
        assert_eq!(SealKey::random().open(b"here", &sealed), None);
        assert_ne!(key.seal(b"here", b"078-05-1120"), sealed, "each sealing has a nonce of its own");
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let key = SealKey::random();
        let sealed = key.seal(b"", b"lead");
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(key.open(b"", &flipped), None, "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert_eq!(key.open(b"", &sealed[..length]), None, "cut to {length}");
        }
    }
}
