//! A record file holds records of a volume, one entry after the other, in the order they were written.
//!
//! ```text
//! "offerdr1"  volume u32 BE  number u32 BE  crc32 of the two u32 BE  entry…
//! entry   mark u32 BE  key length u16 BE  value length u32 BE  crc32 u32 BE  key  value
//! ```
//! An entry sets the record of its key; the length `FFFFFFFF` with no value removes it. The mark is unique to
//! the file, so a reader can resynchronise after damage. The checksum also covers the file and the offset, so
//! bytes from elsewhere never pass for an entry.
//!
//! A file only grows. The [checkpoints](super::checkpoint) sync it; the [journal](super::journal) holds what
//! a crash has kept from it.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::changes::{REMOVED, lengths};
use super::disk::Unread;
use super::frame::checksum;
use crate::{DamageKind, RecordChange, VALUE_LIMIT, VolumeNumber, disk};

/// Magic number of a file; the last byte is the format version.
const MAGIC: &[u8; 8] = b"offerdr1";

pub(super) const HEADING: u64 = 20;

const HEAD: usize = 14;

const CHUNK: usize = 256 * 1024;

const VALUE_MAX: usize = VALUE_LIMIT + 1024;

/// The number of a file within its volume, from 1.
pub(super) type FileNumber = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRow {
    pub(super) number: FileNumber,
    /// Its least length.
    pub(super) bytes: u64,
}

/// Where an entry lies within its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Locator {
    pub(super) file: FileNumber,
    pub(super) at: u64,
    pub(super) length: u32,
}

