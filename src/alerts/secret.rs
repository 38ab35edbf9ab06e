//! Reading secrets from where they stand, whenever they are needed: one that is exchanged is in force at once.

use std::fs::File;
use std::io::Read;

use crate::config::SecretPlace;
use crate::postbacks::credential;

/// Longest text that is read.
const BYTES_MAX: u64 = 4096;

/// The text of a secret.
///
/// # Errors
/// Why it cannot be read, to follow its place; never what was found.
pub(super) fn read(place: &SecretPlace) -> Result<String, String> {
    let path = match place {
        SecretPlace::File(path) => path.clone(),
        SecretPlace::Credential(name) => credential(name)?,
    };
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| format!("cannot be read from the file that it names: {error}"))?;
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
