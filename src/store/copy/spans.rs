//! The volumes that files are given for what comes from a database, which has none: each lasts until the records of its time, as far as
//! they are kept by time, are as long or as old as a volume of the embedded engine becomes.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::error::CopyError;
use super::side::Side;
use crate::arrival::LAST_ARRIVAL;
use crate::clock::uuid_ms;
use crate::options::StoreOptions;
use crate::sealing::data_key;
use crate::trees::{Kept, Tree};
use crate::volume_number::{Begins, Number};
use crate::volumes::{Volumes, time_ms};

/// A volume begins with an hour.
const HOUR_MS: u64 = 60 * 60 * 1000;

/// When the volumes begin, from the first one, which begins before everything.
pub(super) fn planned(source: &impl Side, options: &StoreOptions) -> Result<Vec<Begins>, CopyError> {
    let last = source.payloads(&[Tree::Meta.sled_key(LAST_ARRIVAL)])?.into_iter().flatten().next();
    let last_ms = last.and_then(|last| last.try_into().ok()).map_or(0, u64::from_be_bytes) / 1000;
    let mut hours = BTreeMap::<u64, u64>::new();
    source.sizes(&mut |sled_key, bytes| {
        // What says a time to come lies with the last.
        if let Some(ms) = written_ms(sled_key).filter(|ms| *ms > 0 && *ms <= last_ms) {
            *hours.entry(ms / HOUR_MS).or_default() += bytes;
        }
    })?;
    Ok(begins(&hours, options.volume_bytes, options.volume_age.as_millis().try_into().unwrap_or(u64::MAX)))
}

/// When volumes begin that have so many bytes at most by hour, unless one hour has more.
fn begins(hours: &BTreeMap<u64, u64>, volume_bytes: u64, volume_age_ms: u64) -> Vec<Begins> {
    let Some((first, _)) = hours.first_key_value() else { return Vec::new() };
    let mut begins = vec![Begins { span_ms: 0, use_ms: first * HOUR_MS }];
    let (mut begun_ms, mut bytes) = (first * HOUR_MS, 0);
    for (hour, more) in hours {
        let at_ms = hour * HOUR_MS;
        if bytes > 0 && (bytes + more > volume_bytes || at_ms - begun_ms >= volume_age_ms) {
            begins.push(Begins { span_ms: at_ms, use_ms: at_ms });
            (begun_ms, bytes) = (at_ms, 0);
        }
        bytes += more;
    }
    begins
}

/// The volume of a lead whose data key is kept there.
pub(super) fn of_lead(volumes: &Volumes, place: &[u8]) -> Number {
    let last = || volumes.last().map_or(1, |(last, _)| last);
    let ms = data_key::lead_at(place).and_then(uuid_ms);
    ms.map_or_else(last, |ms| volumes.at(ms))
}

/// When a record was written, where its key says it and it lies in a volume.
fn written_ms(sled_key: &[u8]) -> Option<u64> {
    let (tree, key) = Tree::split(sled_key)?;
    match tree.row().kept {
        Kept::WithLead => uuid_ms(Uuid::from_slice(key.get(..16)?).ok()?),
        _ => time_ms(tree, key),
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
