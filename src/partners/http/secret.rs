//! Secrets of partner files: read from the environment or another file at load, never printed.

use std::env::VarError;
use std::fmt;

use uuid::Uuid;

use super::declared;
use offerd_base::{ids, regular_file};

/// Maximum size of a secret file in bytes; a private key with its chain takes a few thousand.
const BYTES_MAX: u64 = 64 * 1024;

/// Whether a request is built for sending or for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// With the real secrets.
    Real,
    /// With `***` in their place.
    Masked,
    /// Masked, but otherwise identical to the sent request with this nonce.
    Withheld(Uuid),
}

impl Secrets {
    /// A unique value per sent request.
    pub(super) fn nonce(self) -> Uuid {
        match self {
            Self::Real => ids::random(),
            Self::Masked => Uuid::nil(),
            Self::Withheld(nonce) => nonce,
        }
    }
}

/// The placeholder of a masked secret.
pub(super) const MASKED: &str = "***";

/// A secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Reads a secret from its location.
    ///
    /// # Errors
    /// Why it cannot be read, worded to follow the key. Quotes a variable's name only if it looks like one,
    /// and never a file: the secret itself may have been written there by mistake.
    pub fn read(declared: &declared::SecretLocation) -> Result<Self, String> {
        let (text, place) = match declared {
            declared::SecretLocation::Env { env: name } => {
                let shown = if is_variable(name) { name.as_str() } else { "that it names" };
                let place = format!("the environment variable {shown}");
                let unset = "is not set; a daemon has only the variables that it was started with";
                let read = std::env::var(name).map_err(|error| match error {
                    VarError::NotUnicode(_) => format!("cannot be used: {place} is not UTF-8 text"),
                    VarError::NotPresent => format!("cannot be read: {place} {unset}"),
                });
                (read?, place)
            }
            declared::SecretLocation::File { file } => {
                let place = "the file that it names".to_owned();
                let read = regular_file::text_of(file, BYTES_MAX);
                (read.map_err(|error| format!("cannot be read from {place}: {error}"))?, place)
            }
            declared::SecretLocation::Misplaced(_) => {
                return Err("must be a table, `{ env = \"NAME\" }` or `{ file = \"PATH\" }`".to_owned());
            }
        };
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.is_empty() {
            Err(format!("cannot be used: {place} is empty"))
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// The secret in clear text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Whether a text looks like the name of an environment variable rather than a key: `LENDER_PASSWORD`.
fn is_variable(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    name.contains('_') && name.chars().all(fits)
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}
