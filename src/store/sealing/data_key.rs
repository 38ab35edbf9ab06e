//! The data key of a lead in its stored form: sealed by the wrapping key of the lead's slot, or destroyed.
//!
//! ```text
//! kept       generation of the wrapping key u32 BE   sealed key (60)   volume u32 BE
//! destroyed  when, ms i64 BE                                           volume u32 BE
//! ```
//! The volume is that of the lead's records. In a database, it is when the lead came, in seconds since 1970.

use uuid::Uuid;

use super::key::{KEY_LEN, SEAL_LEN, SealKey};
use super::key_ring::KeyRing;
use crate::clock::uuid_ms;
use crate::volume_number::{BASE, VolumeNumber};

const VOLUME: usize = 4;
const KEPT: usize = 4 + KEY_LEN + SEAL_LEN + VOLUME;
const DESTROYED: usize = 8 + VOLUME;
/// Numbers from here on are times, beginning in September 2001; volume numbers are smaller.
const FIRST_TIME: VolumeNumber = 1_000_000_000;

pub(crate) enum DataKey {
    Kept(SealKey),
    Destroyed,
}

/// The lead of a record of data keys, by the key of the record.
pub(crate) fn lead_at(place: &[u8]) -> Option<Uuid> {
    Uuid::from_slice(place.get(2..)?).ok()
}

pub(crate) fn wrap(ring: &KeyRing, lead: Uuid, key: &SealKey, volume: VolumeNumber) -> Vec<u8> {
    let wrapping = ring.current(ring.slots.slot_of(lead));
    let generation = wrapping.generation.to_be_bytes();
    let sealed = wrapping.key.seal(&context(lead, generation), key.bytes());
    [&generation[..], &sealed, &volume.to_be_bytes()].concat()
}

pub(crate) fn destroyed(at_ms: i64, volume: VolumeNumber) -> Vec<u8> {
    [&at_ms.to_be_bytes()[..], &volume.to_be_bytes()].concat()
}

/// The volume of the lead's records, read without opening the key.
pub(crate) fn volume_of(kept: &[u8]) -> VolumeNumber {
    match kept.len() {
        KEPT | DESTROYED => kept.last_chunk().map_or(BASE, |volume| u32::from_be_bytes(*volume)),
        _ => BASE,
    }
}

pub(crate) fn without_volume(kept: &[u8]) -> &[u8] {
    match kept.len() {
        KEPT | DESTROYED => &kept[..kept.len() - VOLUME],
        _ => kept,
    }
}

pub(crate) fn in_volume(kept: &[u8], volume: VolumeNumber) -> Vec<u8> {
    [without_volume(kept), &volume.to_be_bytes()].concat()
}

pub(crate) fn generation_of(kept: &[u8]) -> Option<u32> {
    kept.first_chunk().filter(|_| !is_destroyed(kept)).map(|generation| u32::from_be_bytes(*generation))
}

pub(crate) fn is_destroyed(kept: &[u8]) -> bool {
    kept.len() == DESTROYED
}

/// When the key was destroyed, Unix milliseconds.
pub(crate) fn destroyed_at(kept: &[u8]) -> Option<i64> {
    kept.first_chunk().filter(|_| is_destroyed(kept)).map(|at_ms| i64::from_be_bytes(*at_ms))
}

/// When a lead came, in seconds since 1970. In a copy from files, by the lead's uuid.
pub(crate) fn came_s(lead: Uuid, kept: &[u8]) -> Option<VolumeNumber> {
    let number = volume_of(kept);
    let in_uuid = || uuid_ms(lead).map(|ms| VolumeNumber::try_from(ms / 1000).unwrap_or(VolumeNumber::MAX));
    (number >= FIRST_TIME).then_some(number).or_else(in_uuid)
}

/// Opens a stored data key; `None` if no wrapping key opens it, or it is malformed.
pub(crate) fn unwrap(ring: &KeyRing, lead: Uuid, kept: &[u8]) -> Option<DataKey> {
    match kept.len() {
        DESTROYED => Some(DataKey::Destroyed),
        KEPT => opened(ring, lead, without_volume(kept)).map(DataKey::Kept),
        _ => None,
    }
}

fn opened(ring: &KeyRing, lead: Uuid, kept: &[u8]) -> Option<SealKey> {
    let (generation, sealed) = kept.split_first_chunk()?;
    let wrapping = ring.wrapping(ring.slots.slot_of(lead), u32::from_be_bytes(*generation))?;
    let bytes = zeroize::Zeroizing::new(wrapping.key.open(&context(lead, *generation), sealed)?);
    SealKey::of_bytes(&bytes)
}

fn context(lead: Uuid, generation: [u8; 4]) -> Vec<u8> {
    [&b"data key "[..], lead.as_bytes(), &generation].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_lead_came_stands_beside_its_key_or_in_its_uuid() {
        let kept = |number: VolumeNumber| [&[0; KEPT - VOLUME][..], &number.to_be_bytes()].concat();
        let timed = offerd_base::ids::timed_at(1_700_000_000_999);
        let untimed = Uuid::from_u128(7);
        assert_eq!(came_s(timed, &kept(1_800_000_000)), Some(1_800_000_000));
        assert_eq!(came_s(timed, &kept(3)), Some(1_700_000_000), "as it was copied from the third volume");
        assert_eq!(came_s(untimed, &kept(3)), None);
        assert_eq!(came_s(untimed, &kept(1_800_000_000)), Some(1_800_000_000));
    }
}
