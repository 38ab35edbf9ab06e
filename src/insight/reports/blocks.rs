//! Writing cells to the store, and merging the blocks of a day or month.
//!
//! Each write adds a part to every day that it has cells of, and to their months. A small part is one record,
//! a larger one has a record for each kind. [`PARTS`] parts are merged into one.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;

use super::block;
use super::cells::{DayCells, Ids, ReportCells};
use super::dimension::CellDimensions;
use super::key::{CompanyPeriod, CountSpace, Granularity, TOGETHER, kind_bytes};
use super::measure::Measures;
use offerd_store::{Commit, CommitError, Store, Tree, codec};

const PARTS: usize = 8;

/// Up to this size in bytes, the blocks of all kinds share a record.
const FEW_BYTES: usize = 32 * 1024;

/// A result of the store.
pub type Result<T, E = CommitError> = std::result::Result<T, E>;

/// The blocks of one part, by kind.
pub type Blocks = Vec<(CellDimensions, Vec<u8>)>;

/// Encodes cells as parts: one for each day, and one for each month.
pub fn parts(cells: &ReportCells) -> BTreeMap<CompanyPeriod, Blocks> {
    let mut places: BTreeMap<CompanyPeriod, Vec<&DayCells>> = BTreeMap::new();
    for (at, of_day) in &cells.by {
        for grain in [Granularity::Day, Granularity::Month] {
            let place =
                CompanyPeriod { company: at.company, test: at.test, grain, period: grain.period(at.day) };
            places.entry(place).or_default().push(of_day);
        }
    }
    places.into_iter().map(|(place, days)| (place, blocks(&days))).collect()
}

fn blocks(days: &[&DayCells]) -> Blocks {
    let mut sums: BTreeMap<CellDimensions, BTreeMap<Ids, Measures>> = BTreeMap::new();
    for (kind, cells) in days.iter().copied().flatten() {
        let of_kind = sums.entry(*kind).or_default();
        cells.iter().for_each(|(ids, measures)| of_kind.entry(*ids).or_default().add(measures));
    }
    sums.into_iter().map(|(kind, cells)| (kind, written(cells))).collect()
}

fn written(cells: BTreeMap<Ids, Measures>) -> Vec<u8> {
    let cells: Vec<(Ids, Measures)> = cells.into_iter().filter(|(_, of)| !of.is_empty()).collect();
    block::write(&cells)
}

/// Adds a part of a day or month to the commit.
pub fn put(commit: Commit, space: CountSpace, place: CompanyPeriod, part: u32, blocks: &Blocks) -> Commit {
    let bytes: usize = blocks.iter().map(|(_, block)| block.len()).sum();
    if bytes <= FEW_BYTES {
        let key = place.block(space, TOGETHER, part);
        return commit.put(Tree::Reports, key, codec::encode(blocks));
    }
    blocks.iter().fold(commit, |commit, (kind, block)| {
        let key = place.block(space, kind_bytes(*kind), part);
        commit.put(Tree::Reports, key, block.clone())
    })
}

/// Merges the parts of a day or month into one numbered `part`, once there are enough of them.
pub fn merged(store: &Store, space: CountSpace, place: CompanyPeriod, part: u32) -> Result<Option<Commit>> {
    let keys_of = |kind| {
        let keys = store.scan(Tree::Reports, place.blocks(space, kind));
        keys.map(|record| record.map_err(unreadable)).collect::<Result<Vec<_>, _>>()
    };
    let together = keys_of(TOGETHER)?;
    // A part with a record for each kind has one for the whole.
    if together.len() + keys_of(kind_bytes(CellDimensions::WHOLE))?.len() < PARTS {
        return Ok(None);
    }
    let mut commit = Commit::new();
    // With the keys of their records, for reporting damage.
    let mut few: HashMap<CellDimensions, Vec<_>> = HashMap::new();
    for (key, bytes) in together {
        for (kind, block) in store.decode::<Blocks>(Tree::Reports, &key, &bytes).map_err(unreadable)? {
            few.entry(kind).or_default().push((key.clone(), block));
        }
        commit = commit.remove(Tree::Reports, key);
    }
    let mut merged = Blocks::new();
    for kind in CellDimensions::all(u8::try_from(super::SLOTS_MAX).unwrap_or(u8::MAX)) {
        let of_kind = keys_of(kind_bytes(kind))?;
        commit = of_kind.iter().fold(commit, |commit, (key, _)| commit.remove(Tree::Reports, key));
        let mut cells: BTreeMap<Ids, Measures> = BTreeMap::new();
        for (key, block) in few.remove(&kind).into_iter().flatten().chain(of_kind) {
            read(store, &key, &block, |ids, measures| cells.entry(ids).or_default().add(measures))?;
        }
        if !cells.is_empty() {
            merged.push((kind, written(cells)));
        }
    }
    Ok(Some(put(commit, space, place, part, &merged)))
}

/// Passes each cell of a block, from the record under `key`, to `tell`. The store notes any damage.
pub fn read(store: &Store, key: &[u8], block: &[u8], tell: impl FnMut(Ids, &Measures)) -> Result<()> {
    block::read(block, tell).map_err(|error| unreadable(store.undecoded(Tree::Reports, key, error)))
}

/// Unreadable counts are an error, never empty: otherwise records would be counted twice.
pub fn unreadable(reason: impl Display) -> CommitError {
    CommitError::Unread(format!("cannot read the report counts: {reason}"))
}