#[derive(Debug)]
pub(super) struct RecordFile {
    volume: VolumeNumber,
    pub(super) number: FileNumber,
    file: File,
    end: AtomicU64,
    /// Bytes that survive a power cut.
    synced: AtomicU64,
    /// The length it should have had when it was opened.
    wanted: u64,
    /// Whether a power cut may bring truncated bytes back.
    is_cut: AtomicBool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileEntry {
    pub(super) locator: Locator,
    pub(super) key: Vec<u8>,
    /// The value; `None` if it removes the record.
    pub(super) value: Option<Vec<u8>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum WalkItem {
    Entry(FileEntry),
    /// Bytes that are no entry, up to the next entry or the end of the file.
    Damage {
        at: u64,
        bytes: u64,
        /// The system's error, where the disk could not read them: they may still be sound.
        unread: Option<String>,
    },
}

impl Locator {
    /// The form stored in the index.
    pub(super) fn to_bytes(self) -> [u8; 16] {
        let (file, at, length) = (u128::from(self.file), u128::from(self.at), u128::from(self.length));
        (file << 96 | at << 32 | length).to_be_bytes()
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let all = u128::from_be_bytes(bytes.try_into().ok()?);
        Some(Self { file: (all >> 96) as u32, at: (all >> 32) as u64, length: all as u32 })
    }
}

impl RecordFile {
    /// Creates a file. Once this returns, it exists after a power cut.
    pub(super) fn create(directory: &Path, volume: VolumeNumber, number: FileNumber) -> io::Result<Self> {
        let path = path_of(directory, number);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all_at(&heading(volume, number), 0)?;
        file.sync_all()?;
        disk::sync_directory(directory)?;
        let (end, synced) = (AtomicU64::new(HEADING), AtomicU64::new(HEADING));
        Ok(Self { volume, number, file, end, synced, wanted: HEADING, is_cut: AtomicBool::new(false) })
    }

    /// Opens a file whose listed bytes should survive a power cut.
    pub(super) fn open(directory: &Path, volume: VolumeNumber, row: &FileRow) -> io::Result<Self> {
        Self::open_as(OpenOptions::new().read(true).write(true), directory, volume, *row)
    }

    pub(super) fn open_to_read(directory: &Path, volume: VolumeNumber, row: &FileRow) -> io::Result<Self> {
        Self::open_as(OpenOptions::new().read(true), directory, volume, FileRow { bytes: 0, ..*row })
    }

    fn open_as(
        how: &mut OpenOptions,
        directory: &Path,
        volume: VolumeNumber,
        row: FileRow,
    ) -> io::Result<Self> {
        let FileRow { number, bytes: wanted } = row;
        let path = path_of(directory, number);
        let named = |error: io::Error| match error.kind() {
            disk::NOT_A_FILE => error,
            kind => io::Error::new(kind, format!("{}: {error}", path.display())),
        };
        let file = disk::open_file(how, &path).map_err(named)?;
        let length = file.metadata().map_err(named)?.len();
        let (end, synced) = (AtomicU64::new(length), AtomicU64::new(wanted.min(length)));
        let is_cut = AtomicBool::new(false);
        Ok(Self { volume, number, file, end, synced, wanted, is_cut })
    }

    pub(super) fn len(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    pub(super) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// Whether bytes of it are missing. Entries appended now could be mistaken for the lost ones.
    pub(super) fn is_cut_short(&self) -> bool {
        self.len() < self.wanted.max(HEADING)
    }

    /// The minimum length to list in the manifest; for a file that was cut short, its former length.
    pub(super) fn listed(&self) -> u64 {
        if self.is_cut_short() { self.wanted } else { self.synced() }
    }

    /// The damage of the header, if it differs from the written one or cannot be read.
    pub(super) fn heading_fault(&self) -> Option<DamageKind> {
        let (mut found, bytes) = ([0; HEADING as usize], HEADING.min(self.len()));
        match self.file.read_exact_at(&mut found, 0) {
            Ok(()) if found[..] == heading(self.volume, self.number) => None,
            Ok(()) if found[..7] == MAGIC[..7] && found[7] != MAGIC[7] => {
                let [found, wanted] = [&found[..8], MAGIC].map(|magic| magic.escape_ascii().to_string());
                Some(DamageKind::Format { found, wanted })
            }
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                Some(DamageKind::Unreadable { at: 0, bytes, why: error.to_string() })
            }
            _ => Some(DamageKind::Bytes { at: 0, bytes, between: [None, None] }),
        }
    }

    /// Whether the file is missing from its directory, or another file has taken its name.
    pub(super) fn is_gone(&self, directory: &Path) -> bool {
        !disk::is_at(&self.file, &path_of(directory, self.number))
    }

    /// Appends changes, by one writer at a time, and returns the place of each. They are durable after a
    /// [`sync`](Self::sync). After an error nothing was written.
    pub(super) fn append<'c>(
        &self,
        changes: impl IntoIterator<Item = &'c RecordChange>,
    ) -> io::Result<Vec<Locator>> {
        let begin = self.len();
        let mut bytes = Vec::new();
        let mut locators = Vec::new();
        for RecordChange { key, value, .. } in changes {
            let at = begin + bytes.len() as u64;
            let length = self.push(&mut bytes, at, key, value.as_deref());
            locators.push(Locator { file: self.number, at, length });
        }
        if let Err(error) = self.file.write_all_at(&bytes, begin) {
            self.file.set_len(begin).map_err(|error| self.named("be cut", &error))?;
            return Err(self.named("be written", &error));
        }
        self.end.store(begin + bytes.len() as u64, Ordering::Release);
        Ok(locators)
    }

    fn push(&self, bytes: &mut Vec<u8>, at: u64, key: &[u8], value: Option<&[u8]>) -> u32 {
        let (key_length, value_length) = lengths(key, value);
        let value = value.unwrap_or_default();
        bytes.extend_from_slice(&mark(self.volume, self.number).to_be_bytes());
        bytes.extend_from_slice(&key_length.to_be_bytes());
        bytes.extend_from_slice(&value_length.to_be_bytes());
        let crc = self.crc(at, key_length, value_length, key, value);
        bytes.extend_from_slice(&crc.to_be_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        u32::try_from(HEAD + key.len() + value.len()).expect("a value is within its limit of 16 MiB")
    }

    /// The value of this key's entry. A damaged entry yields its raw bytes, which fail the frame check.
    pub(super) fn read(&self, locator: Locator, key: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; locator.length as usize];
        match self.file.read_exact_at(&mut bytes, locator.at) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Vec::new()),
            read => read.map_err(|error| self.named("be read", &error))?,
        }
        let value_at = HEAD + key.len();
        Ok(match bytes.get(HEAD..value_at) {
            Some(found) if found == key => bytes.split_off(value_at),
            _ => Vec::new(),
        })
    }

    pub(super) fn can_be_read(&self, at: u64, bytes: u64) -> bool {
        let mut unneeded = vec![0; usize::try_from(bytes).unwrap_or(VALUE_MAX).min(VALUE_MAX)];
        let read = self.file.read_exact_at(&mut unneeded, at);
        read.err().is_none_or(|error| error.kind() == io::ErrorKind::UnexpectedEof)
    }

    pub(super) fn walk(&self, from: u64) -> FileWalk<'_> {
        let at = from.max(HEADING);
        FileWalk { file: self, at, read: Vec::new(), read_at: at, unread: Vec::new(), end: self.len() }
    }

    /// End of the unbroken run of entries from a place on.
    pub(super) fn sound_until(&self, from: u64) -> io::Result<u64> {
        let mut end = from.max(HEADING).min(self.len());
        for met in self.walk(end) {
            match met? {
                WalkItem::Entry(FileEntry { locator, .. }) => end = locator.at + u64::from(locator.length),
                WalkItem::Damage { .. } => break,
            }
        }
        Ok(end)
    }

    /// Truncates the file. The removed bytes stay gone after the next [`sync`](Self::sync).
    pub(super) fn cut(&self, end: u64) -> io::Result<()> {
        self.file.set_len(end).map_err(|error| self.named("be cut", &error))?;
        self.end.store(end, Ordering::Release);
        self.synced.fetch_min(end, Ordering::AcqRel);
        self.is_cut.store(true, Ordering::Release);
        Ok(())
    }

    /// Once this returns, earlier appends survive a power cut, and earlier truncations stay.
    pub(super) fn sync(&self) -> io::Result<()> {
        let end = self.len();
        let is_cut = self.is_cut.swap(false, Ordering::AcqRel);
        if self.synced() < end || is_cut {
            if let Err(error) = self.file.sync_data() {
                self.is_cut.fetch_or(is_cut, Ordering::AcqRel);
                return Err(self.named("be synced", &error));
            }
            self.synced.fetch_max(end, Ordering::AcqRel);
        }
        Ok(())
    }

    fn named(&self, cannot: &str, error: &io::Error) -> io::Error {
        let Self { volume, number, .. } = self;
        let what = format!("record file {number} of volume {volume} cannot {cannot}: {error}");
        io::Error::new(error.kind(), what)
    }

    fn entry(&self, bytes: &[u8], at: u64) -> Option<FileEntry> {
        let rest = bytes.strip_prefix(&mark(self.volume, self.number).to_be_bytes())?;
        let (key_length, rest) = rest.split_first_chunk()?;
        let (value_length, rest) = rest.split_first_chunk()?;
        let (crc, rest) = rest.split_first_chunk()?;
        let (key_length, value_length) = (u16::from_be_bytes(*key_length), u32::from_be_bytes(*value_length));
        let (key, rest) = rest.split_at_checked(usize::from(key_length))?;
        let value = match value_length {
            REMOVED => None,
            length => Some(rest.get(..length as usize)?),
        };
        let summed = self.crc(at, key_length, value_length, key, value.unwrap_or_default());
        let length = HEAD + key.len() + value.map_or(0, <[u8]>::len);
        (summed == u32::from_be_bytes(*crc)).then(|| FileEntry {
            locator: Locator { file: self.number, at, length: length as u32 },
            key: key.to_vec(),
            value: value.map(<[u8]>::to_vec),
        })
    }

    fn crc(&self, at: u64, key_length: u16, value_length: u32, key: &[u8], value: &[u8]) -> u32 {
        let mark = mark(self.volume, self.number).to_be_bytes();
        let lengths = (key_length.to_be_bytes(), value_length.to_be_bytes());
        checksum(&[&mark, &at.to_be_bytes(), &lengths.0, &lengths.1, key, value])
    }
}

