//! What is kept for a time of its own, shorter than that of its lead: it is sealed once more, with a key that is destroyed when the
//! time has passed, so that it can be read no more, whatever the files of the store still have of it.
//!
//! The keys lie among those of identities, which end in the same way
//! ([`forget_passed_identities`](Store::forget_passed_identities)): each seals for a quarter of the time, a week at most.

use crate::Store;
use crate::sealing::SealingError;
use crate::sealing::identity_key::TERMS;

/// What the sealed bytes are bound to.
const CONTEXT: &[u8] = b"term";

impl Store {
    /// Seals what is to be kept for so long, milliseconds, and a quarter of that at most beyond it. May wait for the disk.
    ///
    /// # Errors
    /// That a key could not be begun.
    pub fn seal_for(&self, keep_ms: i64, payload: &[u8]) -> Result<Vec<u8>, SealingError> {
        let key = self.shared.engine.sealing().identity_key(TERMS, self.now_ms(), keep_ms)?;
        Ok([&key.id.to_be_bytes()[..], &key.key.seal(CONTEXT, payload)].concat())
    }

    /// What was sealed so; `None` when its time has passed.
    pub fn open_in_time(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (id, sealed) = sealed.split_first_chunk()?;
        self.shared.engine.sealing().term_key(u64::from_be_bytes(*id))?.open(CONTEXT, sealed)
    }
}
