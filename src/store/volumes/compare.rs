//! Compares the index of a volume with its files, which are the source of truth.

use std::collections::HashSet;

use super::super::frame::hash;
use super::super::record_file::{FileEntry, Locator, WalkItem};
use super::volume::{Volume, for_each_entry};
use crate::{Damages, DiskResult};

/// Upper bound on keys missing from the index that one walk remembers, since a later entry may remove them.
const PENDING: usize = if cfg!(test) { 8 } else { 2_000_000 };

/// Factor by which the keys are partitioned more finely when there are too many.
const FINER: u64 = 8;

/// A position in the files: the file, and the offset in it.
type Offset = (u32, u64);

impl Volume {
    /// Reads all files, notes damage, and counts the records that the index misses. Writes may go on.
    pub(crate) fn unfound(&self, damages: &Damages) -> DiskResult<u64> {
        // Entries behind this position may not be indexed yet.
        let until = self.found_until();
        let mut of = 1;
        loop {
            let parts = (0..of).map(|nth| self.unfound_in((nth, of), until, damages));
            if let Some(unfound) = parts.sum::<DiskResult<Option<u64>>>()? {
                return Ok(unfound);
            }
            of *= FINER;
        }
    }

    /// The count for one partition of the keys; `None` if it has too many keys to remember.
    fn unfound_in(&self, part: (u64, u64), until: Offset, damages: &Damages) -> DiskResult<Option<u64>> {
        let (nth, of) = part;
        let mut outdated = 0;
        // Keys missing from the index: a later entry must remove them.
        let mut pending: HashSet<u64> = HashSet::new();
        for_each_entry(&self.files, damages, |FileEntry { locator, key, value }| {
            let hash = hash(&key);
            if place(locator) >= until || hash % of != nth || pending.len() > PENDING {
                return Ok(());
            }
            match self.index.get(&key)? {
                None if value.is_some() => drop(pending.insert(hash)),
                found => {
                    pending.remove(&hash);
                    outdated += u64::from(found.is_some_and(|found| place(found) < place(locator)));
                }
            }
            Ok::<_, super::super::disk::DiskError>(())
        })?;
        if pending.len() > PENDING {
            return Ok(None);
        }
        if !pending.is_empty() {
            self.take_out_what_was_removed_since(until, &mut pending)?;
        }
        Ok(Some(outdated + pending.len() as u64))
    }

    fn take_out_what_was_removed_since(&self, until: Offset, pending: &mut HashSet<u64>) -> DiskResult<()> {
        for file in self.files.all().into_iter().filter(|file| file.number >= until.0) {
            for met in file.walk(if file.number == until.0 { until.1 } else { 0 }) {
                if let WalkItem::Entry(entry) = met? {
                    pending.remove(&hash(&entry.key));
                }
            }
        }
        Ok(())
    }
}

fn place(locator: Locator) -> Offset {
    (locator.file, locator.at)
}
