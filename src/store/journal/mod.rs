//! The journal: where a group of commits becomes durable, before it is anywhere else.
//!
//! To make a group durable where its records belong takes a sync of each file. So a group is first appended to one file, as long
//! as it will ever be, and synced, which is one write and one `fdatasync`. Then it is appended to the [record
//! files](super::record_file), which the system may write when it likes. A [checkpoint](super::checkpoint) syncs them now and
//! then, and the [segments](segment) that it makes needless are used again. Each says first up to where the record files were
//! written when it began: what a crash has kept from them behind that is in the segments that are left, and is
//! appended anew, in its order, when the store is opened. That changes nothing that was there already, since changes
//! say what a record is then, not what becomes of it.
//!
//! It is also what makes a group atomic where its records lie in several places.

mod replay;
mod segment;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(super) use self::replay::{Looked, Replay};
pub(super) use self::segment::Position;
use self::segment::{Segment, path_of};
use super::changes::{self, Change};
use super::disk::{self, SyncFault};

/// How long a segment becomes, in bytes, before the next begins. A start after a crash reads about twice as much at most.
pub(super) const SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// How many files wait to be used again.
const SPARES: usize = 2;

/// The name of a file that waits to be used again begins with this.
const SPARE: &str = "spare-";

/// The journal of an open store.
#[derive(Debug)]
pub(super) struct Journal {
    directory: PathBuf,
    segment: Segment,
    fault: SyncFault,
    /// What goes into the next group; kept for its memory.
    body: Vec<u8>,
}

/// A segment that is written no more. It is needed until a checkpoint has synced what is in it.
#[derive(Debug)]
pub(super) struct Closed(PathBuf);

impl Journal {
    /// Where the journal of a store lies.
    pub(super) fn directory(store: &Path) -> PathBuf {
        store.join("journal")
    }

    /// Begins a journal after the segments that were [replayed](Replay), which are needed no more: the volumes are durable up to
    /// these positions.
    pub(super) fn begin(replay: Replay, fault: SyncFault, positions: &[Position]) -> io::Result<Self> {
        let Replay { directory, next, .. } = replay;
        disk::make_directory(&directory)?;
        for file in segments(&directory)? {
            Closed(file).retire()?;
        }
        // One that was never closed must not come back beside the next, or its end would seem to be missing.
        disk::sync_directory(&directory)?;
        let segment = begun(&directory, next, positions)?;
        Ok(Self { directory, segment, fault, body: Vec::new() })
    }

    /// Writes a group. Once this returns, it survives a power cut.
    pub(super) fn append(&mut self, changes: &[Change]) -> io::Result<()> {
        self.body.clear();
        self.body.push(segment::CHANGES);
        for Change { volume, key, value } in changes {
            changes::push(&mut self.body, *volume, key, value.as_deref());
        }
        if !self.segment.is_at(&self.directory) {
            let gone = io::Error::other("it is gone, or another file has its name");
            return Err(self.named("written", &gone));
        }
        self.segment.append(&self.body).map_err(|error| self.named("written", &error))?;
        self.sync()
    }

    /// An error that says of which file it is.
    fn named(&self, done: &str, error: &io::Error) -> io::Error {
        let segment = path_of(&self.directory, self.segment.number);
        io::Error::new(error.kind(), format!("`{}` cannot be {done}: {error}", segment.display()))
    }

    /// Whether the next segment is to be begun.
    pub(super) fn is_full(&self) -> bool {
        self.segment.end >= SEGMENT_BYTES
    }

    /// Begins the next segment, and gives this one. To be called when every group was appended to the record files, which are
    /// written up to these positions then.
    pub(super) fn roll(&mut self, positions: &[Position]) -> io::Result<Closed> {
        // Its end is on the disk before there is a next one, so that what is missing behind a crash is noticed.
        self.segment.append(&[])?;
        self.sync()?;
        let full = Closed(path_of(&self.directory, self.segment.number));
        self.segment = begun(&self.directory, self.segment.number + 1, positions)?;
        Ok(full)
    }

    /// Whether the disk takes writes and keeps them: tries it on a file of its own, in the directory, which is made again where it is gone.
    pub(super) fn probe(&self) -> io::Result<()> {
        disk::make_directory(&self.directory)?;
        let path = self.directory.join("probe");
        fs::write(&path, [0; 4096])?;
        self.fault.tell()?;
        File::open(&path)?.sync_all()?;
        fs::remove_file(&path)
    }

    /// Removes every segment, to begin with another file. To be called when all that the record files were given is durable, up to
    /// these positions: of what they were not given, nothing may come back.
    pub(super) fn renew(&mut self, positions: &[Position]) -> io::Result<()> {
        for file in segments(&self.directory)? {
            fs::remove_file(file)?;
        }
        File::open(&self.directory)?.sync_all()?;
        self.segment = begun(&self.directory, self.segment.number + 1, positions)?;
        Ok(())
    }

    /// Removes every file, spares too. To be called when all of it is durable elsewhere, and nothing follows.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        files(&self.directory)?.try_for_each(fs::remove_file)?;
        File::open(&self.directory)?.sync_all()
    }

    fn sync(&self) -> io::Result<()> {
        let synced = self.fault.tell().and_then(|()| self.segment.sync());
        synced.map_err(|error| self.named("synced", &error))
    }
}

impl Closed {
    /// Lets the file be used again, or go. To be called when what is in it is durable elsewhere.
    pub(super) fn retire(self) -> io::Result<()> {
        let Self(path) = self;
        let directory = path.parent().unwrap_or(Path::new("."));
        let waiting = spares(directory)?.count();
        // One that a large group has made longer would stay so.
        // A journal that was renewed meanwhile has removed it.
        let Some(file) = disk::if_there(fs::metadata(&path))? else { return Ok(()) };
        if waiting >= SPARES || file.len() > 2 * SEGMENT_BYTES {
            return fs::remove_file(path);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::rename(&path, directory.join(format!("{SPARE}{name}")))
    }
}

/// Whether the journal of a store that is open is gone from its directory.
pub(super) fn is_gone(store: &Path) -> bool {
    segments(&Journal::directory(store)).is_ok_and(|segments| segments.is_empty())
}

/// The names of the damaged segments that were set aside.
pub(super) fn set_aside(store: &Path) -> Vec<String> {
    let name = |file: PathBuf| Some(file.file_name()?.to_string_lossy().into_owned());
    let mut names: Vec<String> =
        files(&replay::aside(store)).into_iter().flatten().filter_map(name).collect();
    names.sort();
    names
}

/// The files of segments, in their order.
fn segments(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = files(directory)?.filter(|file| segment::number_of(file).is_some()).collect::<Vec<_>>();
    files.sort();
    Ok(files)
}

/// A segment of this number.
fn begun(directory: &Path, number: u64, positions: &[Position]) -> io::Result<Segment> {
    Segment::begin(directory, number, Some(&file(directory)?), positions)
}

/// A file for the next segment, as long as it will be: to sync what overwrites takes half as long as to sync what grows.
fn file(directory: &Path) -> io::Result<PathBuf> {
    if let Some(spare) = spares(directory)?.next() {
        return Ok(spare);
    }
    let blank = directory.join(format!("{SPARE}blank"));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&blank)?;
    let filled = io::copy(&mut io::repeat(0).take(SEGMENT_BYTES), &mut file);
    // A part of it would keep the last of the room.
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
