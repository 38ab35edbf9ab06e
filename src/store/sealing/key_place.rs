//! Storage of a store's sealed keys.

use std::path::Path;

use super::error::SealingError;
use super::key_ring::KeyRing;
use super::master_key::MasterKey;

/// A place for the keys, separate from the records.
pub(crate) trait KeyPlace: Send + Sync {
    /// Its name in messages.
    fn path(&self) -> &Path;

    fn exists(&self) -> Result<bool, SealingError>;

    fn open(&self, master: &MasterKey) -> Result<KeyRing, SealingError>;

    /// The id of the master key that seals them.
    fn sealed_with(&self) -> Result<String, SealingError>;

    /// Replaces the keys as a whole; the old ones are gone once this returns. [`SealingError::Replaced`],
    /// with nothing written, if another process has changed them since they were last read or written here.
    fn write(&self, master: &MasterKey, ring: &KeyRing) -> Result<(), SealingError>;

    fn replaced(&self, _master: &MasterKey) -> Result<Option<KeyRing>, SealingError> {
        Ok(None)
    }

    /// Writes the keys again where they are missing or damaged, and names the files.
    fn rewrite(&self, _master: &MasterKey, _ring: &KeyRing) -> Result<Vec<&'static str>, SealingError> {
        Ok(Vec::new())
    }

    /// Creates the keys, or opens those that another process has just created.
    fn create(&self, master: &MasterKey) -> Result<KeyRing, SealingError> {
        let ring = KeyRing::random();
        self.write(master, &ring)?;
        Ok(ring)
    }
}
