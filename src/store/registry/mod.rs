//! Named records of the store. Each file reads and writes its own trees through a [`Store`], as any caller
//! does. The rest of the crate knows nothing of them, except for doubtful suppression lists (`salvage`,
//! `backup::restore`, a first start) and, in `salvage`, the tables of a lead and gaps of the audit log.
//! `identities`, `contacts` and payloads with a TTL forget by destroying keys.

pub mod audit;
pub mod contacts;
pub mod entities;
pub mod identities;
pub mod opt_outs;
pub mod partner_keys;
pub mod pauses;
pub mod suppressions;
pub mod tokens;
pub mod users;

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::sealing::SealingError;
use super::sealing::identity_key::TERMS;
use super::{Commit, ReadResult, Store, Tree};
use offerd_model::InDoubt;

const TERM: &[u8] = b"term";

impl Store {
    /// Every record of a tree of JSON, with its key. Broken ones are reported and left out.
    fn all<T: DeserializeOwned>(&self, tree: Tree) -> ReadResult<Vec<(Vec<u8>, T)>> {
        let decoded =
            |key: Vec<u8>, bytes: Vec<u8>| self.decode_json(tree, &key, &bytes).ok().map(|one| (key, one));
        self.scan(tree, []).read_by(decoded).collect()
    }

    /// A record that decides about access; an error if it is unreadable or may be lost. Read once: a second
    /// read may find what the first could not.
    fn credential<T: DeserializeOwned>(&self, tree: Tree, key: &[u8]) -> Result<Option<T>, InDoubt> {
        match self.read_json(tree, key) {
            Ok(None) if self.may_have_lost(tree) => Err(InDoubt),
            read => read.map_err(|_| InDoubt),
        }
    }

    /// The commit that removes every matching record; `None` without a match.
    fn ended<T: DeserializeOwned>(&self, tree: Tree, is: impl Fn(&T) -> bool) -> ReadResult<Option<Commit>> {
        let found = self.all(tree)?.into_iter().filter(|(_, record)| is(record));
        Ok(found.fold(None, |ended, (key, _)| Some(ended.unwrap_or_else(Commit::new).remove(tree, key))))
    }

    /// Seals a payload with a TTL shorter than that of its lead once more, with a key that is destroyed
    /// afterwards: for `keep_ms` milliseconds, readable up to a quarter longer. A key seals for a quarter of the
    /// TTL, up to a week, and ends like those of identities
    /// ([`forget_passed_identities`](Self::forget_passed_identities)). May wait for the disk.
    pub fn seal_for(&self, keep_ms: i64, payload: &[u8]) -> Result<Vec<u8>, SealingError> {
        let key = self.shared.engine.sealing().identity_key(TERMS, self.now_ms(), keep_ms)?;
        Ok([&key.id.to_be_bytes()[..], &key.key.seal(TERM, payload)].concat())
    }

    /// Opens a payload of [`seal_for`](Self::seal_for); `None` once its TTL has passed.
    pub fn open_in_time(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (id, sealed) = sealed.split_first_chunk()?;
        self.shared.engine.sealing().term_key(u64::from_be_bytes(*id))?.open(TERM, sealed)
    }
}

/// The stored form of a secret, by which it is found.
fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
