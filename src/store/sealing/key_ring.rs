//! The keys of a store that are not of one lead.
//!
//! ```text
//! store's own key (32)  blinding key (32)  { slot u16 BE  generation u32 BE  wrapping key (32) }…
//! ```

use uuid::Uuid;
use zeroize::Zeroizing;

use super::key::{KEY_LEN, Key};

/// In how many slots the leads are, each with a wrapping key of its own. Erasing a lead seals the data keys of its slot
/// again: one in so many.
pub(in crate::store) const SLOTS: u16 = 1024;

const ENTRY: usize = 2 + 4 + KEY_LEN;

/// A wrapping key, and how many its slot had before it.
#[derive(Clone)]
pub(in crate::store) struct WrappingKey {
    /// Tells it from the others of its slot.
    pub(in crate::store) generation: u32,
    /// The key.
    pub(in crate::store) key: Key,
}

/// The keys themselves.
#[derive(Clone)]
pub(in crate::store) struct KeyRing {
    /// Seals what is of no lead.
    pub(in crate::store) own: Key,
    /// Keys the hashes of what must not be guessed.
    pub(in crate::store) blinding: Key,
    /// By slot, oldest first: the last seals, those before it are about to be destroyed.
    slots: Vec<Vec<WrappingKey>>,
}

impl KeyRing {
    /// New keys, one for each slot.
    pub(super) fn random() -> Self {
        let slot = || vec![WrappingKey { generation: 0, key: Key::random() }];
        Self { own: Key::random(), blinding: Key::random(), slots: (0..SLOTS).map(|_| slot()).collect() }
    }

    /// The slot of a lead.
    pub(in crate::store) fn slot_of(lead: Uuid) -> u16 {
        (crc32fast::hash(lead.as_bytes()) % u32::from(SLOTS)) as u16
    }

    /// The wrapping key that seals in a slot now.
    pub(in crate::store) fn current(&self, slot: u16) -> &WrappingKey {
        self.slots[usize::from(slot)].last().expect("each slot has a key from its beginning on")
    }

    /// The wrapping key that sealed in a slot, if it was not destroyed.
    pub(in crate::store) fn wrapping(&self, slot: u16, generation: u32) -> Option<&WrappingKey> {
        self.slots[usize::from(slot)].iter().find(|key| key.generation == generation)
    }

    /// The slots with keys that are about to be destroyed.
    pub(in crate::store) fn unfinished(&self) -> Vec<u16> {
        (0..SLOTS).filter(|slot| self.slots[usize::from(*slot)].len() > 1).collect()
    }

    /// Gives a slot a new key that seals from now on.
    pub(in crate::store) fn renew(&mut self, slot: u16) {
        let generation = self.current(slot).generation.wrapping_add(1);
        self.slots[usize::from(slot)].push(WrappingKey { generation, key: Key::random() });
    }

    /// Forgets every key that seals no more.
    pub(in crate::store) fn forget(&mut self) {
        for slot in &mut self.slots {
            slot.drain(..slot.len() - 1);
        }
    }

    /// As bytes, to be sealed.
    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let entries: usize = self.slots.iter().map(Vec::len).sum();
        // Never grown, so that no copy is left behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(2 * KEY_LEN + entries * ENTRY));
        bytes.extend_from_slice(self.own.bytes());
        bytes.extend_from_slice(self.blinding.bytes());
        for (slot, keys) in (0_u16..).zip(&self.slots) {
            for WrappingKey { generation, key } in keys {
                bytes.extend_from_slice(&slot.to_be_bytes());
                bytes.extend_from_slice(&generation.to_be_bytes());
                bytes.extend_from_slice(key.bytes());
            }
        }
        bytes
    }

    /// The ring that was made bytes of; `None` when these are not such bytes.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (own, rest) = bytes.split_at_checked(KEY_LEN)?;
        let (blinding, rest) = rest.split_at_checked(KEY_LEN)?;
        let mut slots = vec![Vec::new(); usize::from(SLOTS)];
        for entry in rest.chunks(ENTRY) {
            let (slot, rest) = entry.split_first_chunk()?;
            let (generation, key) = rest.split_first_chunk()?;
            let generation = u32::from_be_bytes(*generation);
            let slot = slots.get_mut(usize::from(u16::from_be_bytes(*slot)))?;
            slot.push(WrappingKey { generation, key: Key::of_bytes(key)? });
        }
        let whole = slots.iter().all(|slot| !slot.is_empty());
        whole.then_some(Self { own: Key::of_bytes(own)?, blinding: Key::of_bytes(blinding)?, slots })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_are_spread_over_the_slots() {
        let mut leads = [0_u32; SLOTS as usize];
        for _ in 0..100 * u32::from(SLOTS) {
            leads[usize::from(KeyRing::slot_of(crate::ids::timed()))] += 1;
        }
        assert!(leads.iter().all(|count| (30..300).contains(count)), "{leads:?}");
    }
}
