//! The write-ahead journal: a group of commits becomes durable here, before it is written anywhere else.
//!
//! A group is appended to one preallocated file and synced, then appended to the [record
//! files](super::record_file), which the system may write back at any time. A [checkpoint](super::checkpoint)
//! syncs those now and then, and recycles obsolete [segments](segment). A segment begins with the lengths of
//! the record files at that moment. When the store is opened, the changes behind these lengths are appended
//! again, in order. Replaying a change twice is harmless: it states the whole record.

mod replay;
mod segment;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(super) use self::replay::{JournalReplay, JournalSummary};
pub(super) use self::segment::Position;
use self::segment::{Segment, path_of};
use crate::{RecordChange, SyncFault, changes, disk};

/// Size of a full segment in bytes. A start after a crash reads about twice as much at most.
pub(super) const SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// The room that opening a store needs, in bytes: a segment of the journal, and its lists and indexes.
pub const START_BYTES: u64 = 2 * SEGMENT_BYTES;

const SPARES: usize = 2;

const SPARE: &str = "spare-";

#[derive(Debug)]
pub(super) struct Journal {
    directory: PathBuf,
    segment: Segment,
    fault: SyncFault,
    body: Vec<u8>,
}

/// A full segment, no longer written. It is needed until a checkpoint has synced its changes.
#[derive(Debug)]
pub(super) struct Closed(PathBuf);

impl Journal {
    pub(super) fn directory(store: &Path) -> PathBuf {
        store.join("journal")
    }

    /// Begins after the obsolete, [replayed](JournalReplay) segments; volumes are durable up to `positions`.
    pub(super) fn begin(replay: JournalReplay, fault: SyncFault, positions: &[Position]) -> io::Result<Self> {
        let JournalReplay { directory, next, .. } = replay;
        disk::make_directory(&directory)?;
        for file in segments(&directory)? {
            Closed(file).retire()?;
        }
        // An unclosed segment must not come back beside the next: its end would seem to be missing.
        disk::sync_directory(&directory)?;
        let segment = begun(&directory, next, positions)?;
        Ok(Self { directory, segment, fault, body: Vec::new() })
    }

    /// Writes a group. Once this returns, it survives a power cut.
    pub(super) fn append(&mut self, changes: &[RecordChange]) -> io::Result<()> {
        self.body.clear();
        self.body.push(segment::CHANGES);
        for RecordChange { volume, key, value } in changes {
            changes::push(&mut self.body, *volume, key, value.as_deref());
        }
        if !self.segment.is_at(&self.directory) {
            let gone = io::Error::other("it is gone, or another file has its name");
            return Err(self.named("written", &gone));
        }
        self.segment.append(&self.body).map_err(|error| self.named("written", &error))?;
        self.sync()
    }

    fn named(&self, done: &str, error: &io::Error) -> io::Error {
        let segment = path_of(&self.directory, self.segment.number);
        io::Error::new(error.kind(), format!("`{}` cannot be {done}: {error}", segment.display()))
    }

    pub(super) fn is_full(&self) -> bool {
        self.segment.end >= SEGMENT_BYTES
    }

    /// Begins the next segment, and returns the current one, all of whose groups are in the record files.
    pub(super) fn roll(&mut self, positions: &[Position]) -> io::Result<Closed> {
        // Its end is on the disk before the next segment exists, so that a crash leaves no unnoticed gap.
        self.segment.append(&[])?;
        self.sync()?;
        let full = Closed(path_of(&self.directory, self.segment.number));
        self.segment = begun(&self.directory, self.segment.number + 1, positions)?;
        Ok(full)
    }

    /// Whether the disk accepts and keeps writes: tries a probe file in the journal's directory.
    pub(super) fn probe(&self) -> io::Result<()> {
        disk::make_directory(&self.directory)?;
        let path = self.directory.join("probe");
        fs::write(&path, [0; 4096])?;
        self.fault.strike()?;
        File::open(&path)?.sync_all()?;
        fs::remove_file(&path)
    }

    /// Begins a new file in place of every segment. All that the record files received must be durable.
    pub(super) fn renew(&mut self, positions: &[Position]) -> io::Result<()> {
        for file in segments(&self.directory)? {
            fs::remove_file(file)?;
        }
        File::open(&self.directory)?.sync_all()?;
        self.segment = begun(&self.directory, self.segment.number + 1, positions)?;
        Ok(())
    }

    /// Removes every file, including spares. Call it when all changes are durable elsewhere and none follow.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        files(&self.directory)?.try_for_each(fs::remove_file)?;
        File::open(&self.directory)?.sync_all()
    }

    fn sync(&self) -> io::Result<()> {
        let synced = self.fault.strike().and_then(|()| self.segment.sync());
        synced.map_err(|error| self.named("synced", &error))
    }
}

impl Closed {
    /// Recycles or removes the file. Call it when its changes are durable elsewhere.
    pub(super) fn retire(self) -> io::Result<()> {
        let Self(path) = self;
        let directory = path.parent().unwrap_or(Path::new("."));
        let waiting = spares(directory)?.count();
        // A file that a large group made longer would stay so. A renewed journal has already removed it.
        let Some(file) = disk::if_there(fs::metadata(&path))? else { return Ok(()) };
        if waiting >= SPARES || file.len() > 2 * SEGMENT_BYTES {
            return fs::remove_file(path);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::rename(&path, directory.join(format!("{SPARE}{name}")))
    }
}

pub(super) fn is_gone(store: &Path) -> bool {
    segments(&Journal::directory(store)).is_ok_and(|segments| segments.is_empty())
}

pub(super) fn set_aside(store: &Path) -> Vec<String> {
    let name = |file: PathBuf| Some(file.file_name()?.to_string_lossy().into_owned());
    let mut names: Vec<String> =
        files(&replay::aside(store)).into_iter().flatten().filter_map(name).collect();
    names.sort();
    names
}

fn segments(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = files(directory)?.filter(|file| segment::number_of(file).is_some()).collect::<Vec<_>>();
    files.sort();
    Ok(files)
}

fn begun(directory: &Path, number: u64, positions: &[Position]) -> io::Result<Segment> {
    Segment::begin(directory, number, Some(&file(directory)?), positions)
}

/// A preallocated file for the next segment: syncing an overwrite takes half as long as syncing growth.
fn file(directory: &Path) -> io::Result<PathBuf> {
    if let Some(spare) = spares(directory)?.next() {
        return Ok(spare);
    }
    let blank = directory.join(format!("{SPARE}blank"));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&blank)?;
    let filled = io::copy(&mut io::repeat(0).take(SEGMENT_BYTES), &mut file);
    // A partial file would keep the last of the disk space.
    filled.inspect_err(|_| drop(fs::remove_file(&blank)))?;
    Ok(blank)
}

fn spares(directory: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    let is_spare =
        |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SPARE));
    Ok(files(directory)?.filter(is_spare))
}

fn files(directory: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    Ok(disk::entries(directory)?.into_iter().map(|entry| entry.path()))
}
