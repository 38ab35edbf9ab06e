//! The run file: how commands find a running daemon, and prove that they belong to its user. The daemon holds
//! a lock on it, so the addresses in it are the daemon's.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::private_file;

/// The addresses of a daemon, and the key to its admin listener, for users with access to its store.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFile {
    /// Address of the api listener, as a URL.
    pub api: String,
    /// Address of the integrations listener, as a URL.
    pub integrations: String,
    /// Address of the admin listener, as a URL.
    pub admin: String,
    /// Bearer token for commands to the admin listener; new at every start.
    pub admin_key: String,
    /// The settings file that it reads at its start and at every reload: a list of none or one; `None` for a
    /// stopped daemon.
    pub settings_files: Option<Vec<PathBuf>>,
}

/// The run file of this process.
#[derive(Debug)]
pub struct OwnRunFile {
    path: PathBuf,
    _file: File,
}

impl RunFile {
    /// Reads the run file of the daemon that runs on a store, if any.
    ///
    /// # Errors
    /// A sentence: this user may not read it, or it cannot be trusted.
    pub fn read(store: &Path) -> Result<Option<Self>, String> {
        let read = match private_file::read(&path(store)) {
            // A leftover of a killed daemon, or of a copied store, is ignored.
            Err(_) if is_left_over(&path(store)) => return Ok(None),
            read => read?,
        };
        let Some((file, bytes)) = read else { return Ok(None) };
        let Ok(found) = serde_json::from_slice::<Self>(&bytes) else { return Ok(None) };
        // Without a lock the daemon has ended, and another process may listen at its addresses.
        Ok(is_held(&file).then_some(found))
    }

    /// Writes the file, which stays locked until the result is dropped.
    pub fn write(&self, store: &Path) -> io::Result<OwnRunFile> {
        let path = path(store);
        let bytes = serde_json::to_vec_pretty(self)?;
        let lock = |file: &File| Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
        let file = private_file::write(&path, &bytes, lock).map_err(named)?;
        Ok(OwnRunFile { path, _file: file })
    }
}

impl OwnRunFile {
    /// Removes the file.
    pub fn remove(&self) {
        // It may not exist.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a process holds the lock. Assumed on a file system without locks.
fn is_held(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockShared).is_err()
}

fn is_left_over(path: &Path) -> bool {
    let is_plain = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_plain && File::open(path).is_ok_and(|file| !is_held(&file))
}

fn path(store: &Path) -> PathBuf {
    store.join("daemon.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_file() -> RunFile {
        RunFile {
            api: "http://127.0.0.1:1".to_owned(),
            integrations: "http://127.0.0.1:2".to_owned(),
            admin: "http://127.0.0.1:3".to_owned(),
            admin_key: "key".to_owned(),
            settings_files: None,
        }
    }

    #[test]
    fn a_file_counts_while_its_daemon_lives() {
        let store = tempfile::tempdir().unwrap();
        let written = run_file().write(store.path()).unwrap();
        assert_eq!(RunFile::read(store.path()).unwrap().unwrap().admin_key, "key");
        let path = written.path.clone();
        drop(written);
        assert!(path.exists() && RunFile::read(store.path()).unwrap().is_none(), "it is left over");
    }

    #[test]
    fn one_that_is_open_to_others_is_refused_while_a_daemon_holds_it_and_else_no_matter() {
        use std::os::unix::fs::PermissionsExt;
        let store = tempfile::tempdir().unwrap();
        let written = run_file().write(store.path()).unwrap();
        fs::set_permissions(&written.path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(RunFile::read(store.path()).is_err());
        drop(written);
        assert!(RunFile::read(store.path()).unwrap().is_none());
    }
}
