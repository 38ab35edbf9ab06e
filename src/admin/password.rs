//! The console's password: its sources and its requirements. Kept as a digest only.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use offerd_base::regular_file;

const CREDENTIAL: &str = "offerd-console-password";

const FEWEST: usize = 12;

const FILE_BYTES_MAX: u64 = 4096;

/// Digest of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordDigest([u8; 32]);

/// The secret and the password of the console.
#[derive(Default)]
pub struct Passwords {
    /// The generated secret, if there is one.
    pub secret: Option<PasswordDigest>,
    /// The shared password set by the operator, if any.
    pub password: Option<PasswordDigest>,
}

impl PasswordDigest {
    /// Reads the password from `file`, or else from the systemd credential `offerd-console-password`, if any.
    ///
    /// # Errors
    /// Returns why it cannot be used.
    pub fn find(file: Option<&Path>) -> Result<Option<Self>, String> {
        let credential = || {
            let file = env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from)?.join(CREDENTIAL);
            // A credential that cannot be accessed counts as existing; reading it returns the error.
            file.try_exists().unwrap_or(true).then_some(file)
        };
        let Some(file) = file.map(Path::to_owned).or_else(credential) else { return Ok(None) };
        let place = file.display();
        let length = fs::metadata(&file).map_err(|error| format!("`{place}` cannot be read: {error}"))?.len();
        if length > FILE_BYTES_MAX {
            return Err(format!("`{place}` must hold a password alone, got {length} bytes"));
        }
        let text = regular_file::text_of(&file, FILE_BYTES_MAX)
            .map_err(|error| format!("`{place}` cannot be read: {error}"))?;
        Self::new(text.trim_end_matches(['\n', '\r'])).map(Some).map_err(|why| format!("`{place}`: {why}"))
    }

    /// Digests a password.
    ///
    /// # Errors
    /// Returns why it is too weak.
    pub fn new(text: &str) -> Result<Self, String> {
        match text.chars().count() {
            enough if enough >= FEWEST => Ok(Self(Sha256::digest(text).into())),
            few => Err(format!("a password must have at least {FEWEST} characters, got {few}")),
        }
    }

    /// Digests a generated secret, which is random enough.
    pub fn of_secret(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Parses a hexadecimal digest.
    pub fn of_hex(digest: &str) -> Option<Self> {
        const_hex::decode_to_array(digest).ok().map(Self)
    }

    /// The digest in hexadecimal.
    pub fn hex(&self) -> String {
        const_hex::encode(self.0)
    }

    /// Whether `given` is this password; compared by digest, so that the timing reveals nothing of it.
    pub fn is(&self, given: &str) -> bool {
        self.0 == <[u8; 32]>::from(Sha256::digest(given))
    }
}

impl fmt::Debug for PasswordDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_a_password_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        fs::write(&file, "correct horse battery\n").unwrap();
        let password = PasswordDigest::find(Some(&file)).unwrap().unwrap();
        assert!(password.is("correct horse battery") && !password.is("correct horse batterz"));
        assert_eq!(format!("{password:?}"), "Password(***)");
        fs::write(&file, "short\n").unwrap();
        assert!(PasswordDigest::find(Some(&file)).unwrap_err().contains("at least 12 characters, got 5"));
        assert!(
            PasswordDigest::find(Some(&directory.path().join("none")))
                .unwrap_err()
                .contains("cannot be read")
        );
    }
}
