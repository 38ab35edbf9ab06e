//! Slots: groups of leads whose data keys share a wrapping key.

use ring::hmac;
use uuid::Uuid;

use super::key::SealKey;

/// The number of slots. Erasing a lead reseals the data keys of its slot: one in this many.
pub(crate) const SLOTS: u16 = 1024;

/// Assigns leads to slots by a keyed hash of the uuid, so no client can overload a slot.
#[derive(Clone)]
pub(crate) struct Slots(hmac::Key);

impl Slots {
    pub(super) fn keyed(blinding: &SealKey) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, blinding.bytes()))
    }

    pub(crate) fn slot_of(&self, lead: Uuid) -> u16 {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(b"slot\0");
        context.update(lead.as_bytes());
        let hash = context.sign();
        let [first, second, ..] = hash.as_ref() else { return 0 };
        u16::from_be_bytes([*first, *second]) % SLOTS
    }

    /// The record key of a lead's data key: those of one slot lie together.
    pub(crate) fn key_of(&self, lead: Uuid) -> Vec<u8> {
        [&self.slot_of(lead).to_be_bytes()[..], lead.as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_are_spread_over_the_slots_and_nobody_without_the_key_can_tell_how() {
        let slots = Slots::keyed(&SealKey::random());
        let mut leads = [0_u32; SLOTS as usize];
        for lead in (0..100 * u128::from(SLOTS)).map(Uuid::from_u128) {
            leads[usize::from(slots.slot_of(lead))] += 1;
        }
        assert!(leads.iter().all(|count| (30..300).contains(count)), "{leads:?}");
        let lead = Uuid::from_u128(7);
        let others = (0..20).map(|_| Slots::keyed(&SealKey::random()).slot_of(lead));
        assert!(others.into_iter().any(|slot| slot != slots.slot_of(lead)));
    }
}
