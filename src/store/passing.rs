//! What passes: records that are kept for some minutes, and whose keys are destroyed then.
//!
//! They are sealed with a key that they share. When one of them is not to be read any more, another key is begun, what is still
//! wanted is sealed with that, and the keys of before are destroyed: what the files of the store still have of the rest can be read
//! by nobody. A crash in between leaves both keys, and the next time finishes it.

use uuid::Uuid;

use super::Store;
use super::broken::{ReadError, unless_broken};
use super::commit::{Commit, CommitError};
use super::raw::read_clear;
use super::retention::RetentionError;
use super::sealing::key_ring::KeyRing;
use super::sealing::owner;
use super::trees::{Seal, Tree};

/// How many records one commit writes again, or removes.
const AT_ONCE: usize = 64;

impl Store {
    /// Destroys the keys of the records of a tree that [passes](Seal::Passing), but for those of which `is_wanted` says so by their
    /// key and payload. Once this returns, no copy of the disk made from now on can tell what the others held.
    ///
    /// # Errors
    /// Why it could not be done whole. Trying again goes on with it.
    pub async fn forget_passed(
        &self,
        tree: Tree,
        is_wanted: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<(), RetentionError> {
        debug_assert_eq!(tree.row().seal, Seal::Passing, "others have no passing key");
        let sealing = self.shared.engine.sealing();
        if !sealing.has_passing() && self.keys(tree, [])?.is_empty() {
            return Ok(());
        }
        let fresh = sealing.begin_passing()?.id;
        // What was sealed with those of before is applied when this is answered.
        self.commit(Commit::new()).await?;
        for keys in self.keys(tree, [])?.chunks(AT_ONCE) {
            let commits = keys.iter().map(|key| self.sealed_anew(tree, key, fresh, &is_wanted));
            let commits = commits.filter_map(Result::transpose).collect::<Result<_, _>>()?;
            // What was changed meanwhile was sealed with the fresh one.
            self.commit_all(commits, |failure| matches!(failure, CommitError::Guard { .. })).await?;
        }
        Ok(sealing.change(KeyRing::forget_passing)?)
    }

    /// Seals a record with the fresh key, if it is wanted, or else removes it; nothing where it is sealed so.
    fn sealed_anew(
        &self,
        tree: Tree,
        key: &[u8],
        fresh: Uuid,
        is_wanted: &impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<Option<Commit>, ReadError> {
        let stored = read_clear(&*self.shared.engine, tree, key)?;
        if matches!(&stored, Ok(Some(stored)) if owner(stored) == Some(fresh)) {
            return Ok(None);
        }
        Ok(Some(match unless_broken(self.get(tree, key))? {
            Some(payload) if is_wanted(key, &payload) => {
                Commit::new().unchanged(tree, key, payload.clone()).put(tree, key, payload)
            }
            _ => Commit::new().remove(tree, key),
        }))
    }
}
