//! All keys of a store except the data keys of leads.
//!
//! ```text
//! store's own key (32)  blinding key (32)
//! count u32 BE  { slot u16 BE  generation u32 BE  wrapping key (32) }…
//! count u32 BE  identity key…  { id (16)  key of ephemeral records (32) }…
//! ```

use uuid::Uuid;
use zeroize::Zeroizing;

use super::identity_key::{self, IdentityKey};
use super::key::{KEY_LEN, SealKey};
use super::slots::{SLOTS, Slots};

const ENTRY: usize = 2 + 4 + KEY_LEN;
const EPHEMERAL_ENTRY: usize = 16 + KEY_LEN;

/// A key of ephemeral records: a new one reseals the records still wanted, and the old one is destroyed.
#[derive(Clone)]
pub(crate) struct EphemeralKey {
    /// Unique; precedes the payloads sealed with the key.
    pub(crate) id: Uuid,
    pub(crate) key: SealKey,
}

impl EphemeralKey {
    fn push(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.id.as_bytes());
        bytes.extend_from_slice(self.key.bytes());
    }

    fn parse(entry: &[u8]) -> Option<Self> {
        let (id, key) = entry.split_first_chunk()?;
        Some(Self { id: Uuid::from_bytes(*id), key: SealKey::of_bytes(key)? })
    }
}

#[derive(Clone)]
pub(crate) struct WrappingKey {
    pub(crate) generation: u32,
    pub(crate) key: SealKey,
}

#[derive(Clone)]
pub(crate) struct KeyRing {
    pub(crate) own: SealKey,
    /// Keys the hashes that must not be guessable.
    pub(crate) blinding: SealKey,
    pub(crate) slots: Slots,
    /// By slot, oldest first: the last key seals, earlier ones are about to be destroyed.
    wrapping: Vec<Vec<WrappingKey>>,
    pub(crate) identities: Vec<IdentityKey>,
    /// Keys of ephemeral records, oldest first: the last key seals, earlier ones are about to be destroyed.
    ephemeral: Vec<EphemeralKey>,
}

impl KeyRing {
    pub(crate) fn random() -> Self {
        let slot = || vec![WrappingKey { generation: 0, key: SealKey::random() }];
        let blinding = SealKey::random();
        let (own, slots) = (SealKey::random(), Slots::keyed(&blinding));
        let wrapping = (0..SLOTS).map(|_| slot()).collect();
        Self { own, slots, blinding, wrapping, identities: Vec::new(), ephemeral: Vec::new() }
    }

    pub(crate) fn current(&self, slot: u16) -> &WrappingKey {
        self.wrapping[usize::from(slot)].last().expect("each slot has a key from its beginning on")
    }

    pub(crate) fn wrapping(&self, slot: u16, generation: u32) -> Option<&WrappingKey> {
        self.wrapping[usize::from(slot)].iter().find(|key| key.generation == generation)
    }

    pub(crate) fn unfinished(&self) -> Vec<u16> {
        (0..SLOTS).filter(|slot| self.is_unfinished(*slot)).collect()
    }

    pub(crate) fn is_unfinished(&self, slot: u16) -> bool {
        self.wrapping[usize::from(slot)].len() > 1
    }

    /// Adds a new key to a slot, which seals from now on.
    pub(crate) fn renew(&mut self, slot: u16) {
        let generation = self.current(slot).generation.wrapping_add(1);
        self.wrapping[usize::from(slot)].push(WrappingKey { generation, key: SealKey::random() });
    }

    /// Destroys every key of a slot except the one that seals.
    pub(crate) fn forget(&mut self, slot: u16) {
        let keys = &mut self.wrapping[usize::from(slot)];
        keys.drain(..keys.len() - 1);
    }

    /// The key that hashes identities of a company at `at_ms`; `None` if there is none for this look-back.
    pub(crate) fn identity_key(&self, company: Uuid, at_ms: i64, look_back_ms: i64) -> Option<&IdentityKey> {
        let of_now = self.identities.iter().rev().find(|key| key.company == company && key.is_of(at_ms))?;
        (of_now.until_ms >= of_now.ends_ms.saturating_add(look_back_ms)).then_some(of_now)
    }

    /// Begins a key that hashes identities of a company, or extends the current one.
    pub(crate) fn begin_identities(&mut self, company: Uuid, at_ms: i64, look_back_ms: i64) {
        let of_now = self.identities.iter_mut().rev().find(|key| key.company == company && key.is_of(at_ms));
        match of_now {
            Some(key) => key.until_ms = key.until_ms.max(key.ends_ms.saturating_add(look_back_ms)),
            None => {
                let id = self.next_identity_id();
                self.identities.push(IdentityKey::new(company, id, at_ms, look_back_ms));
            }
        }
    }

