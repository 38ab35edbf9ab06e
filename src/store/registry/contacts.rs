//! Contacts: finding leads by mail address or telephone number.
//!
//! Contacts are stored like identities: hashed under a key that is destroyed with the erasure of a lead that
//! it has hashed, after the day's other contacts are rehashed.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::identities::RetiredIdentities;
use crate::retention::RetentionError;
use crate::sealing::identity_key::{CONTACTS, IdentityKey};
use crate::{Commit, ReadResult, Store, Tree};

/// The name of the projection that indexes new leads by their contacts.
pub const PROJECTION: &str = "contacts";

/// Contacts have no look-back: they are removed with their lead.
pub(super) const WITH_THE_LEAD: i64 = i64::MAX / 2;

/// Length of a contact's key before the lead: the company, the id of the key, and the hash.
const BEFORE_LEAD: usize = 16 + 8 + 32;

/// The contacts of a lead, as known to the code that erases it.
#[derive(Debug, Clone)]
pub struct LeadContacts {
    /// The lead.
    pub lead: Uuid,
    /// Its current contacts.
    pub contacts: Vec<[u8; 32]>,
    /// When it was created, Unix milliseconds. A lead that has changed since may have had other contacts.
    pub from_ms: i64,
    /// When it was last changed, Unix milliseconds.
    pub until_ms: i64,
}

impl Commit {
    /// Makes the commit's lead findable by a contact. `at_ms`: Unix milliseconds. Idempotent.
    pub fn found_by(self, contact: [u8; 32], at_ms: i64) -> Self {
        self.identify(CONTACTS, contact, at_ms, WITH_THE_LEAD)
    }
}

impl Store {
    /// The leads with a contact, ordered by uuid.
    pub fn found_by(&self, contact: &[u8; 32]) -> ReadResult<Vec<Uuid>> {
        let mut leads = BTreeSet::new();
        for key in self.contact_keys() {
            for found in self.scan(Tree::Identities, key.place(contact)) {
                let (place, _) = found?;
                leads.extend(place.get(BEFORE_LEAD..).and_then(|lead| Uuid::from_slice(lead).ok()));
            }
        }
        Ok(leads.into_iter().collect())
    }

    /// Retires the keys of these leads' contacts and counts the records. Once the leads are erased,
    /// [`finish_forgetting`](Self::finish_forgetting) does the rest; after a crash, the next start does.
    pub fn begin_forgetting_contacts(
        &self,
        of: &[LeadContacts],
    ) -> Result<RetiredIdentities, RetentionError> {
        let mut forgetting = RetiredIdentities::default();
        for key in self.contact_keys() {
            self.retire(&key, self.hashed_of(&key, of)?, &mut forgetting)?;
        }
        Ok(forgetting)
    }

    /// The leads whose contacts a key has hashed, once per contact.
    fn hashed_of(&self, key: &IdentityKey, of: &[LeadContacts]) -> ReadResult<Vec<Uuid>> {
        let meets = |of: &&LeadContacts| key.begins_ms <= of.until_ms && key.ends_ms > of.from_ms;
        let (grown, as_made): (Vec<&LeadContacts>, Vec<&LeadContacts>) =
            of.iter().filter(meets).partition(|of| of.from_ms != of.until_ms);
        let mut hashed = Vec::new();
        for of in as_made {
            let places = of.contacts.iter().map(|contact| key.place_of(contact, of.lead));
            hashed.extend(places.filter(|place| self.is_about(place, of.lead)).map(|_| of.lead));
        }
        if grown.is_empty() {
            return Ok(hashed);
        }
        // The former contacts of a changed lead are unknown: one walk over the key's hashes finds them.
        let grown: BTreeSet<Uuid> = grown.into_iter().map(|of| of.lead).collect();
        for place in self.walk_hashed(key) {
            let place = place?;
            let lead = place.get(BEFORE_LEAD..).and_then(|lead| Uuid::from_slice(lead).ok());
            hashed.extend(lead.filter(|lead| grown.contains(lead)));
        }
        Ok(hashed)
    }

    fn contact_keys(&self) -> Vec<IdentityKey> {
        self.shared.engine.sealing().identity_keys(CONTACTS, i64::MIN)
    }
}
