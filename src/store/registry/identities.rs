//! Identities: how long the store recognises the person behind a lead, and how it forgets them.
//!
//! Each identity is hashed under a key that is destroyed after the company's look-back. It is also sealed
//! with the data key of its lead, so that it can be rehashed.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::contacts;
use crate::raw::read_clear;
use crate::retention::RetentionError;
use crate::sealing::identity_key::{CONTACTS, IdentityKey};
use crate::sealing::owner;
use crate::{Commit, CommitError, ReadResult, Store, Tree, unless_broken};

const AT_ONCE: usize = 256;

/// Length of the prefix of an identity's record key: the company, and the id of the key.
const PREFIX: usize = 16 + 8;

/// The identity of a lead, as known to the code that erases it.
#[derive(Debug, Clone)]
pub struct LeadIdentity {
    /// The lead.
    pub lead: Uuid,
    /// The company of the lead.
    pub company: Uuid,
    /// Its most likely identity: the lead may have changed since.
    pub identity: Option<[u8; 32]>,
}

/// Identities about to be forgotten: the retired keys, and how many hashes each lead has under them.
#[derive(Default)]
pub struct RetiredIdentities {
    keys: Vec<IdentityKey>,
    /// Hashes by lead.
    pub hashes: BTreeMap<Uuid, u64>,
}

impl RetiredIdentities {
    /// Whether there is anything to forget.
    pub fn is_nothing(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds to the keys and counts.
    pub fn add(&mut self, more: Self) {
        self.keys.extend(more.keys);
        more.hashes.into_iter().for_each(|(lead, count)| *self.hashes.entry(lead).or_default() += count);
    }
}

/// The place of a hash, with its content; `None` if its lead is erased or it cannot be read.
type Hashed = (Vec<u8>, Option<IdentityRecord>);

struct IdentityRecord {
    at_ms: i64,
    lead: Uuid,
    identity: [u8; 32],
}

impl IdentityRecord {
    fn parse(payload: &[u8]) -> Option<Self> {
        let (at_ms, rest) = payload.split_first_chunk()?;
        let (lead, identity) = rest.split_first_chunk()?;
        let (at_ms, lead) = (i64::from_be_bytes(*at_ms), Uuid::from_bytes(*lead));
        Some(Self { at_ms, lead, identity: identity.try_into().ok()? })
    }
}

/// An identity stored under a key that the store does not have, since its keys come from a backup.
pub(crate) struct UnkeyedIdentity {
    /// Hashes it anew; `None` if the look-back of its company is unknown.
    pub(crate) anew: Option<Commit>,
}

impl UnkeyedIdentity {
    /// `None` if one of `keys`, by their prefixes, has placed the identity here.
    pub(crate) fn at(place: &[u8], payload: &[u8], keys: &BTreeMap<Vec<u8>, IdentityKey>) -> Option<Self> {
        let IdentityRecord { at_ms, lead, identity } = IdentityRecord::parse(payload)?;
        let (prefix, _) = place.split_at_checked(PREFIX)?;
        if keys.get(prefix).is_some_and(|key| key.place_of(&identity, lead) == place) {
            return None;
        }
        let company = Uuid::from_slice(&prefix[..16]).ok()?;
        let of_company = keys.values().filter(|key| key.company == company);
        let look_back_ms = match company {
            CONTACTS => Some(contacts::WITH_THE_LEAD),
            _ => of_company.map(|key| key.until_ms.saturating_sub(key.ends_ms)).max(),
        };
        let removed = Commit::new().about(lead).remove(Tree::Identities, place);
        Some(Self { anew: look_back_ms.map(|ms| removed.identify(company, identity, at_ms, ms)) })
    }
}

impl Store {
    /// Retires the keys of these identities and counts the records that name them. Once the leads are erased,
    /// [`finish_forgetting`](Self::finish_forgetting) does the rest; after a crash,
    /// [`forget_passed_identities`](Self::forget_passed_identities).
    ///
    /// With `only_likely`, looks each identity up under its likely place and scans nothing: enough for what
    /// another erasure or a start rehashed meanwhile. A retry after an error continues.
    pub fn begin_forgetting_identities(
        &self,
        of: &[LeadIdentity],
        only_likely: bool,
    ) -> Result<RetiredIdentities, RetentionError> {
        let mut by_company = BTreeMap::<Uuid, Vec<&LeadIdentity>>::new();
        of.iter().for_each(|of| by_company.entry(of.company).or_default().push(of));
        let mut forgetting = RetiredIdentities::default();
        for (company, of) in by_company {
            let keys = self.shared.engine.sealing().identity_keys(company, i64::MIN);
            let named = if only_likely { self.likely_named(&keys, &of) } else { self.named(&keys, &of)? };
            for (key, named) in keys.iter().zip(named) {
                self.retire(key, named, &mut forgetting)?;
            }
        }
        Ok(forgetting)
    }

