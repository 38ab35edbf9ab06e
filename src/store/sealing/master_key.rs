//! The master key: finding, writing and parsing it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::{env, fmt};

use rustix::fs::{Access, access};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::key::{KEY_LEN, SealKey};
use crate::{disk, unusable};
use offerd_base::regular_file;

/// The environment variable that may hold the key itself.
const VARIABLE: &str = "OFFERD_MASTER_KEY";

/// The systemd credential that may hold it.
const CREDENTIAL: &str = "offerd-master-key";

/// Longest file read as a key; a longer one is refused.
const FILE_BYTES_MAX: u64 = 4096;

/// The key that seals the keys of a store. Stored outside the store, as 64 hexadecimal digits.
#[derive(Clone)]
pub struct MasterKey {
    pub(crate) key: SealKey,
    source: String,
}

/// The ids of the required master key and of the configured one, with the place of the latter.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sealed_with}, but {place} holds {given}")]
pub struct OtherMasterKey {
    sealed_with: String,
    given: String,
    place: String,
}

/// Why a master key cannot be used or made.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// It cannot be created: the disk is full or the directory is not writable.
    #[error("{}; a key was to be made there", unusable(file, error))]
    Unmade {
        /// The file.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// It cannot be read.
    #[error("the master key in {place}: {error}")]
    Io {
        /// Where.
        place: String,
        /// The system's error.
        error: io::Error,
    },
    /// It would be created in the layer of a container, outside the mounted volume.
    #[error(
        "`{}` is a mounted volume, and a key made beside it, as `{}`, would not be kept with it: make one with `offerd key create FILE` where \
         it is kept and name it as `{setting}`, or name a directory in the volume as `store.path`, as `{}`",
        store.display(), file.display(), store.join("store").display()
    )]
    BesideMount {
        /// Where the volume is mounted.
        store: PathBuf,
        /// The file of the key.
        file: PathBuf,
        /// The setting that names a file elsewhere.
        setting: &'static str,
    },
    /// It is not 64 hexadecimal digits.
    #[error(
        "the master key in {place} must be {} hexadecimal digits, got {length} characters{}", 2 * KEY_LEN,
        if *.length == 2 * KEY_LEN { " that are not all such digits" } else { "" }
    )]
    Malformed {
        /// Where.
        place: String,
        /// The number of characters found, trimmed.
        length: usize,
    },
}

impl MasterKey {
    /// The configured key: from `file`, else the variable `OFFERD_MASTER_KEY`, else the systemd credential
    /// `offerd-master-key`, else the file beside the store. `None` if it is in none of these places. An
    /// unusable key in the first of these places that holds one is an error.
    pub fn find(file: Option<&Path>, store: &Path) -> Result<Option<Self>, MasterKeyError> {
        if let Some(file) = file {
            return Self::read(file).map(Some);
        }
        if let Some(text) = env::var_os(VARIABLE).filter(|text| !text.is_empty()) {
            let text = Zeroizing::new(text.to_string_lossy().into_owned());
            return Self::parse(&text, format!("the variable {VARIABLE}")).map(Some);
        }
        let credentials = env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
        let credential = credentials.map(|directory| directory.join(CREDENTIAL));
        let mut files = credential.into_iter().chain([Self::beside(store)]);
        // A file that may not even be looked for counts as present: reading it gives the error.
        let given = files.find(|file| file.try_exists().unwrap_or(true));
        given.map(|file| Self::read(&file)).transpose()
    }

    /// Reads the key in a file.
    pub fn read(file: &Path) -> Result<Self, MasterKeyError> {
        let place = format!("`{}`", file.display());
        let unread = |error| MasterKeyError::Io { place: place.clone(), error };
        let length = fs::metadata(file).map_err(unread)?.len();
        if length > FILE_BYTES_MAX {
            return Err(MasterKeyError::Malformed { place, length: length as usize });
        }
        let bytes = regular_file::bytes_of(file, FILE_BYTES_MAX).map_err(unread)?;
        Self::parse(&String::from_utf8_lossy(&Zeroizing::new(bytes)), place)
    }

    /// Creates a key in a new file, readable by its owner only. Once this returns, the file is durable.
    pub fn create(file: &Path) -> Result<Self, MasterKeyError> {
        let made = Self { key: SealKey::random(), source: format!("`{}`", file.display()) };
        made.write(file).map_err(|error| MasterKeyError::Unmade { file: file.to_owned(), error })?;
        Ok(made)
    }

    pub(crate) fn create_beside(store: &Path) -> Result<Self, MasterKeyError> {
        let file = Self::place_for_new(store)?;
        let made = Self::create(&file)?;
        made.tell_made(&file);
        Ok(made)
    }

    /// Logs that the key of a new store was created.
    pub fn tell_made(&self, file: &Path) {
        tracing::warn!(
            file = %file.display(),
            id = self.id(),
            "created a master key beside the store; move it off this disk, so that a copy of the disk does \
                not include it, and name its place as store.master_key_file, or give it as {VARIABLE} or as \
                the systemd credential {CREDENTIAL}"
        );
    }