pub(super) struct FileWalk<'a> {
    file: &'a RecordFile,
    pub(super) at: u64,
    read: Vec<u8>,
    read_at: u64,
    /// Unreadable pages that are not reported yet.
    unread: Vec<Unread>,
    end: u64,
}

impl FileWalk<'_> {
    /// At least `wanted` bytes from a place on, fewer at the end of the file.
    fn bytes(&mut self, at: u64, wanted: usize) -> io::Result<&[u8]> {
        let wanted = wanted.min((self.end - at) as usize);
        let has = |walk: &Self| (walk.read_at + walk.read.len() as u64).saturating_sub(at) as usize;
        if at < self.read_at || has(self) < wanted {
            let length = wanted.max(CHUNK).min((self.end - at) as usize);
            self.read.resize(length, 0);
            self.read_at = at;
            match disk::read_sparing(&self.file.file, &mut self.read, at) {
                Ok(unread) => self.unread.extend(unread),
                Err(error) => {
                    self.read.clear();
                    return Err(error);
                }
            }
        }
        Ok(&self.read[(at - self.read_at) as usize..])
    }

    /// Why the disk could not read bytes before a place, if it could not.
    fn unread_until(&mut self, end: u64) -> Option<String> {
        let (told, ahead): (Vec<Unread>, Vec<Unread>) =
            std::mem::take(&mut self.unread).into_iter().partition(|page| page.at < end);
        self.unread = ahead;
        told.into_iter().next().map(|page| page.why)
    }

    fn entry_at(&mut self, at: u64) -> io::Result<Option<FileEntry>> {
        let head = self.bytes(at, HEAD)?;
        let Some(head) = head.first_chunk::<HEAD>() else { return Ok(None) };
        let [m0, m1, m2, m3, k0, k1, v0, v1, v2, v3, ..] = *head;
        let value_length = match u32::from_be_bytes([v0, v1, v2, v3]) {
            REMOVED => 0,
            length => length as usize,
        };
        let is_marked = u32::from_be_bytes([m0, m1, m2, m3]) == mark(self.file.volume, self.file.number);
        if !is_marked || value_length > VALUE_MAX {
            return Ok(None);
        }
        let length = HEAD + usize::from(u16::from_be_bytes([k0, k1])) + value_length;
        let file = self.file;
        Ok(file.entry(self.bytes(at, length)?, at))
    }

    /// Start of the next whole entry after a place, or the end of the file.
    fn next_entry(&mut self, behind: u64) -> io::Result<u64> {
        let mark = mark(self.file.volume, self.file.number).to_be_bytes();
        let mut at = behind + 1;
        while at < self.end {
            let bytes = self.bytes(at, mark.len())?;
            let searched = bytes.len();
            match memmem::find(bytes, &mark) {
                Some(place) => {
                    at += place as u64;
                    if self.entry_at(at)?.is_some() {
                        return Ok(at);
                    }
                    at += 1;
                }
                // A mark may begin at the end of the searched bytes.
                None => at += (searched + 1).saturating_sub(mark.len()).max(1) as u64,
            }
        }
        Ok(self.end)
    }
}

