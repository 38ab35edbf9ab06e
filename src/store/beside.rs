//! A store in the making: it lies beside its place, and is moved there when it is whole. So nobody opens a part of one. Where a volume is
//! mounted it lies within: nothing can be moved to the place of a mount. Then its files are moved one by one, its keys last, without
//! which nothing that lies there is opened.

use std::collections::{BTreeMap, btree_map::Entry};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::changes::{Change, by_volume};
use super::check::{self, CheckReport};
use super::error::{StoreError, io_error};
use super::manifest::{Manifest, VolumeRow};
use super::open::Opened;
use super::sealing::key_file::KEY_FILES;
use super::volume_number::{Begins, Number, directory_of};
use super::volumes::files::Files;
use super::{disk, owner};

/// How the names of stores in the making end: that of a restore or an import, and that of a backup which a salvage reads.
const ENDINGS: [&str; 2] = [".part", ".backup"];

/// What a file system makes in a volume of itself.
const OF_THE_VOLUME: &str = "lost+found";

/// A directory beside the place of a store, or within where that is a mount. Dropped before [`finish`](Self::finish) it is removed.
#[derive(Debug)]
pub struct Beside {
    path: PathBuf,
    into: PathBuf,
    /// Whether it lies within its place.
    within: bool,
}

/// Why no store can be made in a place.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    /// There is something in its place already.
    #[error(
        "`{path}` is not empty{}: a store is made in an empty directory only",
        if *.daemon { ", and a daemon runs there or was killed" } else { "" }
    )]
    NotEmpty {
        /// The place.
        path: PathBuf,
        /// Whether a daemon runs there, or has left its run file.
        daemon: bool,
    },
    /// What was killed has left these directories.
    #[error(transparent)]
    LeftOver(#[from] LeftOver),
    /// The directory cannot be made.
    #[error("{0}")]
    Store(#[from] StoreError),
}

/// Directories of stores in the making that a restore, an import or a salvage has left which was killed.
#[derive(Debug, thiserror::Error)]
#[error(
    "a restore, an import or a salvage is running, or was killed and has left {}: if none is running, `rm -r {}`, and try again",
    shown(.0, "`", " and "), shown(.0, "", " ")
)]
pub struct LeftOver(Vec<PathBuf>);

/// Paths, each in such marks, with this between them.
fn shown(paths: &[PathBuf], mark: &str, between: &str) -> String {
    paths.iter().map(|path| format!("{mark}{}{mark}", path.display())).collect::<Vec<_>>().join(between)
}

impl Beside {
    /// Makes the directory, for a store in a place that is empty, or not there.
    ///
    /// # Errors
    /// What is in the way.
    pub fn begin(into: &Path) -> Result<Self, BesideError> {
        Self::begin_as(into, ENDINGS[0], &ENDINGS)
    }

    /// The same for the store of a backup, beside that of the salvage which reads it.
    pub(super) fn begin_of_backup(into: &Path) -> Result<Self, BesideError> {
        Self::begin_as(into, ENDINGS[1], &ENDINGS[1..])
    }

    /// The same, in a directory whose name ends so; none may be there whose name has one of the endings that are `free`.
    fn begin_as(into: &Path, ending: &str, free: &[&str]) -> Result<Self, BesideError> {
        owner::check(into)?;
        disk::want_place(into).map_err(|source| io_error(into, source))?;
        let within = disk::is_mount(into);
        let beside = |ending: &str| {
            let name = name_beside(into, ending);
            if within { into.join(name) } else { into.with_file_name(name) }
        };
        // A file is none of ours: it may be the very backup.
        let left: Vec<PathBuf> =
            free.iter().map(|ending| beside(ending)).filter(|path| path.is_dir()).collect();
        if !left.is_empty() {
            return Err(LeftOver(left).into());
        }
        let path = beside(ending);
        disk::want_directory(&path).map_err(|source| io_error(&path, source))?;
        if !is_empty(into, within).map_err(|source| io_error(into, source))? {
            let daemon = into.join("daemon.json").exists();
            return Err(BesideError::NotEmpty { path: into.to_owned(), daemon });
        }
        disk::make_directory(&path).map_err(|source| io_error(&path, source))?;
        Ok(Self { path, into: into.to_owned(), within })
    }

