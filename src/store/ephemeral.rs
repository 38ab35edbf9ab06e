//! Short-lived records, erased by destroying their key.
//!
//! They share an ephemeral key. To erase some, the records still wanted are resealed with a fresh key and the
//! earlier keys destroyed. A crash in between leaves both keys, and the next call finishes the job.

use uuid::Uuid;

use super::raw::read_clear;
use super::retention::RetentionError;
use super::sealing::key_ring::KeyRing;
use super::sealing::owner;
use crate::{Commit, CommitError, ReadResult, Seal, Store, Tree, unless_broken};

/// Records that one commit rewrites or removes.
const AT_ONCE: usize = 64;

impl Store {
    /// Destroys the keys of the records in an [ephemeral](Seal::Ephemeral) tree, except those that
    /// `is_wanted` keeps by their key and payload. Once this returns, no copy of the disk made from now on
    /// reveals the others. A retry after an error resumes.
    pub async fn forget_ephemeral(
        &self,
        tree: Tree,
        is_wanted: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<(), RetentionError> {
        debug_assert_eq!(tree.row().seal, Seal::Ephemeral, "others have no ephemeral key");
        let sealing = self.shared.engine.sealing();
        if !sealing.has_ephemeral() && self.keys(tree, [])?.is_empty() {
            return Ok(());
        }
        let fresh = sealing.begin_ephemeral()?.id;
        // Once this barrier is answered, all writes sealed with earlier keys are applied.
        self.commit(Commit::new()).await?;
        for keys in self.keys(tree, [])?.chunks(AT_ONCE) {
            let commits = keys.iter().map(|key| self.sealed_anew(tree, key, fresh, &is_wanted));
            let commits = commits.filter_map(Result::transpose).collect::<Result<_, _>>()?;
            // A concurrent change was sealed with the fresh key.
            self.commit_all(commits, |failure| matches!(failure, CommitError::Guard { .. })).await?;
        }
        Ok(sealing.change(KeyRing::forget_ephemeral)?)
    }

    /// A commit that reseals a wanted record or removes it; `None` if it has the fresh key already.
    fn sealed_anew(
        &self,
        tree: Tree,
        key: &[u8],
        fresh: Uuid,
        is_wanted: &impl Fn(&[u8], &[u8]) -> bool,
    ) -> ReadResult<Option<Commit>> {
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
