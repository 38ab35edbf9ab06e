//! Reading secrets from where they stand, whenever they are needed: one that is exchanged is in force at once.

use crate::config::SecretPlace;
use crate::postbacks::credential;
use crate::regular_file::{self, SECRET_BYTES_MAX};

/// The text of a secret.
///
/// # Errors
/// Why it cannot be read, to follow its place; never what was found.
pub(super) fn read(place: &SecretPlace) -> Result<String, String> {
    let path = match place {
        SecretPlace::File(path) => path.clone(),
        SecretPlace::Credential(name) => credential(name)?,
    };
    let text = regular_file::text_of(&path, SECRET_BYTES_MAX)
        .map_err(|error| format!("cannot be read from the file that it names: {error}"))?;
    match text.trim() {
        "" => Err("leads to an empty file".to_owned()),
        text => Ok(text.to_owned()),
    }
}

/// The same of one that may be left out.
///
/// # Errors
/// As [`read`].
pub(super) fn read_if_any(place: Option<&SecretPlace>) -> Result<Option<String>, String> {
    place.map(read).transpose()
}
