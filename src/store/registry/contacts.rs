//! Contacts: by which mail address or telephone number a lead is found.
//!
//! Each is kept as identities are: hashed under a key that is destroyed with the erasure of a lead that
//! it has hashed, when the others of its day are hashed anew. So nobody who has the store finds anybody in it, and who is erased has
//! never been here.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::identities::Forgetting;
use crate::Store;
use crate::broken::ReadError;
use crate::commit::Commit;
use crate::retention::RetentionError;
use crate::sealing::identity_key::{CONTACTS, IdentityKey};
use crate::trees::Tree;

/// No look-back ends what leads are found by: it goes with them.
const WITH_THE_LEAD: i64 = i64::MAX / 2;

/// Length of what stands before the lead where a contact is kept: the company, the id of the key, and the hash.
const BEFORE_LEAD: usize = 16 + 8 + 32;

/// The contacts of a lead, as far as they are known to who erases it.
#[derive(Debug, Clone)]
pub struct ContactsOf {
    /// The lead.
    pub lead: Uuid,
    /// What it is found by now.
    pub contacts: Vec<[u8; 32]>,
    /// When it was made, and changed last, Unix milliseconds. One that has changed may have had others.
    pub from_ms: i64,
    /// See above.
    pub until_ms: i64,
}

impl Commit {
    /// Has the lead that it is [about](Self::about) be found by a contact, which came at this time, Unix milliseconds. Done again it
    /// changes nothing.
    pub fn found_by(self, contact: [u8; 32], at_ms: i64) -> Self {
        self.identify(CONTACTS, contact, at_ms, WITH_THE_LEAD)
    }
}

impl Store {
    /// The leads that are found by a contact, in the order of their uuids.
    ///
    /// # Errors
    /// That an index or a file could not be read.
    pub fn found_by(&self, contact: &[u8; 32]) -> Result<Vec<Uuid>, ReadError> {
        let mut leads = BTreeSet::new();
        for key in self.contact_keys() {
            for found in self.scan(Tree::Identities, key.place(contact)) {
                let (place, _) = found?;
                leads.extend(place.get(BEFORE_LEAD..).and_then(|lead| Uuid::from_slice(lead).ok()));
            }
        }
        Ok(leads.into_iter().collect())
    }

    /// Has the keys that the contacts of leads were hashed with be hashed with no more, and says how many records there are. The leads are
    /// found until they are erased; [`finish_forgetting`](Self::finish_forgetting) then does the rest, as a start does
    /// what a crash leaves of it.
    ///
    /// # Errors
    /// Why it could not be done whole. Trying again goes on with it.
    pub fn begin_forgetting_contacts(&self, of: &[ContactsOf]) -> Result<Forgetting, RetentionError> {
        let mut forgetting = Forgetting::default();
        for key in self.contact_keys() {
            self.retire(&key, self.kept_of(&key, of)?, &mut forgetting)?;
        }
        Ok(forgetting)
    }

    /// How many contacts of leads a key has hashed; nothing of those of which it has none.
    fn kept_of(&self, key: &IdentityKey, of: &[ContactsOf]) -> Result<BTreeMap<Uuid, u64>, RetentionError> {
        let meets = |of: &&ContactsOf| key.begins_ms <= of.until_ms && key.ends_ms > of.from_ms;
        let (grown, as_made): (Vec<&ContactsOf>, Vec<&ContactsOf>) =
            of.iter().filter(meets).partition(|of| of.from_ms != of.until_ms);
        let mut kept = BTreeMap::new();
        for of in as_made {
            let places = of.contacts.iter().map(|contact| key.place_of(contact, of.lead));
            let count = places.filter(|place| self.is_about(place, of.lead)).count() as u64;
            if count > 0 {
                kept.insert(of.lead, count);
            }
        }
        if grown.is_empty() {
            return Ok(kept);
        }
        // What they had before is not known: all that the key has hashed is gone through, once for all of them.
        let grown: BTreeSet<Uuid> = grown.into_iter().map(|of| of.lead).collect();
        for place in self.walk_hashed(key) {
            let place = place?;
            let lead = place.get(BEFORE_LEAD..).and_then(|lead| Uuid::from_slice(lead).ok());
            if let Some(lead) = lead.filter(|lead| grown.contains(lead)) {
                *kept.entry(lead).or_default() += 1;
            }
        }
        Ok(kept)
    }

    fn contact_keys(&self) -> Vec<IdentityKey> {
        self.shared.engine.sealing().identity_keys(CONTACTS, i64::MIN)
    }
}
