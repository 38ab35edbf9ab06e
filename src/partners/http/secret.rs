//! What must not stand in a partner file: read from the environment or from a file when the partners are loaded, never
//! printed.

use std::fmt;

use super::declared;

/// Whether a request is made to be sent, or to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// With the secrets in it.
    Real,
    /// With `***` in their places.
    Masked,
}

/// A secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Reads a secret from where it is.
    ///
    /// # Errors
    /// Why it cannot be read, to follow its key.
    pub fn read(declared: &declared::Secret) -> Result<Self, String> {
        let (text, place) = match declared {
            declared::Secret::Env(name) => {
                let place = format!("the environment variable {name}");
                (std::env::var(name).map_err(|_| format!("{place} is not set"))?, place)
            }
            declared::Secret::File(path) => {
                let place = path.display().to_string();
                let read = std::fs::read_to_string(path);
                (read.map_err(|error| format!("{place} cannot be read: {error}"))?, place)
            }
        };
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.is_empty() { Err(format!("{place} is empty")) } else { Ok(Self(text.to_owned())) }
    }

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}
