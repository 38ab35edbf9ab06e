//! How commands find a running daemon, and prove to it that they are its user's: a file beside its store, readable by its owner
//! only. The daemon holds a lock on it as long as it lives, which proves to a command that the addresses in it are the
//! daemon's, not of whoever has taken them after its end.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::private_file;

/// Where a daemon listens, and the key that opens its admin listener to whoever may read its store.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFile {
    /// Address of the api listener, as a URL.
    pub api: String,
    /// Address of the integrations listener, as a URL.
    pub integrations: String,
    /// Address of the admin listener, as a URL.
    pub admin: String,
    /// Bearer token of the admin listener's commands; new at every start.
    pub admin_key: String,
    /// The settings files that it reads, at its start and whenever it reloads; none for a stopped one.
    pub settings_files: Option<Vec<PathBuf>>,
}

/// The run file of this very process.
#[derive(Debug)]
pub struct Written {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl RunFile {
    /// Reads the file of the daemon that runs on a store, if there is one.
    ///
    /// # Errors
    /// A sentence: that this user may not read it, or why it proves nothing.
    pub fn read(store: &Path) -> Result<Option<Self>, String> {
        let read = match private_file::read(&path(store)) {
            // What a copy of a store has brought along, or a daemon that was killed has left, is no matter.
            Err(_) if is_left_over(&path(store)) => return Ok(None),
            read => read?,
        };
        let Some((file, bytes)) = read else { return Ok(None) };
        let Ok(found) = serde_json::from_slice::<Self>(&bytes) else { return Ok(None) };
        // Whose lock can be had has ended without a word, and somebody else may listen where it did.
        Ok(is_held(&file).then_some(found))
    }

    /// Writes the file, which stays locked until what is given is dropped.
    ///
    /// # Errors
    /// What the file system said.
    pub fn write(&self, store: &Path) -> io::Result<Written> {
        let path = path(store);
        let bytes = serde_json::to_vec_pretty(self)?;
        let lock = |file: &File| Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
        let file = private_file::write(&path, &bytes, lock).map_err(named)?;
        Ok(Written { path, _file: file })
    }
}

impl Written {
    /// Removes the file.
    pub fn remove(&self) {
        // There may be none.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a process holds the lock. A file system that knows no locks cannot tell that none does.
fn is_held(file: &File) -> bool {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => false,
        Err(Errno::WOULDBLOCK) => true,
        Err(_) => true,
    }
}

/// Whether there is a plain file of which no process holds the lock.
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