    /// Retires an identity key and adds its successor for the same time span.
    pub(crate) fn retire_identities(&mut self, id: u64) {
        let next = self.next_identity_id();
        let Some(old) = self.identities.iter_mut().find(|key| key.id == id) else { return };
        let fresh = IdentityKey { id: next, key: SealKey::random(), retiring: false, ..old.clone() };
        old.retiring = true;
        self.identities.push(fresh);
    }

    pub(crate) fn forget_identities(&mut self, id: u64) {
        self.identities.retain(|key| key.id != id);
    }

    /// The key of ephemeral records with this id; without an id, the one that seals.
    pub(crate) fn ephemeral(&self, id: Option<Uuid>) -> Option<&EphemeralKey> {
        match id {
            Some(id) => self.ephemeral.iter().find(|key| key.id == id),
            None => self.ephemeral.last(),
        }
    }

    /// Begins a key of ephemeral records, which seals from now on.
    pub(crate) fn begin_ephemeral(&mut self) {
        self.ephemeral.push(EphemeralKey { id: offerd_base::ids::random(), key: SealKey::random() });
    }

    /// Destroys every key of ephemeral records except the one that seals.
    pub(crate) fn forget_ephemeral(&mut self) {
        self.ephemeral.drain(..self.ephemeral.len().saturating_sub(1));
    }

    pub(crate) fn without_ephemeral(&self) -> Self {
        Self { ephemeral: Vec::new(), ..self.clone() }
    }

    fn next_identity_id(&self) -> u64 {
        self.identities.iter().map(|key| key.id).max().map_or(1, |last| last + 1)
    }

    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let entries: usize = self.wrapping.iter().map(Vec::len).sum();
        // Allocated once: a reallocation would leave a copy of the keys in memory.
        let identities = self.identities.len();
        let timed = identities * identity_key::ENTRY + self.ephemeral.len() * EPHEMERAL_ENTRY;
        let length = 2 * KEY_LEN + 4 + entries * ENTRY + 4 + timed;
        let mut bytes = Zeroizing::new(Vec::with_capacity(length));
        bytes.extend_from_slice(self.own.bytes());
        bytes.extend_from_slice(self.blinding.bytes());
        let count =
            |keys| u32::try_from(keys).expect("a slot has a key or two, and a company a few").to_be_bytes();
        bytes.extend_from_slice(&count(entries));
        for (slot, keys) in (0_u16..).zip(&self.wrapping) {
            for WrappingKey { generation, key } in keys {
                bytes.extend_from_slice(&slot.to_be_bytes());
                bytes.extend_from_slice(&generation.to_be_bytes());
                bytes.extend_from_slice(key.bytes());
            }
        }
        bytes.extend_from_slice(&count(identities));
        self.identities.iter().for_each(|key| key.push(&mut bytes));
        self.ephemeral.iter().for_each(|key| key.push(&mut bytes));
        bytes
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (own, rest) = bytes.split_at_checked(KEY_LEN)?;
        let (blinding, rest) = rest.split_at_checked(KEY_LEN)?;
        let (wrapping, rest) = counted(rest, ENTRY)?;
        let (identities, ephemeral) = counted(rest, identity_key::ENTRY)?;
        let blinding = SealKey::of_bytes(blinding)?;
        let identities =
            identities.chunks(identity_key::ENTRY).map(IdentityKey::parse).collect::<Option<_>>()?;
        let ephemeral = ephemeral.chunks(EPHEMERAL_ENTRY).map(EphemeralKey::parse).collect::<Option<_>>()?;
        let (own, wrapping) = (SealKey::of_bytes(own)?, read_wrapping(wrapping)?);
        Some(Self { own, slots: Slots::keyed(&blinding), blinding, wrapping, identities, ephemeral })
    }
}

impl IdentityKey {
    /// Whether the key hashes identities at `at_ms`.
    fn is_of(&self, at_ms: i64) -> bool {
        !self.retiring && (self.begins_ms..self.ends_ms).contains(&at_ms)
    }
}

/// Splits off the entries that follow their count; returns them and the rest.
fn counted(bytes: &[u8], length: usize) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*count)).ok()?.checked_mul(length)?)
}

fn read_wrapping(bytes: &[u8]) -> Option<Vec<Vec<WrappingKey>>> {
    let mut slots = vec![Vec::new(); usize::from(SLOTS)];
    for entry in bytes.chunks(ENTRY) {
        let (slot, rest) = entry.split_first_chunk()?;
        let (generation, key) = rest.split_first_chunk()?;
        let generation = u32::from_be_bytes(*generation);
        let slot = slots.get_mut(usize::from(u16::from_be_bytes(*slot)))?;
        slot.push(WrappingKey { generation, key: SealKey::of_bytes(key)? });
    }
    slots.iter().all(|slot| !slot.is_empty()).then_some(slots)
}
