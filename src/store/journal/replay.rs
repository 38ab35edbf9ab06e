//! Replay: reads the remaining segments of the journal when a store is opened.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::segment::{self, Contents, Position};
use super::{SPARE, files, segments};
use crate::{DiskResult, RecordChange, disk};
use offerd_base::telemetry::metrics::STORE_BROKEN_RECORDS;

const SET_ASIDE: &str = "damaged";

#[derive(Debug)]
pub(crate) struct JournalSummary {
    /// The positions of the volumes before the first group; `None` if unknown.
    pub(crate) positions: Option<Vec<Position>>,
    /// Whether everything written since then is intact.
    pub(crate) is_whole: bool,
    pub(crate) is_there: bool,
}

#[derive(Debug)]
pub(crate) struct JournalReplay {
    pub(super) directory: PathBuf,
    /// The number for the next segment, above that of every segment and spare.
    pub(super) next: u64,
    left: Vec<PathBuf>,
}

impl JournalReplay {
    pub(crate) fn of(directory: PathBuf) -> io::Result<Self> {
        let left = last_run(segments(&directory)?);
        // Includes spare files: reusing one under its old number would revive the groups of its earlier use.
        let number = |file: PathBuf| {
            let name = file.file_name()?.to_str()?;
            segment::number_in(name.strip_prefix(SPARE).unwrap_or(name))
        };
        let last = files(&directory)?.filter_map(number).max();
        Ok(Self { directory, next: last.map_or(1, |last| last + 1), left })
    }

    pub(crate) fn look(&self) -> io::Result<JournalSummary> {
        let mut looked = JournalSummary { positions: None, is_whole: !self.left.is_empty(), is_there: false };
        for (nth, file) in self.left.iter().enumerate() {
            let contents = self.contents(file)?;
            looked.is_whole &= contents.damaged_at.is_empty();
            looked.is_there |= contents.positions.is_some() || !contents.damaged_at.is_empty();
            if nth == 0 {
                looked.is_whole &= contents.positions.is_some();
                looked.positions = contents.positions;
            }
        }
        Ok(looked)
    }

    /// The contents of one segment. A missing end, though other segments follow, is damage too.
    fn contents(&self, file: &Path) -> io::Result<Contents> {
        let Some(number) = segment::number_of(file) else { return Ok(Contents::default()) };
        let (bytes, unread) = disk::read_file_sparing(file)?;
        let mut contents = Contents::of(number, &bytes);
        // Unreadable bytes may be groups.
        contents.damaged_at.extend(unread.iter().map(|page| page.at));
        let is_last = number + 1 == self.next;
        if !contents.closed && !is_last {
            contents.damaged_at.push(bytes.len() as u64);
        }
        Ok(contents)
    }

    /// Passes each group to `take`, in order, and counts them; `damaged` gets each damaged file first.
    pub(crate) fn read(
        &self,
        mut damaged: impl FnMut(&Path, u64),
        mut take: impl FnMut(Vec<RecordChange>) -> DiskResult<()>,
    ) -> DiskResult<usize> {
        let mut groups = 0;
        for file in &self.left {
            let contents = self.contents(file)?;
            if let Some(at) = contents.damaged_at.first() {
                damaged(file, *at);
            }
            groups += contents.groups.len();
            contents.groups.into_iter().try_for_each(&mut take)?;
        }
        Ok(groups)
    }

    /// Logs a damaged file and keeps a copy, if the disk has room.
    pub(crate) fn set_aside(&self, file: &Path, at: u64) {
        let directory = aside(self.directory.parent().unwrap_or(Path::new(".")));
        let copy = directory.join(file.file_name().unwrap_or_default());
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        if let Err(error) = made.and_then(|()| fs::copy(file, &copy)) {
            tracing::warn!(segment = %file.display(), %error, "cannot set aside a damaged journal segment");
        }
        metrics::counter!(STORE_BROKEN_RECORDS, "tree" => "journal").increment(1);
        tracing::error!(
            segment = %file.display(),
            at,
            copy = %copy.display(),
            "a journal segment is damaged; its intact records were recovered, and a copy of it was set aside"
        );
    }
}

/// The contiguous segments up to the last. Those before a gap are obsolete.
fn last_run(mut segments: Vec<PathBuf>) -> Vec<PathBuf> {
    let numbers: Vec<u64> = segments.iter().filter_map(|file| segment::number_of(file)).collect();
    let gap = numbers.windows(2).rposition(|pair| pair[0] + 1 != pair[1]);
    segments.drain(..gap.map_or(0, |gap| gap + 1));
    segments
}

pub(super) fn aside(store: &Path) -> PathBuf {
    store.join(SET_ASIDE)
}
