//! The record files of a volume.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;

use super::super::manifest::VolumeRow;
use super::super::record_file::{self, FileNumber, FileRow, Locator, RecordFile};
use super::super::volume_number::directory_name;
use crate::{DamageKind, Damages, RecordChange, VolumeNumber, directory_of, disk};

pub(crate) fn name(volume: VolumeNumber, number: FileNumber) -> String {
    let path = record_file::path_of(directory_name(volume).as_ref(), number);
    path.to_string_lossy().into_owned()
}

pub(crate) fn gone(file: &str) -> String {
    format!(
        "`{file}` is missing, or another file has its name: move it back, or stop the daemon and run \
            `offerd store salvage`; offerd acknowledges nothing until then"
    )
}

/// Whether an existing file cannot be opened for a reason outside the file.
pub(crate) fn is_refused(error: &io::Error) -> bool {
    [disk::NOT_A_FILE, io::ErrorKind::PermissionDenied].contains(&error.kind())
}

/// Notes the damage of a required file, so far as opening it shows.
pub(crate) fn note_faults(
    volume: VolumeNumber,
    row: &FileRow,
    opened: &io::Result<RecordFile>,
    damages: &Damages,
) {
    let damaged = |what| damages.note_of(Some(volume), name(volume, row.number), what);
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => damaged(DamageKind::Missing),
        Err(error) if is_refused(error) => {}
        Err(error) => damaged(DamageKind::Unreadable { at: 0, bytes: row.bytes, why: error.to_string() }),
        Ok(file) => {
            if file.len() < row.bytes {
                damaged(DamageKind::CutShort { bytes: file.len(), wanted: row.bytes, records: 0 });
            }
            file.heading_fault().into_iter().for_each(damaged);
        }
    }
}

/// The files of a volume, in the order they were begun. The last one grows.
pub(crate) struct VolumeFiles {
    pub(crate) volume: VolumeNumber,
    directory: PathBuf,
    files: RwLock<BTreeMap<FileNumber, Arc<RecordFile>>>,
    /// Required files that do not exist. They stay in the manifest, so that each start notes them as damage.
    missing: Vec<FileRow>,
}

impl VolumeFiles {
    /// Creates the first file of a volume, and its directory.
    pub(crate) fn create(store: &Path, volume: VolumeNumber) -> io::Result<Self> {
        let directory = directory_of(store, volume);
        disk::make_directory(&directory)?;
        let first = Arc::new(RecordFile::create(&directory, volume, 1)?);
        Ok(Self { volume, directory, files: RwLock::new([(1, first)].into()), missing: Vec::new() })
    }

    /// Opens the listed files and notes missing ones as damage. If none can grow, a new one is begun.
    pub(crate) fn open(store: &Path, volume: &VolumeRow, damages: &Damages) -> io::Result<Self> {
        disk::make_directory(&directory_of(store, volume.number))?;
        let opened = Self::open_by(RecordFile::open, store, volume, damages)?;
        let last = opened.files.read().last_key_value().map(|(_, last)| Arc::clone(last));
        let last_row = volume.files.last().map_or(0, |row| row.number);
        match last {
            Some(last) if last.number == last_row && !last.is_cut_short() => {}
            _ => opened.begin_next(last_row)?,
        }
        Ok(opened)
    }

    pub(crate) fn open_to_read(store: &Path, volume: &VolumeRow, damages: &Damages) -> io::Result<Self> {
        Self::open_by(RecordFile::open_to_read, store, volume, damages)
    }

    fn open_by(
        open: fn(&Path, VolumeNumber, &FileRow) -> io::Result<RecordFile>,
        store: &Path,
        volume: &VolumeRow,
        damages: &Damages,
    ) -> io::Result<Self> {
        let (files, directory) = (RwLock::default(), directory_of(store, volume.number));
        let mut opened = Self { volume: volume.number, directory, files, missing: Vec::new() };
        for row in &volume.files {
            let file = open(&opened.directory, volume.number, row);
            note_faults(volume.number, row, &file, damages);
            match file {
                Ok(file) => opened.insert(file),
                Err(error) if is_refused(&error) => return Err(error),
                Err(_) => opened.missing.push(*row),
            }
        }
        Ok(opened)
    }

    pub(crate) fn name(&self, number: FileNumber) -> String {
        name(self.volume, number)
    }

    pub(crate) fn begin(&self) -> io::Result<()> {
        self.begin_next(self.last().number)
    }

    fn begin_next(&self, after: FileNumber) -> io::Result<()> {
        self.insert(RecordFile::create(&self.directory, self.volume, after + 1)?);
        Ok(())
    }

    /// Appends changes. After an error, such as a deleted file, nothing was written.
    pub(crate) fn append(&self, changes: &[RecordChange]) -> io::Result<Vec<Locator>> {
        let last = self.last();
        match last.is_gone(&self.directory) {
            true => Err(io::Error::other(gone(&self.name(last.number)))),
            false => last.append(changes),
        }
    }

    /// The value of a key at a place; empty when its record file is gone.
    pub(crate) fn read(&self, locator: Locator, key: &[u8]) -> io::Result<Vec<u8>> {
        let file = self.file(locator.file);
        file.map_or_else(|| Ok(Vec::new()), |file| file.read(locator, key))
    }

    pub(super) fn file(&self, number: FileNumber) -> Option<Arc<RecordFile>> {
        self.files.read().get(&number).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<RecordFile>> {
        self.files.read().values().cloned().collect()
    }

    pub(crate) fn last(&self) -> Arc<RecordFile> {
        let files = self.files.read();
        let (_, last) = files.last_key_value().expect("a volume has a file from its beginning on");
        Arc::clone(last)
    }

    /// Takes a file out of the volume, which must have another one, and returns its path for removal.
    pub(crate) fn take_out(&self, number: FileNumber) -> PathBuf {
        self.files.write().remove(&number);
        record_file::path_of(&self.directory, number)
    }

    /// Once this returns, earlier appends survive a power cut.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.all().iter().try_for_each(|file| file.sync())
    }

    /// The paths of files that are gone from their directory or replaced by another file.
    pub(super) fn gone(&self) -> Vec<String> {
        let is_gone = |file: &RecordFile| file.is_gone(&self.directory);
        let gone = self.all().into_iter().filter(|file| is_gone(file));
        // A file that was taken out meanwhile is gone on purpose.
        gone.filter(|file| self.file(file.number).is_some()).map(|file| self.name(file.number)).collect()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.files.read().values().map(|file| file.len()).sum()
    }

    pub(crate) fn rows(&self) -> Vec<FileRow> {
        let files = self.files.read();
        let present = files.values().map(|file| FileRow { number: file.number, bytes: file.listed() });
        let mut rows: Vec<FileRow> = present.chain(self.missing.iter().copied()).collect();
        rows.sort_by_key(|row| row.number);
        rows
    }

    fn insert(&self, file: RecordFile) {
        self.files.write().insert(file.number, Arc::new(file));
    }
}
