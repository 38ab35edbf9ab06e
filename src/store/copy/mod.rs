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

pub use self::compare::{Difference, StoreComparison, TreeCounts, TreeDigest};
pub use self::error::CopyError;
use self::files::FilesSide;
use self::marker::Marker;
pub(super) use self::marker::{refuse_claimed, refuse_unfinished, refuse_unfinished_in};
use self::side::CopySide;
use self::tables::DatabaseSide;
use super::options::StoreOptions;
use super::progress::{PhaseProgress, ProgressCallback};
use super::sealing::MasterKey;
use offerd_base::config::PostgresSettings;

const AT_ONCE: CopyBatch = CopyBatch { bytes: 1024 * 1024, records: 2000 };

#[derive(Debug, Clone, Copy)]
struct CopyBatch {
    bytes: usize,
    records: usize,
}

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
    copy_in(options, database, direction, AT_ONCE, tell)
}

fn copy_in(
    options: &StoreOptions,
    database: &PostgresSettings,
    direction: Direction,
    at_once: CopyBatch,
    tell: ProgressCallback<'_>,
) -> Result<Copied, CopyError> {
    let master =
        MasterKey::find(options.master_key_file.as_deref(), &options.path)?.ok_or(CopyError::NoMasterKey)?;
    let options = StoreOptions { database: None, ..options.clone() };
    let tables = DatabaseSide::of(database)?;
    match direction {
        Direction::IntoDatabase => {
            let mut files = FilesSide::source(&options, master.clone())?;
            StartedCopy::on(&mut files, tables, &master)?.run(&mut files, at_once, tell)
        }
        Direction::IntoFiles => {
            let mut tables = tables;
            let target = FilesSide::target(&options, master.clone());
            StartedCopy::on(&mut tables, target, &master)?.run(&mut tables, at_once, tell)
        }
    }
}

/// A copy whose sides have been checked.
struct StartedCopy<T> {
    target: T,
    marker: Marker,
    is_resumed: bool,
}

impl<T: CopySide> StartedCopy<T> {
    /// Checks that both sides are free, and that the target is empty or has a part of the same source.
    fn on(source: &mut impl CopySide, mut target: T, master: &MasterKey) -> Result<Self, CopyError> {
        let keys = source.begin(master)?;
        if marker::of(source)?.is_some() {
            return Err(CopyError::SourceUnfinished(source.place()));
        }
        let begins = Marker::begins(source, &keys, master)?;
        let unfinished = target.look(&keys, master)?;
        let marker = match &unfinished {
            Some(found) if found.is_of(&begins) => found.clone(),
            Some(found) if found.source == begins.source => {
                return Err(CopyError::Changed(target.place()));
            }
            Some(_) => return Err(CopyError::OtherSource(target.place())),
            None => begins,
        };
        target.prepare(&keys, &marker, source)?;
        Ok(Self { target, marker, is_resumed: unfinished.is_some() })
    }

    fn run(
        mut self,
        source: &mut impl CopySide,
        at_once: CopyBatch,
        tell: ProgressCallback<'_>,
    ) -> Result<Copied, CopyError> {
        let written = self.transfer(source, at_once, tell)?;
        let compared = compare::compare(source, &self.target, tell)?;
        source.end()?;
        if compared.is_equal() {
            self.target.write(Vec::new(), None)?;
        }
        self.target.finish()?;
        Ok(Copied { is_resumed: self.is_resumed, written, compared })
    }

    fn transfer(
        &mut self,
        source: &impl CopySide,
        at_once: CopyBatch,
        tell: ProgressCallback<'_>,
    ) -> Result<u64, CopyError> {
        let (mut progress, mut written) = (PhaseProgress::begins("copying", Some(source.bytes()?)), 0);
        // Marks the target before its first record, so that nobody opens an incomplete copy.
        self.target.write(Vec::new(), Some(&self.marker))?;
        for part in source.parts() {
            if part < self.marker.part {
                continue;
            }
            let after = if part == self.marker.part { self.marker.key.clone() } else { Vec::new() };
            let (mut batch, mut bytes) = (BTreeMap::new(), 0);
            for record in source.walk(part, after) {
                let (key, payload) = record?;
                progress.read += payload.len() as u64;
                bytes += payload.len();
                (self.marker.part, self.marker.key) = (part, key.clone());
                batch.insert(key, payload);
                if bytes >= at_once.bytes || batch.len() >= at_once.records {
                    written += batch.len() as u64;
                    let full = std::mem::take(&mut batch).into_iter().collect();
                    self.target.write(full, Some(&self.marker))?;
                    bytes = 0;
                    tell(progress);
                }
            }
            written += batch.len() as u64;
            self.target.write(batch.into_iter().collect(), Some(&self.marker))?;
        }
        Ok(written)
    }
}
