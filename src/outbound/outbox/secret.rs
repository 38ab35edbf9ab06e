//! Reading secrets from where they stand, whenever they are needed: one that is exchanged is in force at once. Errors follow the key of the
//! secret, and never say what was found.

use std::path::{Component, Path, PathBuf};

use offerd_base::config::SecretPlace;
use offerd_base::regular_file::{self, SECRET_BYTES_MAX};

/// What stands where a secret is to be, without white space around it.
///
/// # Errors
/// Why it cannot be read.
pub fn text(place: &SecretPlace) -> Result<String, String> {
    let path = match place {
        SecretPlace::File(path) => path.clone(),
        SecretPlace::Credential(name) => credential(name)?,
    };
    let text = regular_file::text_of(&path, SECRET_BYTES_MAX)
        .map_err(|error| format!("cannot be read from the file that it names: {error}"))?;
    Ok(text.trim().to_owned())
}

/// The text of a secret that is not empty; none where none is named.
///
/// # Errors
/// Why it cannot be read, or that it is empty.
pub fn read(place: Option<&SecretPlace>) -> Result<Option<String>, String> {
    match place.map(text).transpose()? {
        Some(text) if text.is_empty() => Err("leads to an empty file".to_owned()),
        text => Ok(text),
    }
}

/// Where the service manager keeps a credential.
fn credential(name: &str) -> Result<PathBuf, String> {
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
