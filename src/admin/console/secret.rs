//! The console's secret, stored as a digest only. Its 128 random bits cannot be guessed, so nothing locks it.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tracing::warn;

use super::super::password::PasswordDigest;
use super::prelude::*;
use offerd_base::private_file;

/// File of its digest, in the store's directory.
const FILE: &str = "console.secret";

const UNMADE: &str = "the console's new secret could not be made";

const BYTES: usize = 16;

/// A new secret, the answer to a command.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct NewSecret {
    /// The secret, to sign in to the console with.
    pub secret: String,
}

/// Reads the digest of the current secret. A file that other users could write is ignored.
pub fn find(store: &Path) -> Option<PasswordDigest> {
    let found = private_file::read(&path(store)).unwrap_or_else(|why| {
        warn!("the console accepts no secret, because {why}; `offerd console --new-secret` makes a new one");
        None
    });
    let (_, bytes) = found?;
    PasswordDigest::of_hex(std::str::from_utf8(&bytes).ok()?.trim())
}

/// Creates a secret, and replaces the old one.
///
/// # Errors
/// Returns the file system's error.
pub fn make(store: &Path) -> io::Result<NewSecret> {
    let random = Sha256::digest(format!("{}{}", Uuid::new_v4(), Uuid::new_v4()));
    let secret = const_hex::encode(&random[..BYTES]);
    let digest = format!("{}\n", PasswordDigest::of_secret(&secret).hex());
    private_file::write(&path(store), digest.as_bytes(), |_| Ok(()))?;
    Ok(NewSecret { secret })
}

/// `POST /console/secret`: creates a new secret, and ends all sessions.
pub(super) async fn renew(context: Context) -> Result<Reply> {
    let made = context.app.reading(UNMADE, |app| make(&app.settings().store.path)).await?;
    let made = made.map_err(|error| unwritten("the console's new secret", &error))?;
    context.app.console.sessions.replace_secret(PasswordDigest::of_secret(&made.secret));
    let note = note!("console.secret", "the console's secret was replaced, and all its sessions ended");
    context.app.note_if_can(&by(&context), note).await;
    Reply::json(&made)
}

fn path(store: &Path) -> PathBuf {
    store.join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_kept_as_a_digest_until_there_is_another() {
        let store = tempfile::tempdir().unwrap();
        assert!(find(store.path()).is_none());
        let first = make(store.path()).unwrap().secret;
        assert_eq!(first.len(), 2 * BYTES);
        assert!(find(store.path()).unwrap().is(&first));
        let file = path(store.path());
        assert!(!std::fs::read_to_string(&file).unwrap().contains(&first));
        let second = make(store.path()).unwrap().secret;
        let found = find(store.path()).unwrap();
        assert!(found.is(&second) && !found.is(&first));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(find(store.path()).is_none(), "other users may have written it");
    }
}