impl Iterator for FileWalk<'_> {
    type Item = io::Result<WalkItem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let met = match self.entry_at(self.at) {
            Ok(Some(entry)) => {
                self.at += u64::from(entry.locator.length);
                Ok(WalkItem::Entry(entry))
            }
            Ok(None) => self.next_entry(self.at).map(|next| {
                let damage =
                    WalkItem::Damage { at: self.at, bytes: next - self.at, unread: self.unread_until(next) };
                self.at = next;
                damage
            }),
            Err(error) => Err(error),
        };
        if met.is_err() {
            self.at = self.end;
        }
        Some(met)
    }
}

pub(super) fn path_of(directory: &Path, number: FileNumber) -> PathBuf {
    directory.join(format!("{number:08}.records"))
}

pub(super) fn numbers_in(directory: &Path) -> io::Result<BTreeSet<FileNumber>> {
    let names = disk::entries(directory)?.into_iter().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.to_str()?.strip_suffix(".records")?.parse().ok()).collect())
}

fn heading(volume: VolumeNumber, number: FileNumber) -> Vec<u8> {
    [&MAGIC[..], &volume.to_be_bytes(), &number.to_be_bytes(), &mark(volume, number).to_be_bytes()].concat()
}

fn mark(volume: VolumeNumber, number: FileNumber) -> u32 {
    checksum(&[MAGIC, &volume.to_be_bytes(), &number.to_be_bytes()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn change(key: &[u8], value: Option<&[u8]>) -> RecordChange {
        RecordChange { volume: 3, key: key.to_vec(), value: value.map(<[u8]>::to_vec) }
    }

    fn entries(file: &RecordFile) -> (Vec<FileEntry>, Vec<(u64, u64)>) {
        let (mut entries, mut damage) = (Vec::new(), Vec::new());
        for met in file.walk(0) {
            match met.unwrap() {
                WalkItem::Entry(entry) => entries.push(entry),
                WalkItem::Damage { at, bytes, unread } => {
                    damage.push((at, bytes + u64::from(unread.is_some())))
                }
            }
        }
        (entries, damage)
    }

    #[test]
    fn what_was_appended_is_read_at_its_place_and_in_its_order_also_when_it_is_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = RecordFile::create(directory.path(), 3, 1).unwrap();
        let changes = [change(b"a", Some(b"one")), change(b"b", None), change(b"a", Some(&[7; 300_000]))];
        let locators = file.append(&changes).unwrap();
        file.sync().unwrap();
        assert_eq!((file.synced(), file.heading_fault()), (file.len(), None));
        let file = RecordFile::open(directory.path(), 3, &FileRow { number: 1, bytes: 0 }).unwrap();
        assert_eq!(file.read(locators[0], b"a").unwrap(), b"one");
        assert_eq!(file.read(locators[2], b"a").unwrap(), vec![7; 300_000]);
        assert_eq!(file.read(locators[2], b"b").unwrap(), b"", "of another key");
        let moved = Locator { at: locators[0].at + 1, ..locators[0] };
        assert_eq!(file.read(moved, b"a").unwrap(), b"");
        let (read, damage) = entries(&file);
        assert!(damage.is_empty());
        let as_changes: Vec<RecordChange> =
            read.into_iter().map(|entry| change(&entry.key, entry.value.as_deref())).collect();
        assert_eq!(as_changes, changes);
        assert_eq!(Locator::parse(&locators[2].to_bytes()), Some(locators[2]));
    }

    proptest! {
        /// One flipped byte costs the entry it is in, and is reported there; a truncation costs the entries
        /// behind it.
        #[test]
        fn damage_costs_the_entry_that_it_is_in_and_is_told(
            values in prop::collection::vec("[a-z]{0,40}", 1..12),
            place in any::<prop::sample::Index>(),
            flip in 1..=255_u8,
            cut in any::<bool>(),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let file = RecordFile::create(directory.path(), 3, 1).unwrap();
            let changes: Vec<RecordChange> =
                values.iter().map(|value| change(value.as_bytes(), Some(value.as_bytes()))).collect();
            let locators = file.append(&changes).unwrap();
            let path = path_of(directory.path(), 1);
            let mut bytes = std::fs::read(&path).unwrap();
            let place = HEADING as usize + place.index(bytes.len() - HEADING as usize);
            if cut { bytes.truncate(place) } else { bytes[place] ^= flip }
            std::fs::write(&path, &bytes).unwrap();
            let file = RecordFile::open(directory.path(), 3, &FileRow { number: 1, bytes: 0 }).unwrap();
            let (read, damage) = entries(&file);
            let is_whole = |locator: &&Locator| {
                let end = locator.at as usize + locator.length as usize;
                if cut { end <= place } else { end <= place || locator.at as usize > place }
            };
            let whole: Vec<Locator> = locators.iter().filter(is_whole).copied().collect();
            prop_assert_eq!(read.iter().map(|entry| entry.locator).collect::<Vec<_>>(), whole);
            let is_at_an_end = cut && locators.iter().any(|locator| locator.at as usize == place);
            prop_assert_eq!(damage.len(), usize::from(!is_at_an_end));
        }
    }
}
