//! How cells come into the store, and how blocks of one day or month become one.
//!
//! Each write adds a part to the days that it has cells of, and to their months. A part with few cells is one record with the blocks
//! of all kinds; a larger one has a record for each kind, so that a report reads only its own. When a day or month has
//! [`PARTS`] of them, they are merged.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;

use super::block;
use super::cells::{Cells, Ids, OfDay};
use super::dimension::Kind;
use super::key::{Grain, Place, Space, TOGETHER, kind_bytes};
use super::measure::Measures;
use offerd_store::{Commit, CommitError, Store, Tree, codec};

/// Parts of one day or month that are merged.
const PARTS: usize = 8;

/// Bytes up to which the blocks of all kinds are one record.
const FEW_BYTES: usize = 32 * 1024;

/// The blocks of one part, by kind.
pub type Blocks = Vec<(Kind, Vec<u8>)>;

/// The parts that cells become: of each day, and of each month.
pub fn parts(cells: &Cells) -> BTreeMap<Place, Blocks> {
    let mut places: BTreeMap<Place, Vec<&OfDay>> = BTreeMap::new();
    for (at, of_day) in &cells.by {
        for grain in [Grain::Day, Grain::Month] {
            let place = Place { company: at.company, test: at.test, grain, period: grain.period(at.day) };
            places.entry(place).or_default().push(of_day);
        }
    }
    places.into_iter().map(|(place, days)| (place, blocks(&days))).collect()
}

fn blocks(days: &[&OfDay]) -> Blocks {
    let mut sums: BTreeMap<Kind, BTreeMap<Ids, Measures>> = BTreeMap::new();
    for (kind, cells) in days.iter().copied().flatten() {
        let of_kind = sums.entry(*kind).or_default();
        cells.iter().for_each(|(ids, measures)| of_kind.entry(*ids).or_default().add(measures));
    }
    sums.into_iter().map(|(kind, cells)| (kind, written(cells))).collect()
}

fn written(cells: BTreeMap<Ids, Measures>) -> Vec<u8> {
    let cells: Vec<(Ids, Measures)> =
        cells.into_iter().filter(|(_, measures)| !measures.is_empty()).collect();
    block::write(&cells)
}

/// Adds a part of a place.
pub fn put(commit: Commit, space: Space, place: Place, part: u32, blocks: &Blocks) -> Commit {
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

/// Merges the parts of a place into one where there are so many; it gets the number `part`.
///
/// # Errors
/// That they cannot be read.
pub fn merged(store: &Store, space: Space, place: Place, part: u32) -> Result<Option<Commit>, CommitError> {
    let keys_of = |kind| {
        let keys = store.scan(Tree::Reports, place.blocks(space, kind));
        keys.map(|record| record.map_err(unreadable)).collect::<Result<Vec<_>, _>>()
    };
    let together = keys_of(TOGETHER)?;
    // A part that has records of its own has one of the whole.
    if together.len() + keys_of(kind_bytes(Kind::WHOLE))?.len() < PARTS {
        return Ok(None);
    }
    let mut commit = Commit::new();
    // Each with the key of its record.
    let mut few: HashMap<Kind, Vec<_>> = HashMap::new();
    for (key, bytes) in together {
        for (kind, block) in store.decode::<Blocks>(Tree::Reports, &key, &bytes).map_err(unreadable)? {
            few.entry(kind).or_default().push((key.clone(), block));
        }
        commit = commit.remove(Tree::Reports, key);
    }
    let mut merged = Blocks::new();
    for kind in Kind::all(u8::try_from(super::SLOTS_MAX).unwrap_or(u8::MAX)) {
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

/// Hands over each cell of a block, of the record under a key.
///
/// # Errors
/// That it is none, which the store has noted then.
pub fn read(
    store: &Store,
    key: &[u8],
    block: &[u8],
    tell: impl FnMut(Ids, &Measures),
) -> Result<(), CommitError> {
    block::read(block, tell).map_err(|error| unreadable(store.undecoded(Tree::Reports, key, error)))
}

/// What cannot be read is never taken for nothing, or what is counted would be counted again.
pub fn unreadable(reason: impl Display) -> CommitError {
    CommitError::Failed(format!("what is counted for reports cannot be read: {reason}"))
}
