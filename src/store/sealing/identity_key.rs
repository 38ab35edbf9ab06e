//! Identity keys: what the identities of a company's leads are hashed with, each for some time.
//!
//! A keyed hash of a social security number is as good as the number for who has the key, since there are only so many. So the key
//! of identities is destroyed: when its time, and the look-back after it, has passed; and with the erasure of a lead that it has
//! hashed, when the other identities of its time have been hashed anew under a fresh one.
//!
//! ```text
//! company (16)  id u64 BE  begins, ms i64 BE  ends, ms i64 BE  needed until, ms i64 BE  retiring u8  key (32)
//! ```

use uuid::Uuid;

use super::key::{KEY_LEN, Key};

/// The company of the keys that hash no identities, and seal what is kept for a time of its own (`registry::terms`).
pub(crate) const TERMS: Uuid = Uuid::max();

/// The company of the keys by whose hashes leads are found by a contact of whom they are about (`registry::contacts`).
pub(crate) const CONTACTS: Uuid = Uuid::from_u128(u128::MAX - 1);

/// The time of one of those. What an erasure hashes anew is of so long.
const CONTACTS_SPAN_MS: i64 = 24 * 3_600_000;

/// Length of a key with what is known of it.
pub(super) const ENTRY: usize = 16 + 8 + 3 * 8 + 1 + KEY_LEN;

/// Which part of a look-back the time of a key is.
const SHARE: i64 = 4;

/// The shortest time of a key, and the longest.
const SPAN_MS: std::ops::RangeInclusive<i64> = 3_600_000..=7 * 24 * 3_600_000;

/// A key with which identities are hashed.
#[derive(Clone)]
pub(crate) struct IdentityKey {
    /// Whose leads it is for.
    pub(crate) company: Uuid,
    /// No other has it.
    pub(crate) id: u64,
    /// From when to when identities are hashed with it, Unix milliseconds.
    pub(crate) begins_ms: i64,
    /// See above.
    pub(crate) ends_ms: i64,
    /// When no look-back reaches so far any more.
    pub(crate) until_ms: i64,
    /// Whether what it has hashed is being hashed anew, before it is destroyed.
    pub(crate) retiring: bool,
    /// The key.
    pub(crate) key: Key,
}

impl IdentityKey {
    /// A new key of a company, from a time on, for a look-back of so long.
    pub(super) fn new(company: Uuid, id: u64, at_ms: i64, look_back_ms: i64) -> Self {
        let span_ms = match company {
            CONTACTS => CONTACTS_SPAN_MS,
            _ => (look_back_ms / SHARE).clamp(*SPAN_MS.start(), *SPAN_MS.end()),
        };
        let ends_ms = at_ms.saturating_add(span_ms);
        let until_ms = ends_ms.saturating_add(look_back_ms);
        Self { company, id, begins_ms: at_ms, ends_ms, until_ms, retiring: false, key: Key::random() }
    }

    /// What the records of the identities that it has hashed begin with.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        [&self.company.as_bytes()[..], &self.id.to_be_bytes()].concat()
    }

    /// Under which an identity is kept.
    pub(crate) fn place(&self, identity: &[u8; 32]) -> Vec<u8> {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, self.key.bytes());
        [&self.prefix()[..], ring::hmac::sign(&key, identity).as_ref()].concat()
    }

    /// Under which that of a lead is kept: of contacts beside those of others who have the same.
    pub(crate) fn place_of(&self, identity: &[u8; 32], lead: Uuid) -> Vec<u8> {
        let mut place = self.place(identity);
        if self.company == CONTACTS {
            place.extend_from_slice(lead.as_bytes());
        }
        place
    }

    /// Adds it to bytes that are to be sealed.
    pub(super) fn push(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.company.as_bytes());
        bytes.extend_from_slice(&self.id.to_be_bytes());
        for ms in [self.begins_ms, self.ends_ms, self.until_ms] {
            bytes.extend_from_slice(&ms.to_be_bytes());
        }
        bytes.push(u8::from(self.retiring));
        bytes.extend_from_slice(self.key.bytes());
    }

    /// The key that was made bytes of.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (company, rest) = bytes.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let (begins_ms, rest) = rest.split_first_chunk()?;
        let (ends_ms, rest) = rest.split_first_chunk()?;
        let (until_ms, rest) = rest.split_first_chunk()?;
        let (retiring, key) = rest.split_first()?;
        Some(Self {
            company: Uuid::from_bytes(*company),
            id: u64::from_be_bytes(*id),
            begins_ms: i64::from_be_bytes(*begins_ms),
            ends_ms: i64::from_be_bytes(*ends_ms),
            until_ms: i64::from_be_bytes(*until_ms),
            retiring: *retiring != 0,
            key: Key::of_bytes(key)?,
        })
    }
}
