//! Checks the whole store: first the files, byte for byte, then the records in them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::engine::StoreBackend;
use super::frame::BrokenReason;
use super::records::StoredRecords;
use super::sealing::{LastKey, data_key};
use crate::{
    BrokenRecord, DamageKind, FileDamage, ReadError, ReadResult, TREES, Tree, VolumeNumber, journal,
};

/// Result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Sound records, by tree, in the order of [`TREES`].
    pub counts: Vec<(Tree, u64)>,
    /// Records that cannot be read.
    pub broken: Vec<BrokenRecord>,
    /// Keys whose first byte is no tree's.
    pub unknown_keys: u64,
    /// Leads with a sound record.
    pub leads_sound: u64,
    /// Leads that were accepted, and neither erased nor dropped, whose record is unreadable or missing.
    pub leads_broken: u64,
    /// The damage of the files.
    pub damages: Vec<FileDamage>,
    /// Volumes, 0 for the base, whose index misses records of their files, with the number of missed records.
    /// Such an index is rebuilt when the store is opened again.
    pub unfound: Vec<(u32, u64)>,
    /// Damaged journal files, by their names in the store's directory `damaged`. The operator removes them.
    pub set_aside: Vec<String>,
}

impl CheckReport {
    pub(super) fn empty() -> Self {
        Self { counts: TREES.iter().map(|row| (row.tree, 0)).collect(), ..Self::default() }
    }

    /// Whether the store is undamaged.
    pub fn is_sound(&self) -> bool {
        let is_whole = |damage: &FileDamage| {
            !damage.costs_records() && !matches!(damage.what, DamageKind::Unwritable(_))
        };
        self.broken.is_empty()
            && self.leads_broken == 0
            && self.unknown_keys == 0
            && self.unfound.is_empty()
            && self.set_aside.is_empty()
            && self.damages.iter().all(is_whole)
    }

    /// The number of sound records in a tree.
    pub fn count(&self, tree: Tree) -> u64 {
        self.counts[tree as usize].1
    }
}

/// Reads every file and every record. Fails only when an index cannot continue.
pub(super) fn check(records: &StoredRecords) -> ReadResult<CheckReport> {
    let mut report =
        CheckReport { set_aside: journal::set_aside(records.volumes().store()), ..CheckReport::empty() };
    let volumes = records.volumes();
    if journal::is_gone(volumes.store()) {
        volumes.damages.note_of(None, "journal", DamageKind::Missing);
    }
    records.rewrite_lost_files();
    let mut cut_off = BTreeMap::new();
    for number in volumes.numbers() {
        check_files(records, number, &mut report)?;
        check_records(records, number, &mut report, &mut cut_off)?;
    }
    check_leads(records, &mut report)?;
    let damages = records.volumes().damages.all().into_iter();
    report.damages = damages.map(|damage| with_records(damage, &cut_off)).collect();
    records.volumes().damages.save();
    if let Some((number, count)) = report.unfound.first() {
        let why = format!("the index of volume {number} misses {count} records of its files");
        records.latch().fail_for_good(&why);
    }
    Ok(report)
}

/// Compares files and index of a volume. Damaged files do not show the right content of the index.
fn check_files(records: &StoredRecords, number: u32, report: &mut CheckReport) -> ReadResult<()> {
    let Some(volume) = records.volumes().usable(number) else { return Ok(()) };
    records.note_gone(number);
    let damages = &records.volumes().damages;
    let unfound = volume.unfound(damages)?;
    if unfound > 0 && !damages.cost_records_of(number) {
        volume.distrust();
        report.unfound.push((number, unfound));
    }
    Ok(())
}

/// Adds the number of records behind the end of a file that was cut short.
fn with_records(mut damage: FileDamage, cut_off: &BTreeMap<String, u64>) -> FileDamage {
    if let DamageKind::CutShort { records, .. } = &mut damage.what {
        *records = cut_off.get(&damage.file).copied().unwrap_or(0);
    }
    damage
}

/// Reads the records of a volume; counts in `cut_off` those that lay behind the end of a file.
fn check_records(
    records: &StoredRecords,
    number: u32,
    report: &mut CheckReport,
    cut_off: &mut BTreeMap<String, u64>,
) -> ReadResult<()> {
    let Some(volume) = records.volumes().usable(number) else { return Ok(()) };
    let within = records.volumes().with_base(number);
    for entry in records.walk_volume(number, &Bound::Unbounded)? {
        let (tree_key, _) = entry?;
        let Some((tree, key)) = Tree::split(&tree_key) else {
            report.unknown_keys += 1;
            continue;
        };
        match records.still(|| records.sealing().read(&within, tree, key))? {
            Ok(Some(_)) => report.counts[tree as usize].1 += 1,
            // Removed since the walk read it.
            Ok(None) => {}
            Err(mut record) => {
                records.report(&record);
                if let Some(file) = volume.cut_before(&tree_key) {
                    *cut_off.entry(file).or_default() += 1;
                    record.reason = BrokenReason::CutOff;
                }
                report.broken.push(record);
            }
        }
    }
    Ok(())
}

pub(super) fn check_records_of(engine: &dyn StoreBackend) -> ReadResult<CheckReport> {
    let mut report = CheckReport::empty();
    for row in &TREES {
        let mut last = LastKey::default();
        for entry in engine.walk(row.tree, &[], &[]) {
            let (tree_key, raw) = entry?;
            match engine.payload(row.tree, &tree_key[1..], &raw, &mut last) {
                Ok(Some(_)) => report.counts[row.tree as usize].1 += 1,
                // Its lead is erased.
                Ok(None) => {}
                Err(ReadError::Broken(record)) => report.broken.push(record),
                Err(error) => return Err(error),
            }
        }
    }
    report.leads_sound = report.count(Tree::Leads);
    report.leads_broken = report.broken.iter().filter(|record| record.tree == Tree::Leads).count() as u64;
    Ok(report)
}

/// Checks each lead with a data key: only that reveals records missing from a damaged volume.
fn check_leads(records: &StoredRecords, report: &mut CheckReport) -> ReadResult<()> {
    let is_damaged = |volume| records.volumes().damages.cost_records_of(volume);
    let numbers: BTreeSet<VolumeNumber> = records.volumes().numbers().into_iter().collect();
    for found in records.data_keys(&[], &[]) {
        let Some((lead, kept)) = found? else {
            report.leads_broken += 1;
            continue;
        };
        if data_key::is_destroyed(&kept) {
            continue;
        }
        let volume = data_key::volume_of(&kept);
        match records.get(Tree::Leads, lead.as_bytes()) {
            Ok(Some(_)) => report.leads_sound += 1,
            // A lead without a record of its own may have a data key. Keys of a dropped volume are destroyed.
            Ok(None) if !is_damaged(volume) && numbers.contains(&volume) => {}
            // The volume of an unreadable record cannot be used.
            Ok(None) | Err(ReadError::Broken(_) | ReadError::Disk(_)) => report.leads_broken += 1,
        }
    }
    Ok(())
}
