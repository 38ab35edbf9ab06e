//! Identities: for how long the store knows whom a lead is about, and how it forgets it.
//!
//! A company with a look-back has the identities of its leads kept, so that a person who comes again is known. Each is hashed under a
//! [key](crate::store::sealing::identity_key) that is destroyed, and sealed with the data key of its lead beside the hash, so that it can be
//! hashed anew.

use futures_util::future::join_all;
use uuid::Uuid;

use crate::store::{
    Store,
    broken::ReadError,
    commit::{Commit, CommitError},
    raw::read_clear,
    retention::RetentionError,
    sealing::{SealingError, identity_key::IdentityKey, owner},
    trees::Tree,
};

/// How many identities are hashed anew, or removed, at once.
const AT_ONCE: usize = 256;

/// Where something is kept, and what it is; nothing where its lead is erased, or it cannot be read.
type Hashed = (Vec<u8>, Option<Known>);

/// A lead and its identity, as they are kept.
struct Known {
    at_ms: i64,
    lead: Uuid,
    identity: [u8; 32],
}

impl Known {
    fn parse(payload: &[u8]) -> Option<Self> {
        let (at_ms, rest) = payload.split_first_chunk()?;
        let (lead, identity) = rest.split_first_chunk()?;
        let (at_ms, lead) = (i64::from_be_bytes(*at_ms), Uuid::from_bytes(*lead));
        Some(Self { at_ms, lead, identity: identity.try_into().ok()? })
    }
}

impl Store {
    /// Destroys the key that the identity of a lead of a company was hashed with, when the others that it has hashed are hashed
    /// anew; gives how many records named it. `identity` is what it most likely is; a lead may have grown since. Once this
    /// returns, no copy of the disk made from now on shows that it was here.
    ///
    /// # Errors
    /// Why it could not be done whole. Trying again goes on with it.
    pub async fn forget_identity(
        &self,
        lead: Uuid,
        company: Uuid,
        identity: Option<[u8; 32]>,
    ) -> Result<u64, RetentionError> {
        let keys = self.shared.engine.sealing().identity_keys(company, i64::MIN);
        let mut named = Vec::new();
        for key in &keys {
            let likely = identity.map(|identity| key.place(&identity));
            if let Some(place) = likely.filter(|place| self.is_about(place, lead)) {
                named.push((key, place));
            }
        }
        if named.is_empty() {
            for key in &keys {
                for entry in self.walk_hashed(key) {
                    let place = entry?;
                    if self.is_about(&place, lead) {
                        named.push((key, place));
                    }
                }
            }
        }
        for (key, _) in &named {
            self.hash_anew(key, Some(lead)).await?;
        }
        Ok(named.len() as u64)
    }

    /// Destroys the keys of identities that no look-back reaches any more, with what they have hashed, goes on with what a crash
    /// has left half-way, and counts these keys. `now_ms` is Unix milliseconds.
    ///
    /// # Errors
    /// Why it could not be done whole. Trying again goes on with it.
    pub async fn forget_passed_identities(&self, now_ms: i64) -> Result<u64, RetentionError> {
        let mut forgotten = 0;
        for key in self.shared.engine.sealing().all_identity_keys() {
            if key.until_ms < now_ms {
                self.remove_hashed(&key).await?;
                self.shared.engine.sealing().forget_identities(key.id)?;
                forgotten += 1;
            } else if key.retiring {
                self.hash_anew(&key, None).await?;
                forgotten += 1;
            }
        }
        Ok(forgotten)
    }

    /// Hashes what a key has hashed with another one, but for a lead, and destroys it.
    pub(super) async fn hash_anew(
        &self,
        key: &IdentityKey,
        without: Option<Uuid>,
    ) -> Result<(), RetentionError> {
        if !key.retiring {
            self.shared.engine.sealing().retire_identities(key.id)?;
        }
        // What was hashed with it before is applied when this is answered.
        self.commit(Commit::new()).await?;
        loop {
            let commits: Vec<Commit> = self
                .hashed(key)?
                .into_iter()
                .map(|(place, known)| {
                    let moved = Commit::new().remove(Tree::Identities, &place);
                    match known.filter(|known| without != Some(known.lead)) {
                        Some(Known { at_ms, lead, identity }) => {
                            let look_back_ms = key.until_ms.saturating_sub(key.ends_ms);
                            moved.about(lead).identify(key.company, identity, at_ms, look_back_ms)
                        }
                        None => moved,
                    }
                })
                .collect();
            if commits.is_empty() {
                break;
            }
            self.commit_all(commits).await?;
        }
        Ok(self.shared.engine.sealing().forget_identities(key.id)?)
    }

    async fn remove_hashed(&self, key: &IdentityKey) -> Result<(), RetentionError> {
        loop {
            let hashed = self.hashed(key)?;
            if hashed.is_empty() {
                return Ok(());
            }
            let remove = |commit: Commit, (place, _): &Hashed| commit.remove(Tree::Identities, place);
            self.commit(hashed.iter().fold(Commit::new(), remove)).await?;
        }
    }

    /// Some of what a key has hashed.
    fn hashed(&self, key: &IdentityKey) -> Result<Vec<Hashed>, RetentionError> {
        let mut hashed = Vec::new();
        for entry in self.walk_hashed(key).take(AT_ONCE) {
            let place = entry?;
            let known = match self.get(Tree::Identities, &place) {
                Ok(payload) => payload.and_then(|payload| Known::parse(&payload)),
                Err(ReadError::Broken(_)) => None,
                Err(error) => return Err(error.into()),
            };
            hashed.push((place, known));
        }
        Ok(hashed)
    }

    /// Where what a key has hashed is kept.
    pub(super) fn walk_hashed(
        &self,
        key: &IdentityKey,
    ) -> impl Iterator<Item = Result<Vec<u8>, ReadError>> + use<> {
        self.shared.engine.keys(Tree::Identities, &key.prefix())
    }

    /// Whether an identity is kept there that is a lead's. It is not opened.
    pub(super) fn is_about(&self, place: &[u8], lead: Uuid) -> bool {
        let stored = read_clear(&*self.shared.engine, Tree::Identities, place);
        matches!(stored, Ok(Ok(Some(stored))) if owner(&stored) == Some(lead))
    }

    async fn commit_all(&self, commits: Vec<Commit>) -> Result<(), RetentionError> {
        for outcome in join_all(commits.into_iter().map(|commit| self.commit(commit))).await {
            match outcome {
                // Its lead was erased meanwhile; what names it goes with the key.
                Ok(()) | Err(CommitError::Erased) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl From<SealingError> for RetentionError {
    fn from(error: SealingError) -> Self {
        Self::Sealing(error)
    }
}