    /// The default place of a store's key: outside its directory, so a copy of that opens nothing.
    pub fn beside(store: &Path) -> PathBuf {
        let mut name = store.file_name().unwrap_or("offerd".as_ref()).to_owned();
        name.push(".key");
        store.with_file_name(name)
    }

    /// Where a first start makes a key when none is configured, or why it must not.
    ///
    /// # Errors
    /// If the store is a mounted volume, since a file beside it would not be persisted.
    pub fn place_for_new(store: &Path) -> Result<PathBuf, MasterKeyError> {
        kept_beside(store, Self::beside(store), "store.master_key_file")
    }

    /// The id of the key in messages; reveals nothing of the key itself.
    pub fn id(&self) -> String {
        const_hex::encode(&Sha256::digest([b"offerd master key ", &self.key.bytes()[..]].concat())[..4])
    }

    /// Where it was found, for messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// For data that another master key seals.
    pub(crate) fn instead_of(&self, sealed_with: String) -> OtherMasterKey {
        OtherMasterKey { sealed_with, given: self.id(), place: self.source.clone() }
    }

    pub(crate) fn open(&self, context: &[u8], sealed: &[u8]) -> Option<SealKey> {
        SealKey::of_bytes(&self.key.open(context, sealed).map(Zeroizing::new)?)
    }

    fn parse(text: &str, place: String) -> Result<Self, MasterKeyError> {
        let text = text.trim();
        let mut bytes = Zeroizing::new([0; KEY_LEN]);
        if text.len() != 2 * KEY_LEN || const_hex::decode_to_slice(text, &mut *bytes).is_err() {
            return Err(MasterKeyError::Malformed { place, length: text.chars().count() });
        }
        let key = SealKey::of_bytes(&*bytes).expect("as many bytes as a key has");
        Ok(Self { key, source: place })
    }

    fn write(&self, file: &Path) -> io::Result<()> {
        let mut opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        let mut text = Zeroizing::new(const_hex::encode(self.key.bytes()));
        text.push('\n');
        let written = opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all());
        // A partial key would block the next attempt.
        written.inspect_err(|_| drop(fs::remove_file(file)))?;
        disk::sync_directory(disk::parent_of(file))
    }
}

/// `file`, if a key may be created there beside the store.
///
/// # Errors
/// The store is a mounted volume, where a file beside it would not be persisted, or its directory is not
/// writable.
pub(crate) fn kept_beside(
    store: &Path,
    file: PathBuf,
    setting: &'static str,
) -> Result<PathBuf, MasterKeyError> {
    if disk::is_mount(store) {
        return Err(MasterKeyError::BesideMount { store: store.to_owned(), file, setting });
    }
    let parent = disk::parent_of(&file);
    match access(parent, Access::WRITE_OK | Access::EXEC_OK) {
        Err(error) if parent.is_dir() => Err(MasterKeyError::Unmade { file, error: error.into() }),
        _ => Ok(file),
    }
}

/// Prints its id, never the key.
impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({}, from {})", self.id(), self.source)
    }
}

impl MasterKeyError {
    /// Whether the operating system denied access.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Io { error, .. } | Self::Unmade { error, .. } if error.kind() == io::ErrorKind::PermissionDenied)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_that_was_made_is_read_again_and_is_the_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        let made = MasterKey::create(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let read = MasterKey::read(&file).unwrap();
        assert_eq!((read.id(), read.key.bytes()), (made.id(), made.key.bytes()));
        assert!(MasterKey::create(&file).is_err(), "a key is never written over");
    }

    #[test]
    fn what_is_no_key_is_told_without_being_shown() {
        let told = |text: &str| MasterKey::parse(text, "`f`".to_owned()).unwrap_err().to_string();
        assert_eq!(told(" 0a0b\n"), "the master key in `f` must be 64 hexadecimal digits, got 4 characters");
        let almost = format!("x{}", "0".repeat(63));
        let message = told(&almost);
        assert!(message.ends_with("got 64 characters that are not all such digits"), "{message}");
        assert!(!message.contains(&almost[..8]));
        assert!(MasterKey::parse(&format!("{}\n", "0aF9".repeat(16)), String::new()).is_ok());
    }

    #[test]
    fn a_debug_print_shows_no_key() {
        let key = MasterKey::parse(&"0af9".repeat(16), "`f`".to_owned()).unwrap();
        assert!(!format!("{key:?}").contains("0af90af9"));
    }

    #[test]
    fn the_key_beside_a_store_is_outside_of_it() {
        assert_eq!(MasterKey::beside(Path::new("data")), Path::new("data.key"));
        assert_eq!(MasterKey::beside(Path::new("/srv/offerd/data/")), Path::new("/srv/offerd/data.key"));
    }
}
