//! How commands find a running daemon: a file beside its store, readable by its owner only.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where a daemon listens, and the key that opens its admin listener to whoever may read its store.
#[derive(Clone, Serialize, Deserialize)]
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
    /// The settings files that it reads, at its start and whenever it reloads; nothing from a daemon that does not tell.
    #[serde(default)]
    pub settings_files: Option<Vec<PathBuf>>,
}

impl RunFile {
    /// Reads the file of the daemon that runs on a store, if there is one.
    pub fn read(store: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path(store)).ok()?).ok()
    }

    /// Writes the file.
    ///
    /// # Errors
    /// What the file system said.
    pub fn write(&self, store: &Path) -> io::Result<()> {
        Self::remove(store);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path(store))?;
        file.write_all(&serde_json::to_vec_pretty(self)?)
    }

    /// Removes the file.
    pub fn remove(store: &Path) {
        // There may be none.
        let _ = fs::remove_file(path(store));
    }
}

fn path(store: &Path) -> PathBuf {
    store.join("daemon.json")
}
