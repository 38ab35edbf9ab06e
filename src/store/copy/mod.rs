//! Copies a whole store from files into a database, or back, while no daemon runs on either.
//!
//! 1. Both sides must be free: the files are locked, and no node is alive in the database. The target is
//!    empty, or has an unfinished copy of the same store.
//! 2. The sealed keys are copied as stored, so both sides open with the same master key.
//! 3. Records are copied as stored, in batches. Each batch is one transaction, or one entry of the journal,
//!    and includes a marker with the progress, from which an interrupted copy continues. A store with a
//!    marker is not opened.
//! 4. Both sides are read and compared, tree by tree (`compare`). The marker goes only if they are equal.
//!
//! # Differences between the sides
//! - A database has no volumes. On the way into files, volumes are planned from the times in keys, as large
//!   and old as the settings allow, and the record of each lead's data key gets the volume of the time in the
//!   lead's uuid (`spans`). So a lead is dropped with its volume, as if it had always been in files. On the
//!   way into a database, the volume number is copied and has no meaning there.

mod compare;
mod error;
mod files;
mod marker;
mod side;
mod spans;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::mem;

pub use self::compare::{Difference, StoreComparison, TreeCounts, TreeDigest};
pub use self::error::CopyError;
use self::files::FilesSide;
use self::marker::Marker;
pub(super) use self::marker::{refuse_claimed, refuse_unfinished, refuse_unfinished_in};
use self::side::CopySide;
use self::tables::DatabaseSide;
use crate::{MasterKey, PhaseProgress, ProgressCallback, StoreOptions};
use offerd_base::config::PostgresSettings;

/// The size of a batch, in bytes and in records.
const BATCH_BYTES: usize = 1024 * 1024;
const BATCH_RECORDS: usize = if cfg!(test) { 3 } else { 2000 };

/// The direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From files of this machine into a database.
    IntoDatabase,
    /// From a database into files.
    IntoFiles,
}

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Whether it continued an interrupted copy.
    pub is_resumed: bool,
    /// Records written by this run.
    pub written: u64,
    /// The comparison of both sides.
    pub compared: StoreComparison,
}

/// Copies the store between the directory of the options and a database. Once this returns `Ok` with an equal
/// [comparison](StoreComparison::is_equal), all records are durable on the other side; the source is
/// unchanged. Blocks. A retry after an error continues where it stopped.
pub fn copy(
    options: &StoreOptions,
    database: &PostgresSettings,
    direction: Direction,
    tell: ProgressCallback<'_>,
) -> Result<Copied, CopyError> {
    let master =
        MasterKey::find(options.master_key_file.as_deref(), &options.path)?.ok_or(CopyError::NoMasterKey)?;
    let options = StoreOptions { database: None, ..options.clone() };
    let mut tables = DatabaseSide::of(database)?;
    match direction {
        Direction::IntoDatabase => {
            copy_between(&mut FilesSide::source(&options, master.clone())?, tables, &master, tell)
        }
        Direction::IntoFiles => {
            let target = FilesSide::target(&options, master.clone());
            copy_between(&mut tables, target, &master, tell)
        }
    }
}

/// Begins a copy once both sides are found free, and the target empty or with a part of the same source. Returns
/// where it continues, and whether an earlier one got there.
fn begin<S: CopySide, T: CopySide>(
    source: &mut S,
    target: &mut T,
    master: &MasterKey,
) -> Result<(Marker, bool), CopyError> {
    let keys = source.begin(master)?;
    if marker::of(source)?.is_some() {
        return Err(CopyError::SourceUnfinished(source.place()));
    }
    let begins = Marker::begins(source, &keys, master)?;
    let unfinished = target.look(&keys, master)?;
    let is_resumed = unfinished.is_some();
    let marker = match unfinished {
        Some(found) if found.is_of(&begins) => found,
        Some(found) if found.source == begins.source => return Err(CopyError::Changed(target.place())),
        Some(_) => return Err(CopyError::OtherSource(target.place())),
        None => begins,
    };
    target.prepare(&keys, &marker, source)?;
    Ok((marker, is_resumed))
}

fn copy_between<T: CopySide>(
    source: &mut impl CopySide,
    mut target: T,
    master: &MasterKey,
    tell: ProgressCallback<'_>,
) -> Result<Copied, CopyError> {
    let (mut marker, is_resumed) = begin(source, &mut target, master)?;
    let (mut progress, mut written) = (PhaseProgress::begins("copying", Some(source.bytes()?)), 0);
    // Marks the target before its first record, so that nobody opens an incomplete copy.
    target.write(Vec::new(), Some(&marker))?;
    for part in source.parts().into_iter().filter(|part| *part >= marker.part).collect::<Vec<_>>() {
        let after = if part == marker.part { marker.key.clone() } else { Vec::new() };
        let (mut batch, mut bytes) = (BTreeMap::new(), 0);
        for record in source.walk(part, after) {
            let (key, payload) = record?;
            progress.read += payload.len() as u64;
            bytes += payload.len();
            (marker.part, marker.key) = (part, key.clone());
            batch.insert(key, payload);
            if bytes >= BATCH_BYTES || batch.len() >= BATCH_RECORDS {
                written += batch.len() as u64;
                target.write(mem::take(&mut batch).into_iter().collect(), Some(&marker))?;
                bytes = 0;
                tell(progress);
            }
        }
        written += batch.len() as u64;
        target.write(batch.into_iter().collect(), Some(&marker))?;
    }
    let compared = compare::compare(source, &target, tell)?;
    source.end()?;
    if compared.is_equal() {
        target.write(Vec::new(), None)?;
    }
    target.finish()?;
    Ok(Copied { is_resumed, written, compared })
}
