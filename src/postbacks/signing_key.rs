//! What webhooks are signed with, as [Standard Webhooks](https://www.standardwebhooks.com) has it: `v1` signatures, HMAC-SHA256.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::declared::DeclaredSecret;
use crate::regular_file::{self, SECRET_BYTES_MAX};

/// How a secret begins that is written down.
const PREFIX: &str = "whsec_";

/// How many bytes a key has, by the specification.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A symmetric key.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Vec<u8>);

impl SigningKey {
    /// Reads a key from where it is.
    ///
    /// # Errors
    /// Why it cannot be read, to follow its place; never what was found.
    pub(super) fn read(declared: &DeclaredSecret) -> Result<Self, String> {
        let path = match declared {
            DeclaredSecret::File { file } => file.clone(),
            DeclaredSecret::Credential { credential: name } => credential(name)?,
            DeclaredSecret::Misplaced(_) => {
                return Err(
                    "must be a table, `{ file = \"PATH\" }` or `{ credential = \"NAME\" }`".to_owned()
                );
            }
        };
        let text = regular_file::text_of(&path, SECRET_BYTES_MAX)
            .map_err(|error| format!("cannot be read from the file that it names: {error}"))?;
        Self::parse(text.trim()).ok_or_else(|| {
            format!(
                "must lead to `{PREFIX}` and base64 of {} to {} bytes; `openssl rand -base64 32` makes such a key",
                KEY_BYTES.start(),
                KEY_BYTES.end()
            )
        })
    }

    /// Reads `whsec_…`.
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

/// The key is a secret.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(***)")
    }
}

/// Where the service manager keeps a credential.
pub fn credential(name: &str) -> Result<PathBuf, String> {
    let is_name = matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
    if !is_name {
        return Err("must name a credential, not a path".to_owned());
    }
    let directory = std::env::var_os("CREDENTIALS_DIRECTORY").ok_or_else(|| {
        "cannot be read: no credentials were given to this process; `LoadCredential=` of its unit does"
            .to_owned()
    })?;
    Ok(PathBuf::from(directory).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that the specification's own libraries are tested with.
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
