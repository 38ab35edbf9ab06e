//! Reads secrets each time they are needed. Errors never contain what was read.

use std::path::{Component, Path, PathBuf};

use offerd_base::config::SecretPlace;
use offerd_base::regular_file::{self, SECRET_BYTES_MAX};

/// How a process gets a credential.
const GIVE_IT: &str = "set `LoadCredential=` in the unit of this process, or run this command as the service \
    does: `systemd-run --pipe --wait -p LoadCredential=NAME:FILE ...`";

/// The content of a secret's place, without surrounding white space.
///
/// # Errors
/// It cannot be read.
pub fn text(place: &SecretPlace) -> Result<String, String> {
    let (path, hint) = match place {
        SecretPlace::File(path) => (path.clone(), String::new()),
        SecretPlace::Credential(name) => (credential(name)?, format!("; {GIVE_IT}")),
    };
    let text = regular_file::text_of(&path, SECRET_BYTES_MAX)
        .map_err(|error| format!("cannot be read from its file: {error}{hint}"))?;
    Ok(text.trim().to_owned())
}

/// A non-empty secret; `None` if no place is given.
///
/// # Errors
/// It cannot be read, or is empty.
pub fn read(place: Option<&SecretPlace>) -> Result<Option<String>, String> {
    match place.map(text).transpose()? {
        Some(text) if text.is_empty() => Err("leads to an empty file".to_owned()),
        text => Ok(text),
    }
}

fn credential(name: &str) -> Result<PathBuf, String> {
    let is_name = matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
    if !is_name {
        return Err("must name a credential, not a path".to_owned());
    }
    let directory = std::env::var_os("CREDENTIALS_DIRECTORY")
        .ok_or_else(|| format!("cannot be read: this process has no credentials; {GIVE_IT}"))?;
    Ok(PathBuf::from(directory).join(name))
}