    /// Where it lies until it is whole.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves it to its place. Once this returns, it survives a power cut there.
    ///
    /// # Errors
    /// What is wrong with the disk.
    pub fn finish(self) -> Result<(), StoreError> {
        let moved = match self.within {
            true => self.move_out(),
            false => fs::rename(&self.path, &self.into),
        };
        let named = moved.and_then(|()| disk::sync_directory(disk::parent_of(&self.into)));
        named.map_err(|source| io_error(&self.into, source))
    }

    /// Moves the files to the place that they lie in. The keys come last, once all others are there for good.
    fn move_out(&self) -> io::Result<()> {
        let is_of_keys = |name: &OsString| KEY_FILES.iter().any(|keys| name == keys);
        let mut names: Vec<OsString> =
            disk::entries(&self.path)?.iter().map(fs::DirEntry::file_name).collect();
        names.sort_by_key(is_of_keys);
        for together in names.chunk_by(|one, next| is_of_keys(one) == is_of_keys(next)) {
            for name in together {
                fs::rename(self.path.join(name), self.into.join(name))?;
            }
            disk::sync_directory(&self.into)?;
        }
        fs::remove_dir(&self.path)?;
        disk::sync_directory(&self.into)
    }

    /// Reads every record of the store that was made there, closes it and moves it to its place.
    pub(super) fn finish_with(self, mut opened: Opened) -> Result<CheckReport, StoreError> {
        let report = check::check(&opened.records)?;
        opened.committer.finish().map_err(StoreError::Disk)?;
        drop(opened);
        self.finish()?;
        Ok(report)
    }
}

/// The name of a store in the making, of its place and the ending.
fn name_beside(into: &Path, ending: &str) -> OsString {
    let mut name = into.file_name().unwrap_or("offerd".as_ref()).to_owned();
    name.push(ending);
    name
}

/// Whether a place is empty: but, of a mount, for what its file system has made, and for other stores in the making.
fn is_empty(into: &Path, within: bool) -> io::Result<bool> {
    let may_stay = |name: &OsString| {
        name == OF_THE_VOLUME || ENDINGS.iter().any(|ending| *name == name_beside(into, ending))
    };
    let entries = disk::entries(into)?;
    Ok(entries.iter().all(|entry| within && may_stay(&entry.file_name())))
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Once it was moved there is none any more.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The record files of a store in the making, volume by volume.
pub(super) struct NewFiles {
    store: PathBuf,
    files: BTreeMap<Number, Files>,
}

impl NewFiles {
    /// None yet.
    pub(super) fn of(store: &Path) -> Self {
        Self { store: store.to_owned(), files: BTreeMap::new() }
    }

    /// Those of a volume, which are begun where there are none.
    pub(super) fn of_volume(&mut self, number: Number) -> io::Result<&Files> {
        Ok(match self.files.entry(number) {
            Entry::Occupied(files) => files.into_mut(),
            Entry::Vacant(place) => place.insert(Files::create(directory_of(&self.store, number), number)?),
        })
    }

    /// Appends changes to the files of their volumes.
    pub(super) fn append(&mut self, changes: Vec<Change>) -> io::Result<()> {
        for (number, changes) in by_volume(changes) {
            self.of_volume(number)?.append(&changes)?;
        }
        Ok(())
    }

    /// Makes them durable, and lists those of the volumes that begin somewhere: the others are no part of the store.
    pub(super) fn list(self, begins: &BTreeMap<Number, Begins>) -> io::Result<()> {
        let mut manifest = Manifest::default();
        for (number, files) in self.files {
            let Some(begins) = begins.get(&number).copied() else { continue };
            files.sync()?;
            manifest.volumes.push(VolumeRow { number, begins, files: files.rows() });
        }
        manifest.write(&self.store, &disk::SyncFault::default())
    }
}
