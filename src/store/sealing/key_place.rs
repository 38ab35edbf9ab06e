//! Where the sealed keys of a store are kept.

use std::path::Path;

use super::error::SealingError;
use super::key_ring::KeyRing;
use super::master_key::MasterKey;

/// A place for the keys, beside the records.
pub(in crate::store) trait KeyPlace: Send + Sync {
    /// What messages call it.
    fn path(&self) -> &Path;

    /// Whether there are keys.
    fn exists(&self) -> Result<bool, SealingError>;

    /// Opens the keys with the master key.
    fn open(&self, master: &MasterKey) -> Result<KeyRing, SealingError>;

    /// The id of the master key that they are sealed with.
    fn sealed_with(&self) -> Result<String, SealingError>;

    /// Replaces the keys as a whole. Once this returns, the new ones survive a power cut, and the old ones are gone.
    fn write(&self, master: &MasterKey, ring: &KeyRing) -> Result<(), SealingError>;

    /// Makes new keys.
    fn create(&self, master: &MasterKey) -> Result<KeyRing, SealingError> {
        let ring = KeyRing::random();
        self.write(master, &ring)?;
        Ok(ring)
    }
}
