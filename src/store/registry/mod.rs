//! Named records of the store. Each file reads and writes its own trees through a [`Store`], as any caller
//! does. The engine knows nothing of them, except `salvage`, for the tables of a lead, gaps of the audit log
//! and doubtful suppression lists. `identities`, `contacts` and `terms` forget by destroying keys.

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

use super::{Commit, ReadResult, Store, Tree};
use offerd_model::InDoubt;

impl Store {
    /// Every record of a tree of JSON, with its key. Broken ones are reported and left out.
    fn all<T: DeserializeOwned>(&self, tree: Tree) -> ReadResult<Vec<(Vec<u8>, T)>> {
        let decoded =
            |key: Vec<u8>, bytes: Vec<u8>| self.decode_json(tree, &key, &bytes).ok().map(|one| (key, one));
        self.scan(tree, []).read_by(decoded).collect()
    }

    /// A record that decides about access; an error if it is unreadable or may be lost. Read once: a second
    /// read may find what the first could not.
    fn credential<T: DeserializeOwned>(
        &self,
        tree: Tree,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<T>, InDoubt> {
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
}

/// The stored form of a secret, by which it is found.
fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
