//! Replaying: what the journal still holds when a store is opened.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use super::super::{changes::Change, disk::DiskResult};
use super::segment::{self, Contents, Position, Version};
use super::{SPARE, files, segments};
use crate::telemetry::metrics::STORE_BROKEN_RECORDS;

/// Where damaged segments are set aside, in the store's directory.
const SET_ASIDE: &str = "damaged";

/// The segments that a crash has left.
#[derive(Debug)]
pub(in crate::store) struct Replay {
    pub(super) directory: PathBuf,
    /// The number of the first segment after them.
    pub(super) next: u64,
    left: Vec<PathBuf>,
}

impl Replay {
    /// Looks for them.
    pub(in crate::store) fn of(directory: PathBuf) -> io::Result<Self> {
        let left = last_run(segments(&directory)?);
        // Of a file that is used again too: under its old number, what an earlier use has left would be taken for groups.
        let number = |file: PathBuf| {
            let name = file.file_name()?.to_str()?;
            segment::number_in(name.strip_prefix(SPARE).unwrap_or(name))
        };
        let last = files(&directory)?.filter_map(number).max();
        Ok(Self { directory, next: last.map_or(1, |last| last + 1), left })
    }

    /// Up to where the volumes were written before the first group; nothing where that is not known.
    pub(in crate::store) fn positions(&self) -> io::Result<Vec<Position>> {
        let Some(first) = self.left.first() else { return Ok(Vec::new()) };
        let Some(number) = segment::number_of(first) else { return Ok(Vec::new()) };
        let contents = Contents::of(Version::Two, number, &fs::read(first)?);
        Ok(contents.positions.unwrap_or_default())
    }

    /// Hands over each group that they hold, in its order, and tells how many there are. What is damaged is told, and set
    /// aside for whoever wants to look at it.
    pub(in crate::store) fn apply(
        &self,
        version: Version,
        mut take: impl FnMut(Vec<Change>) -> DiskResult<()>,
    ) -> DiskResult<usize> {
        let mut groups = 0;
        for file in &self.left {
            let Some(number) = segment::number_of(file) else { continue };
            let mut contents = Contents::of(version, number, &fs::read(file)?);
            let is_last = number + 1 == self.next;
            if !contents.closed && !is_last {
                contents.damaged_at.push(fs::metadata(file)?.len());
            }
            if let Some(at) = contents.damaged_at.first() {
                self.set_aside(file, *at)?;
            }
            groups += contents.groups.len();
            contents.groups.into_iter().try_for_each(&mut take)?;
        }
        Ok(groups)
    }

    fn set_aside(&self, file: &Path, at: u64) -> io::Result<()> {
        let directory = aside(self.directory.parent().unwrap_or(Path::new(".")));
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let copy = directory.join(file.file_name().unwrap_or_default());
        fs::copy(file, &copy)?;
        metrics::counter!(STORE_BROKEN_RECORDS, "tree" => "journal").increment(1);
        tracing::error!(
            segment = %file.display(),
            at,
            copy = %copy.display(),
            "a segment of the store's journal is damaged; what is whole of it was taken in, and a copy of it was set aside"
        );
        Ok(())
    }
}

/// The segments that follow each other up to the last. One before a gap was needed no more: a power cut has undone that it was
/// renamed.
fn last_run(mut segments: Vec<PathBuf>) -> Vec<PathBuf> {
    let numbers: Vec<u64> = segments.iter().filter_map(|file| segment::number_of(file)).collect();
    let gap = numbers.windows(2).rposition(|pair| pair[0] + 1 != pair[1]);
    segments.drain(..gap.map_or(0, |gap| gap + 1));
    segments
}

/// Where the damaged segments of a store are.
pub(super) fn aside(store: &Path) -> PathBuf {
    store.join(SET_ASIDE)
}
