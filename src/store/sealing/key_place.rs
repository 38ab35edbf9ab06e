//! Where the sealed keys of a store are kept.

use std::path::Path;

use super::error::SealingError;
use super::key_ring::KeyRing;
use super::master_key::MasterKey;

/// A place for the keys, beside the records.
pub(crate) trait KeyPlace: Send + Sync {
    /// What messages call it.
    fn path(&self) -> &Path;

    /// Whether there are keys.
    fn exists(&self) -> Result<bool, SealingError>;

    /// Opens the keys with the master key.
    fn open(&self, master: &MasterKey) -> Result<KeyRing, SealingError>;

    /// The id of the master key that they are sealed with.
    fn sealed_with(&self) -> Result<String, SealingError>;

    /// Replaces the keys as a whole. Once this returns, the new ones survive a power cut, and the old ones are gone.
    ///
    /// # Errors
    /// [`SealingError::Replaced`] where they are others by now than were read or written here last: nothing was written.
    fn write(&self, master: &MasterKey, ring: &KeyRing) -> Result<(), SealingError>;

    /// The keys, where others have replaced them since they were read or written here last.
    fn replaced(&self, _master: &MasterKey) -> Result<Option<KeyRing>, SealingError> {
        Ok(None)
    }

    /// Makes new keys, or opens those that others have just made.
    fn create(&self, master: &MasterKey) -> Result<KeyRing, SealingError> {
        let ring = KeyRing::random();
        self.write(master, &ring)?;
        Ok(ring)
    }
}
