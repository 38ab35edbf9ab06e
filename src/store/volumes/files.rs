//! The record files of a volume.

use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, io, sync::Arc};

use parking_lot::RwLock;

use super::super::changes::Change;
use super::super::damage::DamageKind;
use super::super::damages::Damages;
use super::super::disk;
use super::super::manifest::FileRow;
use super::super::record_file::{self, FileNumber, Locator, RecordFile};
use super::super::volume_number::{Number, directory_name};

/// The name of a file of a volume, from the directory of the store on.
pub(crate) fn name(volume: Number, number: FileNumber) -> String {
    let path = record_file::path_of(directory_name(volume).as_ref(), number);
    path.to_string_lossy().into_owned()
}

/// That a file is gone while it is open, and what to do.
pub(crate) fn gone(file: &str) -> String {
    format!(
        "`{file}` is gone, or another file has its name: move it back, or stop the daemon and give `offerd store salvage`; nothing is \
         acknowledged until then"
    )
}

/// Whether a file cannot be opened though it is there, for a reason that is not its own.
pub(crate) fn is_refused(error: &io::Error) -> bool {
    [disk::NOT_A_FILE, io::ErrorKind::PermissionDenied].contains(&error.kind())
}

/// Notes what is wrong with a file that there must be, as far as opening it shows.
pub(crate) fn note_faults(volume: Number, row: &FileRow, opened: &io::Result<RecordFile>, damages: &Damages) {
    let damaged = |what| damages.note_of(Some(volume), name(volume, row.number), what);
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => damaged(DamageKind::Missing),
        Err(error) if is_refused(error) => {}
        Err(error) => damaged(DamageKind::Unreadable { at: 0, bytes: row.bytes, why: error.to_string() }),
        Ok(file) => {
            if file.len() < row.bytes {
                damaged(DamageKind::CutShort { bytes: file.len(), wanted: row.bytes });
            }
            file.heading_fault().into_iter().for_each(damaged);
        }
    }
}

/// The files of a volume, in the order they were begun. The last one grows.
pub(crate) struct Files {
    pub(crate) volume: Number,
    directory: PathBuf,
    files: RwLock<BTreeMap<FileNumber, Arc<RecordFile>>>,
    /// Those that there must be, and are not. They stay in the manifest, so that each start notes them as damage.
    missing: Vec<FileRow>,
}

impl Files {
    /// Makes the first file of a volume, and its directory.
    pub(crate) fn create(directory: PathBuf, volume: Number) -> io::Result<Self> {
        disk::make_directory(&directory)?;
        let first = Arc::new(RecordFile::create(&directory, volume, 1)?);
        Ok(Self { volume, directory, files: RwLock::new([(1, first)].into()), missing: Vec::new() })
    }

    /// Opens the files that there must be. What is missing of them is noted as damage; where none is left that can grow, one is
    /// begun.
    pub(crate) fn open(
        directory: PathBuf,
        volume: Number,
        rows: &[FileRow],
        damages: &Damages,
    ) -> io::Result<Self> {
        disk::make_directory(&directory)?;
        let open =
            |directory: &Path, row: &FileRow| RecordFile::open(directory, volume, row.number, row.bytes);
        let opened = Self::open_by(open, directory, volume, rows, damages)?;
        let last = opened.files.read().last_key_value().map(|(_, last)| Arc::clone(last));
        let last_row = rows.last().map_or(0, |row| row.number);
        match last {
            Some(last) if last.number == last_row && !last.is_cut_short() => {}
            _ => opened.begin_next(last_row)?,
        }
        Ok(opened)
    }

    /// Opens the files of a volume that is not to be changed.
    pub(crate) fn open_to_read(
        directory: PathBuf,
        volume: Number,
        rows: &[FileRow],
        damages: &Damages,
    ) -> io::Result<Self> {
        let open = |directory: &Path, row: &FileRow| RecordFile::open_to_read(directory, volume, row.number);
        Self::open_by(open, directory, volume, rows, damages)
    }

    fn open_by(
        open: impl Fn(&Path, &FileRow) -> io::Result<RecordFile>,
        directory: PathBuf,
        volume: Number,
        rows: &[FileRow],
        damages: &Damages,
    ) -> io::Result<Self> {
        let mut opened = Self { volume, directory, files: RwLock::default(), missing: Vec::new() };
        for row in rows {
            let file = open(&opened.directory, row);
            note_faults(volume, row, &file, damages);
            match file {
                Ok(file) => opened.insert(file),
                Err(error) if is_refused(&error) => return Err(error),
                Err(_) => opened.missing.push(*row),
            }
        }
        Ok(opened)
    }

    /// The name of a file, from the directory of the store on.
    pub(crate) fn name(&self, number: FileNumber) -> String {
        name(self.volume, number)
    }

    /// Begins the next file.
    pub(crate) fn begin(&self) -> io::Result<()> {
        self.begin_next(self.last().number)
    }

    fn begin_next(&self, after: FileNumber) -> io::Result<()> {
        self.insert(RecordFile::create(&self.directory, self.volume, after + 1)?);
        Ok(())
    }

    /// Writes changes behind the others, and gives the place of each. After an error nothing was written.
    ///
    /// # Errors
    /// Also that the file is gone, with which they would go at the next start.
    pub(crate) fn append(&self, changes: &[Change]) -> io::Result<Vec<Locator>> {
        let last = self.last();
        match last.is_gone(&self.directory) {
            true => Err(io::Error::other(gone(&self.name(last.number)))),
            false => last.append(changes),
        }
    }

    /// What the record file that is named there holds for a key; nothing when it has gone.
    ///
    /// # Errors
    /// That the disk cannot read it.
    pub(crate) fn read(&self, locator: Locator, key: &[u8]) -> io::Result<Vec<u8>> {
        let file = self.file(locator.file);
        file.map_or_else(|| Ok(Vec::new()), |file| file.read(locator, key))
    }

    /// The file of this number.
    pub(super) fn file(&self, number: FileNumber) -> Option<Arc<RecordFile>> {
        self.files.read().get(&number).cloned()
    }

    /// All of them, in their order.
    pub(crate) fn all(&self) -> Vec<Arc<RecordFile>> {
        self.files.read().values().cloned().collect()
    }

    /// The one that grows.
    pub(crate) fn last(&self) -> Arc<RecordFile> {
        let files = self.files.read();
        let (_, last) = files.last_key_value().expect("a volume has a file from its beginning on");
        Arc::clone(last)
    }

    /// Takes a file out of the volume, which must have another one; its name is left to be removed.
    pub(crate) fn take_out(&self, number: FileNumber) -> PathBuf {
        self.files.write().remove(&number);
        record_file::path_of(&self.directory, number)
    }

    /// Once this returns, what was appended before survives a power cut.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.all().iter().try_for_each(|file| file.sync())
    }

    /// The names of those that are gone from their directory, or that another file has the name of.
    pub(super) fn gone(&self) -> Vec<String> {
        let is_gone = |file: &RecordFile| file.is_gone(&self.directory);
        let gone = self.all().into_iter().filter(|file| is_gone(file));
        // One that was taken out meanwhile is gone as it should.
        gone.filter(|file| self.file(file.number).is_some()).map(|file| self.name(file.number)).collect()
    }

    /// How long they are.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.read().values().map(|file| file.len()).sum()
    }

    /// How they stand in the manifest.
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
