//! What the store keeps by name: companies and their tokens, keys and pauses of partners, users of the console and the audit, suppression lists,
//! whom leads are about and what they are found by, and what is kept for a time of its own.
//!
//! Each file reads and writes records of its own trees through a [`Store`], as any caller does. The engine knows nothing
//! of them, but for `salvage`, which looks for the tables of a lead, records its gaps in the audit, and marks suppression lists that it
//! could not show to be whole. Only `identities`, `contacts` and `terms` go deeper, since what they
//! forget is forgotten with a key.

pub mod audit;
pub mod contacts;
pub mod entities;
pub mod identities;
pub mod left_alone;
pub mod partner_keys;
pub mod pauses;
pub mod suppressions;
mod terms;
pub mod tokens;
pub mod users;

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::{Commit, ReadError, Store, Tree};

impl Store {
    /// Every record of a tree of JSON, with its key. Broken ones are reported and left out.
    ///
    /// # Errors
    /// That the store cannot be read, so that nobody knows whether these are all.
    fn all<T: DeserializeOwned>(&self, tree: Tree) -> Result<Vec<(Vec<u8>, T)>, ReadError> {
        let decoded = |key: Vec<u8>, bytes: Vec<u8>| {
            let record = self.decode_json(tree, &key, &bytes).ok()?;
            Some((key, record))
        };
        self.scan(tree, []).read_by(decoded).collect()
    }

    /// A commit that removes every matching record; none without a match.
    fn ended<T: DeserializeOwned>(
        &self,
        tree: Tree,
        is_it: impl Fn(&T) -> bool,
    ) -> Result<Option<Commit>, ReadError> {
        let found = self.all(tree)?.into_iter().filter(|(_, record)| is_it(record));
        Ok(found.fold(None, |ended, (key, _)| Some(ended.unwrap_or_else(Commit::new).remove(tree, key))))
    }
}

/// What a secret is kept as, and found by.
fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
