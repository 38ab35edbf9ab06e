//! Maps a record to its volume.

use uuid::Uuid;

use super::super::arrival::FeedKey;
use super::super::disk::DiskResult;
use super::super::raw::{RawValues, read_clear};
use super::super::sealing::data_key;
use super::super::sealing::slots::Slots;
use super::super::trees::{Tree, VolumeSelector};
use super::super::volume_number::{BASE, Number};
use super::Volumes;

/// The volumes to search for a record, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VolumeSearch {
    In(Number),
    /// The base; then the last volume, in case the lead has lost its data key since it came.
    Unclaimed,
    /// Any: the data key of its lead cannot be read.
    Somewhere,
}

impl VolumeSearch {
    pub(crate) fn numbers(self, volumes: &Volumes) -> Vec<Number> {
        match self {
            Self::In(number) => vec![number],
            Self::Unclaimed => [BASE].into_iter().chain(volumes.last().map(|(last, _)| last)).collect(),
            Self::Somewhere => volumes.numbers(),
        }
    }

    pub(crate) fn number(self) -> Number {
        if let Self::In(number) = self { number } else { BASE }
    }
}

pub(crate) fn place(
    from: &(impl RawValues + ?Sized),
    volumes: &Volumes,
    slots: &Slots,
    tree: Tree,
    key: &[u8],
) -> DiskResult<VolumeSearch> {
    match tree.row().kept {
        VolumeSelector::WithLead => of_lead(from, slots, key),
        _ => Ok(VolumeSearch::In(time_ms(tree, key).map_or(BASE, |ms| volumes.at(ms)))),
    }
}

/// The volumes that may hold records of a tree from a key on, with a prefix, in order.
pub(crate) fn span(
    from: &(impl RawValues + ?Sized),
    volumes: &Volumes,
    slots: &Slots,
    tree: Tree,
    start: &[u8],
    prefix: &[u8],
) -> DiskResult<Vec<Number>> {
    Ok(match tree.row().kept {
        VolumeSelector::Base => vec![BASE],
        VolumeSelector::WithLead | VolumeSelector::ByTime if prefix.len() >= 16 => {
            match place(from, volumes, slots, tree, prefix)? {
                VolumeSearch::Somewhere => volumes.numbers(),
                place => vec![place.number()],
            }
        }
        VolumeSelector::WithLead => volumes.numbers(),
        VolumeSelector::ByTime | VolumeSelector::ByArrival => {
            // Pads a short key with zeros: no key lies between the two.
            let mut first = start.to_vec();
            first.resize(first.len().max(FeedKey::LEN), 0);
            let begin = time_ms(tree, &first).map_or(BASE, |ms| volumes.at(ms));
            volumes.numbers().into_iter().filter(|number| *number >= begin).collect()
        }
    })
}

pub(crate) fn time_ms(tree: Tree, key: &[u8]) -> Option<u64> {
    match tree.row().kept {
        VolumeSelector::ByTime => {
            let uuid = Uuid::from_bytes(*key.first_chunk()?);
            Some(u64::try_from(uuid.as_u128() >> 80).expect("48 bits are left"))
        }
        VolumeSelector::ByArrival => Some(FeedKey::parse(key)?.arrival_us / 1000),
        VolumeSelector::Base | VolumeSelector::WithLead => None,
    }
}

fn of_lead(from: &(impl RawValues + ?Sized), slots: &Slots, key: &[u8]) -> DiskResult<VolumeSearch> {
    let Some(lead) = key.first_chunk() else { return Ok(VolumeSearch::In(BASE)) };
    Ok(match read_clear(from, Tree::LeadKeys, &slots.place(Uuid::from_bytes(*lead)))? {
        Ok(Some(kept)) => VolumeSearch::In(data_key::volume_of(&kept)),
        Ok(None) => VolumeSearch::Unclaimed,
        Err(_) => VolumeSearch::Somewhere,
    })
}
