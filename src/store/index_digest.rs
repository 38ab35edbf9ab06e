//! The digest of an index in three numbers, which exposes an index that has lost a part since it was closed.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::frame::checksum;
use super::record_file::Locator;

/// The number of keys, the total size of their records in bytes, and the sum of the checksums of all keys
/// with their places. Updated with every write, so that it does not depend on later answers of the index.
#[derive(Debug, Default)]
pub(super) struct IndexDigest([AtomicU64; 3]);

impl IndexDigest {
    pub(super) fn add(&self, key: &[u8], at: Locator) {
        self.0.iter().zip(of(key, at)).for_each(|(sum, one)| _ = sum.fetch_add(one, Ordering::Relaxed));
    }

    pub(super) fn take(&self, key: &[u8], at: Locator) {
        self.0.iter().zip(of(key, at)).for_each(|(sum, one)| _ = sum.fetch_sub(one, Ordering::Relaxed));
    }

    pub(super) fn entries(&self) -> u64 {
        self.numbers()[0]
    }

    pub(super) fn bytes(&self) -> u64 {
        self.numbers()[1]
    }

    fn numbers(&self) -> [u64; 3] {
        self.0.each_ref().map(|number| number.load(Ordering::Relaxed))
    }
}

impl PartialEq for IndexDigest {
    fn eq(&self, other: &Self) -> bool {
        self.numbers() == other.numbers()
    }
}

impl fmt::Display for IndexDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [entries, bytes, sums] = self.numbers();
        write!(f, "entries {entries} bytes {bytes} sum {sums:016x}")
    }
}

impl FromStr for IndexDigest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let ["entries", entries, "bytes", bytes, "sum", sums] = words[..] else { return Err(()) };
        let number = |text: &str| text.parse().map(AtomicU64::new).map_err(drop);
        let sums = u64::from_str_radix(sums, 16).map_err(drop)?;
        Ok(Self([number(entries)?, number(bytes)?, AtomicU64::new(sums)]))
    }
}

/// The contribution of a key to each number.
fn of(key: &[u8], at: Locator) -> [u64; 3] {
    [1, at.length.into(), checksum(&[key, &at.to_bytes()]).into()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Independent of order and of keys removed meanwhile; differs when a key is missing or has another
        /// place.
        #[test]
        fn it_tells_what_is_there(keys in prop::collection::btree_map("[a-z]{0,9}", 0..u64::MAX, 1..20), other in 1..9_u64) {
            let at = |at: u64| Locator { file: 1, at, length: 7 };
            let digest = IndexDigest::default();
            keys.iter().for_each(|(key, place)| digest.add(key.as_bytes(), at(*place)));
            let again = IndexDigest::default();
            again.add(b"gone", at(3));
            keys.iter().rev().for_each(|(key, place)| again.add(key.as_bytes(), at(*place)));
            again.take(b"gone", at(3));
            prop_assert_eq!(&digest, &again);
            prop_assert_eq!((digest.entries(), digest.bytes()), (keys.len() as u64, 7 * keys.len() as u64));
            prop_assert_eq!(digest.to_string().parse::<IndexDigest>(), Ok(again));
            let (key, place) = keys.first_key_value().unwrap();
            let before = digest.to_string();
            digest.take(key.as_bytes(), at(*place));
            prop_assert_ne!(&digest.to_string(), &before);
            digest.add(key.as_bytes(), at(place.wrapping_add(other)));
            prop_assert_ne!(&digest.to_string(), &before);
        }
    }
}
