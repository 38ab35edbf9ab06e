//! Identity keys hash the identities of a company's leads, each for a limited time.
//!
//! A keyed hash of a social security number reveals it to the holder of the key. So a key is destroyed after
//! its time and look-back, and with the erasure of a lead that it has hashed, after rehashing the others.
//!
//! ```text
//! company (16)  id u64 BE  begins, ms i64 BE  ends, ms i64 BE  needed until, ms i64 BE
//! retiring u8  key (32)
//! ```

use uuid::Uuid;

use super::key::{KEY_LEN, SealKey};

/// The company of keys that seal payloads with a TTL of their own ([`Store::seal_for`](crate::Store::seal_for)).
pub(crate) const TERMS: Uuid = Uuid::max();

/// The company of keys that hash contacts (`registry::contacts`).
pub(crate) const CONTACTS: Uuid = Uuid::from_u128(u128::MAX - 1);

/// The time span of a contact key: the amount that an erasure rehashes.
const CONTACTS_SPAN_MS: i64 = 24 * 3_600_000;

pub(super) const ENTRY: usize = 16 + 8 + 3 * 8 + 1 + KEY_LEN;

/// A key lasts for one in this many parts of the look-back.
const SHARE: i64 = 4;

const SPAN_MS: std::ops::RangeInclusive<i64> = 3_600_000..=7 * 24 * 3_600_000;

#[derive(Clone)]
pub(crate) struct IdentityKey {
    pub(crate) company: Uuid,
    pub(crate) id: u64,
    /// Start of its time span, Unix milliseconds.
    pub(crate) begins_ms: i64,
    /// End of its time span, Unix milliseconds.
    pub(crate) ends_ms: i64,
    pub(crate) until_ms: i64,
    /// Whether its hashes are being rehashed, before it is destroyed.
    pub(crate) retiring: bool,
    pub(crate) key: SealKey,
}

impl IdentityKey {
    pub(super) fn new(company: Uuid, id: u64, at_ms: i64, look_back_ms: i64) -> Self {
        let span_ms = match company {
            CONTACTS => CONTACTS_SPAN_MS,
            _ => (look_back_ms / SHARE).clamp(*SPAN_MS.start(), *SPAN_MS.end()),
        };
        let ends_ms = at_ms.saturating_add(span_ms);
        let until_ms = ends_ms.saturating_add(look_back_ms);
        Self { company, id, begins_ms: at_ms, ends_ms, until_ms, retiring: false, key: SealKey::random() }
    }

    /// The key prefix of the records that it has hashed.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        [&self.company.as_bytes()[..], &self.id.to_be_bytes()].concat()
    }

    pub(crate) fn place(&self, identity: &[u8; 32]) -> Vec<u8> {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, self.key.bytes());
        [&self.prefix()[..], ring::hmac::sign(&key, identity).as_ref()].concat()
    }

    /// The record key of a lead's identity. Contacts include the lead, since several leads may share one.
    pub(crate) fn place_of(&self, identity: &[u8; 32], lead: Uuid) -> Vec<u8> {
        let mut place = self.place(identity);
        if self.company == CONTACTS {
            place.extend_from_slice(lead.as_bytes());
        }
        place
    }

    pub(super) fn push(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.company.as_bytes());
        bytes.extend_from_slice(&self.id.to_be_bytes());
        for ms in [self.begins_ms, self.ends_ms, self.until_ms] {
            bytes.extend_from_slice(&ms.to_be_bytes());
        }
        bytes.push(u8::from(self.retiring));
        bytes.extend_from_slice(self.key.bytes());
    }

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
            key: SealKey::of_bytes(key)?,
        })
    }
}
