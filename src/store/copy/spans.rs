//! Plans volumes for records from a database. A volume lasts until its size or age limit.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::error::CopyError;
use super::side::CopySide;
use crate::clock::uuid_ms;
use crate::sealing::data_key;
use crate::volumes::Volumes;
use crate::{LAST_ARRIVAL, StoreOptions, Tree, VolumeNumber, VolumeSelector, VolumeStart};

/// Volumes begin on the hour.
const HOUR_MS: u64 = 60 * 60 * 1000;

/// When the volumes begin. The first one begins before all records.
pub(super) fn planned(source: &impl CopySide, options: &StoreOptions) -> Result<Vec<VolumeStart>, CopyError> {
    let last = source.payloads(&[Tree::Meta.tree_key(LAST_ARRIVAL)])?.into_iter().flatten().next();
    let last_ms = last.and_then(|last| last.try_into().ok()).map_or(0, u64::from_be_bytes) / 1000;
    let mut hours = BTreeMap::<u64, u64>::new();
    source.sizes(&mut |tree_key, bytes| {
        // A record with a time in the future goes to the last volume.
        if let Some(ms) = written_ms(tree_key).filter(|ms| *ms > 0 && *ms <= last_ms) {
            *hours.entry(ms / HOUR_MS).or_default() += bytes;
        }
    })?;
    Ok(begins(&hours, options.volume_bytes, options.volume_age.as_millis().try_into().unwrap_or(u64::MAX)))
}

/// Begins of volumes with at most `volume_bytes` each, unless a single hour has more.
fn begins(hours: &BTreeMap<u64, u64>, volume_bytes: u64, volume_age_ms: u64) -> Vec<VolumeStart> {
    let Some((first, _)) = hours.first_key_value() else { return Vec::new() };
    let mut begins = vec![VolumeStart { span_ms: 0, use_ms: first * HOUR_MS }];
    let (mut begun_ms, mut bytes) = (first * HOUR_MS, 0);
    for (hour, more) in hours {
        let at_ms = hour * HOUR_MS;
        if bytes > 0 && (bytes + more > volume_bytes || at_ms - begun_ms >= volume_age_ms) {
            begins.push(VolumeStart { span_ms: at_ms, use_ms: at_ms });
            (begun_ms, bytes) = (at_ms, 0);
        }
        bytes += more;
    }
    begins
}

pub(super) fn of_lead(volumes: &Volumes, place: &[u8]) -> VolumeNumber {
    let last = || volumes.last().map_or(1, |(last, _)| last);
    let ms = data_key::lead_at(place).and_then(uuid_ms);
    ms.map_or_else(last, |ms| volumes.at(ms))
}

/// When a record was written, if its key has the time and it belongs into a volume.
fn written_ms(tree_key: &[u8]) -> Option<u64> {
    let (tree, key) = Tree::split(tree_key)?;
    match tree.row().kept {
        VolumeSelector::WithLead => uuid_ms(Uuid::from_slice(key.get(..16)?).ok()?),
        _ => tree.time_ms(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_ends_when_it_is_large_or_old() {
        let hours = BTreeMap::from([(10, 60), (11, 30), (12, 30), (13, 500), (400, 1)]);
        let spans: Vec<u64> =
            begins(&hours, 100, 200 * HOUR_MS).iter().map(|begins| begins.span_ms / HOUR_MS).collect();
        assert_eq!(spans, [0, 12, 13, 400]);
        assert_eq!(begins(&BTreeMap::new(), 100, 1), []);
    }
}
