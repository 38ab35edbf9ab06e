//! Signing keys of webhooks: HMAC-SHA256, as [Standard Webhooks](https://www.standardwebhooks.com) has it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::secret;
use offerd_base::config::SecretPlace;

const PREFIX: &str = "whsec_";

/// The length of a key in bytes, by the specification.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A symmetric key.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Vec<u8>);

impl SigningKey {
    /// Reads a key from its place.
    ///
    /// # Errors
    /// It cannot be read; worded to follow its place, and never with the content.
    pub fn read(place: &SecretPlace) -> Result<Self, String> {
        let text = secret::text(place)?;
        Self::parse(&text).ok_or_else(|| {
            format!(
                "must lead to `{PREFIX}` and base64 of {} to {} bytes; make one with `openssl rand -base64 \
                    32`",
                KEY_BYTES.start(),
                KEY_BYTES.end()
            )
        })
    }

    /// Parses `whsec_…`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        KEY_BYTES.contains(&bytes.len()).then_some(Self(bytes))
    }

    /// The signature of a message: `v1,` and base64.
    pub fn sign(&self, id: &str, timestamp_s: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(format!("{id}.{timestamp_s}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example by which the specification's own libraries are tested.
    #[test]
    fn a_signature_is_that_of_the_published_example() {
        let key = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_key_has_its_prefix_and_24_to_64_bytes() {
        let of = |bytes: usize| SigningKey::parse(&format!("{PREFIX}{}", STANDARD.encode(vec![7; bytes])));
        assert!(of(24).is_some() && of(64).is_some());
        assert!(of(23).is_none() && of(65).is_none());
        assert!(SigningKey::parse(&STANDARD.encode([7; 32])).is_none(), "without its prefix");
        assert!(SigningKey::parse("whsec_not base64").is_none());
        assert_eq!(format!("{:?}", of(32).unwrap()), "SigningKey(***)");
    }
}
