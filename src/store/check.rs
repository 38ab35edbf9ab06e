//! Walking the whole store, for `offerd store check` and the console.

use std::ops::Bound;

use super::{
    broken::{BrokenRecord, ReadError},
    frame::{Frame, part_owner},
    journal,
    records::{RawValues, Records, Within, read_record},
    trees::{TREES, Tree},
};

/// What a walk over every record found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// Sound records, by tree, in the order of [`TREES`]. For `parts` the pieces of large values.
    pub counts: Vec<(Tree, u64)>,
    /// Records that cannot be read.
    pub broken: Vec<BrokenRecord>,
    /// Pieces that no large value owns. They take space and do no harm.
    pub stray_parts: u64,
    /// Keys whose first byte is no tree's.
    pub unknown_keys: u64,
    /// Damaged files of the journal that were set aside at a start, by their names in the directory `damaged` of the
    /// store. Who has looked at one removes it.
    pub set_aside: Vec<String>,
}

impl CheckReport {
    /// Tells whether everything is as it was written.
    pub fn is_sound(&self) -> bool {
        self.broken.is_empty() && self.stray_parts == 0 && self.unknown_keys == 0 && self.set_aside.is_empty()
    }

    /// How many sound records a tree holds.
    pub fn count(&self, tree: Tree) -> u64 {
        self.counts[tree as usize].1
    }
}

/// Reads every record there is. Fails only when sled cannot go on.
pub(super) fn check(records: &Records) -> Result<CheckReport, ReadError> {
    let mut report = CheckReport {
        counts: TREES.iter().map(|row| (row.tree, 0)).collect(),
        broken: Vec::new(),
        stray_parts: 0,
        unknown_keys: 0,
        set_aside: journal::set_aside(records.volumes().store()),
    };
    for number in records.volumes().numbers() {
        let within = Within { volumes: records.volumes(), number };
        for entry in records.walk(number, &Bound::Unbounded)? {
            let (sled_key, _) = entry?;
            let of_tree = sled_key.split_first().and_then(|(p, key)| Some((Tree::of_prefix(*p)?, key)));
            let Some((tree, key)) = of_tree else {
                report.unknown_keys += 1;
                continue;
            };
            if tree == Tree::Parts && records.still(|| is_stray(&within, key))? {
                report.stray_parts += 1;
                continue;
            }
            match records.still(|| read_record(&within, records.sealing(), tree, key))? {
                Ok(Some(_)) => report.counts[tree as usize].1 += 1,
                // Removed since the walk met it.
                Ok(None) => {}
                Err(record) => {
                    records.report(&record);
                    report.broken.push(record);
                }
            }
        }
    }
    Ok(report)
}

/// Tells whether the piece is there and its record does not count it. A broken record's pieces are not stray.
fn is_stray(records: &impl RawValues, part: &[u8]) -> Result<bool, ReadError> {
    if records.raw(&Tree::Parts.sled_key(part))?.is_none() {
        return Ok(false);
    }
    let Some((tree, key, number)) = part_owner(part) else { return Ok(true) };
    let Some(owner) = records.raw(&tree.sled_key(key))? else { return Ok(true) };
    Ok(match Frame::open(&owner) {
        Ok(Frame::Split(head)) => number >= head.parts,
        Ok(Frame::Whole(_)) => true,
        Err(_) => false,
    })
}
