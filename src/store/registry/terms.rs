//! Payloads with a TTL shorter than that of their lead, sealed once more with a key that is destroyed
//! afterwards. It seals for a quarter of the TTL, up to a week, and ends like those of identities
//! ([`forget_passed_identities`](Store::forget_passed_identities)).

use crate::Store;
use crate::sealing::SealingError;
use crate::sealing::identity_key::TERMS;

const CONTEXT: &[u8] = b"term";

impl Store {
    /// Seals a payload for `keep_ms` milliseconds; readable up to a quarter longer. May wait for the disk.
    pub fn seal_for(&self, keep_ms: i64, payload: &[u8]) -> Result<Vec<u8>, SealingError> {
        let key = self.shared.engine.sealing().identity_key(TERMS, self.now_ms(), keep_ms)?;
        Ok([&key.id.to_be_bytes()[..], &key.key.seal(CONTEXT, payload)].concat())
    }

    /// Opens a payload of [`seal_for`](Self::seal_for); `None` once its TTL has passed.
    pub fn open_in_time(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (id, sealed) = sealed.split_first_chunk()?;
        self.shared.engine.sealing().term_key(u64::from_be_bytes(*id))?.open(CONTEXT, sealed)
    }
}
