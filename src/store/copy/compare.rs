//! Compares both sides by record count and digest sum of each tree; where these differ, record by record.

use sha2::{Digest, Sha256};

use super::error::CopyError;
use super::side::{CopySide, KeyedPayload, tree_of};
use crate::sealing::data_key;
use crate::{PhaseProgress, ProgressCallback, TREES, Tree};

/// Bytes read between two progress reports.
const TOLD: u64 = 1024 * 1024;

const LOOKED_UP: usize = 500;

/// The comparison of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreComparison {
    /// By tree, in the order of [`TREES`]; trees that are empty on both sides are left out.
    pub trees: Vec<TreeCounts>,
    /// Whether the sealed keys are equal.
    pub are_keys_equal: bool,
    /// The first record that differs, in the order of trees and keys.
    pub difference: Option<Difference>,
}

/// The records of a tree on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCounts {
    /// The tree.
    pub tree: Tree,
    /// Of the source.
    pub source: TreeDigest,
    /// Of the copy.
    pub target: TreeDigest,
}

/// The records of a tree on one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeDigest {
    /// Number of records.
    pub records: u64,
    /// Sum of their digests.
    pub digest: u128,
}

/// A record that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its tree.
    pub tree: Tree,
    /// Its key, in hexadecimal.
    pub key: String,
    /// The kind of difference.
    pub how: &'static str,
}

impl StoreComparison {
    /// Whether both sides are equal.
    pub fn is_equal(&self) -> bool {
        self.are_keys_equal && self.trees.iter().all(|counts| counts.source == counts.target)
    }
}

pub(super) fn compare(
    source: &impl CopySide,
    target: &impl CopySide,
    tell: ProgressCallback<'_>,
) -> Result<StoreComparison, CopyError> {
    let mut progress = PhaseProgress::begins("comparing", Some(2 * source.bytes()?));
    let ours = counted(source, &mut progress, tell)?;
    let theirs = counted(target, &mut progress, tell)?;
    let both = TREES.iter().zip(ours.into_iter().zip(theirs));
    let both = both.map(|(row, (source, target))| TreeCounts { tree: row.tree, source, target });
    let trees: Vec<TreeCounts> = both.collect();
    let differs = trees.iter().find(|counts| counts.source != counts.target).map(|counts| counts.tree);
    let difference = differs.map(|tree| first_difference(source, target, tree)).transpose()?.flatten();
    let is_there = |counts: &TreeCounts| counts.source.records + counts.target.records > 0;
    let trees = trees.into_iter().filter(is_there).collect();
    Ok(StoreComparison { trees, are_keys_equal: source.keys()? == target.keys()?, difference })
}

fn counted(
    side: &impl CopySide,
    progress: &mut PhaseProgress,
    tell: ProgressCallback<'_>,
) -> Result<[TreeDigest; TREES.len()], CopyError> {
    let (mut counts, mut told) = ([TreeDigest::default(); TREES.len()], progress.read);
    for part in side.parts() {
        for record in side.walk(part, Vec::new()) {
            let record = record?;
            let (tree, _) = tree_of(&record.0, &side.place())?;
            let counted = &mut counts[tree as usize];
            counted.records += 1;
            counted.digest = counted.digest.wrapping_add(digest(tree, &record));
            progress.read += record.1.len() as u64;
            if progress.read - told >= TOLD {
                told = progress.read;
                tell(*progress);
            }
        }
    }
    Ok(counts)
}

/// The part of a payload that must be equal; the volume of a lead may differ.
fn comparable(tree: Tree, payload: &[u8]) -> &[u8] {
    if tree == Tree::LeadKeys { data_key::without_volume(payload) } else { payload }
}

fn digest(tree: Tree, (tree_key, payload): &KeyedPayload) -> u128 {
    let mut hasher = Sha256::new();
    hasher.update((tree_key.len() as u64).to_be_bytes());
    hasher.update(tree_key);
    hasher.update(comparable(tree, payload));
    let digest: [u8; 32] = hasher.finalize().into();
    u128::from_be_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
}

fn first_difference(
    source: &impl CopySide,
    target: &impl CopySide,
    tree: Tree,
) -> Result<Option<Difference>, CopyError> {
    let missing = least_unlike(source, target, tree, "it is missing in the copy")?;
    let added = least_unlike(target, source, tree, "it is in the copy alone")?;
    let least = missing.into_iter().chain(added).min_by(|(one, _), (other, _)| one.cmp(other));
    Ok(least.map(|(tree_key, how)| Difference { tree, key: const_hex::encode(&tree_key[1..]), how }))
}

/// The first key of one side that is missing on the other or differs there, and how.
fn least_unlike(
    side: &impl CopySide,
    other: &impl CopySide,
    tree: Tree,
    missing: &'static str,
) -> Result<Option<(Vec<u8>, &'static str)>, CopyError> {
    let mut least: Option<(Vec<u8>, &'static str)> = None;
    let prefix = tree.row().prefix;
    for part in side.parts() {
        let mut records = side.walk(part, Vec::new()).filter(|record| match record {
            Ok((tree_key, _)) => tree_key.first() == Some(&prefix),
            Err(_) => true,
        });
        loop {
            let page = records.by_ref().take(LOOKED_UP).collect::<Result<Vec<KeyedPayload>, _>>()?;
            if page.is_empty() {
                break;
            }
            let keys: Vec<Vec<u8>> = page.iter().map(|(key, _)| key.clone()).collect();
            for ((key, payload), found) in page.into_iter().zip(other.payloads(&keys)?) {
                let how = match found {
                    None => missing,
                    Some(found) if comparable(tree, &found) != comparable(tree, &payload) => "it differs",
                    Some(_) => continue,
                };
                if least.as_ref().is_none_or(|(known, _)| key < *known) {
                    least = Some((key, how));
                }
            }
        }
    }
    Ok(least)
}