    /// Retires a key that has hashed something of these leads: it hashes nothing from now on.
    pub(super) fn retire(
        &self,
        key: &IdentityKey,
        hashed: Vec<Uuid>,
        forgetting: &mut RetiredIdentities,
    ) -> Result<(), RetentionError> {
        if hashed.is_empty() {
            return Ok(());
        }
        if !key.retiring {
            self.shared.engine.sealing().change(|ring| ring.retire_identities(key.id))?;
        }
        forgetting.keys.push(IdentityKey { retiring: true, ..key.clone() });
        hashed.into_iter().for_each(|lead| *forgetting.hashes.entry(lead).or_default() += 1);
        Ok(())
    }

    /// Rehashes the other identities of the retired keys, except those of the leads in `without`, and
    /// destroys these keys. Once this returns, no later copy of the disk reveals that these people were here.
    /// After an error, [`forget_passed_identities`](Self::forget_passed_identities) continues.
    pub async fn finish_forgetting(
        &self,
        forgetting: RetiredIdentities,
        without: &BTreeSet<Uuid>,
    ) -> Result<(), RetentionError> {
        for key in &forgetting.keys {
            self.hash_anew(key, without).await?;
        }
        Ok(())
    }

    /// The leads whose identity each key has hashed, once per record that names them.
    fn named(&self, keys: &[IdentityKey], of: &[&LeadIdentity]) -> Result<Vec<Vec<Uuid>>, RetentionError> {
        let mut named = self.likely_named(keys, of);
        let mut unfound: BTreeSet<Uuid> = of.iter().map(|of| of.lead).collect();
        for lead in named.iter().flatten() {
            unfound.remove(lead);
        }
        if unfound.is_empty() {
            return Ok(named);
        }
        for (key, named) in keys.iter().zip(&mut named) {
            for place in self.walk_hashed(key) {
                named.extend(self.whom(&place?).filter(|lead| unfound.contains(lead)));
            }
        }
        Ok(named)
    }

    fn likely_named(&self, keys: &[IdentityKey], of: &[&LeadIdentity]) -> Vec<Vec<Uuid>> {
        let named = |key: &IdentityKey| {
            let is_named = |of: &&&LeadIdentity| {
                let likely = of.identity.map(|identity| key.place(&identity));
                likely.is_some_and(|place| self.is_about(&place, of.lead))
            };
            of.iter().filter(is_named).map(|of| of.lead).collect()
        };
        keys.iter().map(named).collect()
    }

    /// Destroys the identity keys past every look-back, with their hashes, and finishes interrupted work.
    /// Returns how many it destroyed. `now_ms` is Unix milliseconds. A retry after an error continues.
    pub async fn forget_passed_identities(&self, now_ms: i64) -> Result<u64, RetentionError> {
        let mut forgotten = 0;
        for key in self.shared.engine.sealing().all_identity_keys() {
            if key.until_ms < now_ms {
                self.remove_hashed(&key).await?;
                self.shared.engine.sealing().change(|ring| ring.forget_identities(key.id))?;
                forgotten += 1;
            } else if key.retiring {
                self.hash_anew(&key, &BTreeSet::new()).await?;
                forgotten += 1;
            }
        }
        Ok(forgotten)
    }

    /// Rehashes a retired key's other identities under its successor and destroys the key.
    async fn hash_anew(&self, key: &IdentityKey, without: &BTreeSet<Uuid>) -> Result<(), RetentionError> {
        // An empty commit: once it is answered, everything hashed under the key before is applied.
        self.commit(Commit::new()).await?;
        loop {
            let commits: Vec<Commit> = self
                .hashed(key)?
                .into_iter()
                .map(|(place, known)| {
                    let moved = Commit::new().remove(Tree::Identities, &place);
                    match known.filter(|known| !without.contains(&known.lead)) {
                        Some(IdentityRecord { at_ms, lead, identity }) => {
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
            // A lead that was erased meanwhile is skipped; its identity goes with the key.
            self.commit_all(commits, |failure| matches!(failure, CommitError::Erased)).await?;
        }
        Ok(self.shared.engine.sealing().change(|ring| ring.forget_identities(key.id))?)
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

    fn hashed(&self, key: &IdentityKey) -> Result<Vec<Hashed>, RetentionError> {
        let mut hashed = Vec::new();
        for entry in self.walk_hashed(key).take(AT_ONCE) {
            let place = entry?;
            let known = unless_broken(self.get(Tree::Identities, &place))?;
            hashed.push((place, known.and_then(|payload| IdentityRecord::parse(&payload))));
        }
        Ok(hashed)
    }

    pub(super) fn walk_hashed(&self, key: &IdentityKey) -> impl Iterator<Item = ReadResult<Vec<u8>>> + use<> {
        self.shared.engine.keys(Tree::Identities, &key.prefix())
    }

    /// Whether the identity at `place` belongs to a lead. Does not open it.
    pub(super) fn is_about(&self, place: &[u8], lead: Uuid) -> bool {
        self.whom(place) == Some(lead)
    }

    /// The lead whose identity is at `place`. Does not open it.
    fn whom(&self, place: &[u8]) -> Option<Uuid> {
        let stored = read_clear(&*self.shared.engine, Tree::Identities, place);
        owner(&stored.ok()?.ok()??)
    }
}
