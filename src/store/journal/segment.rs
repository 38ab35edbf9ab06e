//! A segment: one file of the journal.
//!
//! ```text
//! "offerdj1"  number u64 BE  group…
//! group   mark u32 BE  length u32 BE  crc32 u32 BE  body
//! body    00  { volume u32 BE  file u32 BE  bytes u64 BE }…   volume lengths when the segment began
//!         01  changes
//! ```
//! A group of length 0 closes the segment.
//!
//! Files are reused: overwriting is cheaper to sync than growing. The mark, which is the checksum of the
//! segment's number, and the group's checksum of number, offset and body reveal remains of earlier use.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::super::frame::checksum;
use super::super::record_file::FileNumber;
use crate::{RecordChange, VolumeNumber, changes, disk};

const MAGIC: &[u8; 8] = b"offerdj1";

const POSITIONS: u8 = 0;
pub(super) const CHANGES: u8 = 1;

const HEADING: usize = 16;

const HEAD: usize = 12;

/// The length of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) volume: VolumeNumber,
    /// Its file that grows.
    pub(crate) file: FileNumber,
    pub(crate) bytes: u64,
}

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u64,
    file: File,
    pub(super) end: u64,
}

#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The lengths of the volumes when it began, if readable.
    pub(super) positions: Option<Vec<Position>>,
    pub(super) groups: Vec<Vec<RecordChange>>,
    /// Offsets of bytes that are no group, though a whole one follows.
    pub(super) damaged_at: Vec<u64>,
    pub(super) closed: bool,
}

impl Segment {
    /// Begins a segment durably, in a spare file or a new one. The name is synced before the content is
    /// overwritten: a new header under the old name would look like damage to the old segment.
    pub(super) fn begin(
        directory: &Path,
        number: u64,
        spare: Option<&Path>,
        positions: &[Position],
    ) -> io::Result<Self> {
        let path = path_of(directory, number);
        if let Some(spare) = spare {
            fs::rename(spare, &path)?;
        }
        let mut options = OpenOptions::new();
        let file = disk::open_file(options.write(true).create(true).truncate(false).mode(0o600), &path)?;
        File::open(directory)?.sync_all()?;
        file.write_all_at(&[MAGIC, &number.to_be_bytes()[..]].concat(), 0)?;
        let mut begun = Self { number, file, end: HEADING as u64 };
        begun.append(&positions_body(positions))?;
        begun.file.sync_all()?;
        Ok(begun)
    }

    /// Appends a group, or with no body closes the segment. It is durable after a [`sync`](Self::sync).
    pub(super) fn append(&mut self, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        let (mark, crc) = (mark(self.number), crc(self.number, self.end, body));
        let group = [&mark.to_be_bytes()[..], &length.to_be_bytes(), &crc.to_be_bytes(), body].concat();
        self.file.write_all_at(&group, self.end)?;
        self.end += group.len() as u64;
        Ok(())
    }

    pub(super) fn is_at(&self, directory: &Path) -> bool {
        disk::is_at(&self.file, &path_of(directory, self.number))
    }

    /// Once this returns, earlier appends survive a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

impl Contents {
    pub(super) fn of(number: u64, bytes: &[u8]) -> Self {
        let mut contents = Self::default();
        if bytes.get(..HEADING) != Some(&[MAGIC, &number.to_be_bytes()[..]].concat()) {
            // Not begun, if it is a spare whose header a crash kept from being written.
            if bytes.starts_with(&MAGIC[..7])
                && let Some(found) = bytes.get(..8).filter(|found| found != MAGIC)
            {
                let found = found.escape_ascii();
                tracing::error!(number, %found, wanted = %MAGIC.escape_ascii(), "a segment of the journal has another format");
                contents.damaged_at.push(0);
            }
            if let Some(next) = next_group(number, bytes, 0) {
                contents.damaged_at.push(0);
                contents.damaged_at.dedup();
                contents.read_from(number, bytes, next);
            }
            return contents;
        }
        contents.read_from(number, bytes, HEADING);
        contents
    }

    fn read_from(&mut self, number: u64, bytes: &[u8], mut at: usize) {
        loop {
            match group(number, bytes, at) {
                Some([]) => {
                    self.closed = true;
                    return;
                }
                Some(body) => {
                    if self.take(body).is_none() {
                        self.damaged_at.push(at as u64);
                    }
                    at += HEAD + body.len();
                }
                None => {
                    let Some(next) = next_group(number, bytes, at) else { return };
                    self.damaged_at.push(at as u64);
                    at = next;
                }
            }
        }
    }

    fn take(&mut self, body: &[u8]) -> Option<()> {
        match body.split_first()? {
            (&CHANGES, changes) => self.groups.push(changes::read(changes)?),
            (&POSITIONS, positions) => self.positions = Some(read_positions(positions)?),
            _ => return None,
        }
        Some(())
    }
}

fn positions_body(positions: &[Position]) -> Vec<u8> {
    let position = |Position { volume, file, bytes }: &Position| {
        (u128::from(*volume) << 96 | u128::from(*file) << 64 | u128::from(*bytes)).to_be_bytes()
    };
    [POSITIONS].into_iter().chain(positions.iter().flat_map(position)).collect()
}

fn read_positions(body: &[u8]) -> Option<Vec<Position>> {
    let (positions, rest) = body.as_chunks::<16>();
    let position = |bytes: &[u8; 16]| {
        let all = u128::from_be_bytes(*bytes);
        Position { volume: (all >> 96) as u32, file: (all >> 64) as u32, bytes: all as u64 }
    };
    rest.is_empty().then(|| positions.iter().map(position).collect())
}

pub(super) fn path_of(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:016x}.log"))
}

pub(super) fn number_of(file: &Path) -> Option<u64> {
    number_in(file.file_name()?.to_str()?)
}

pub(super) fn number_in(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_suffix(".log")?, 16).ok()
}

fn group(number: u64, bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?.strip_prefix(&mark(number).to_be_bytes())?;
    let (length, rest) = rest.split_first_chunk()?;
    let (checksum, rest) = rest.split_first_chunk()?;
    let body = rest.get(..u32::from_be_bytes(*length) as usize)?;
    (crc(number, at as u64, body) == u32::from_be_bytes(*checksum)).then_some(body)
}

fn next_group(number: u64, bytes: &[u8], at: usize) -> Option<usize> {
    let mark = mark(number).to_be_bytes();
    let behind = at + 1;
    let mut marks = memmem::find_iter(bytes.get(behind..)?, &mark).map(|place| behind + place);
    marks.find(|at| group(number, bytes, *at).is_some())
}

fn mark(number: u64) -> u32 {
    crc32fast::hash(&number.to_be_bytes())
}

fn crc(number: u64, at: u64, body: &[u8]) -> u32 {
    checksum(&[&number.to_be_bytes(), &at.to_be_bytes(), body])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POSITIONS_HERE: [Position; 2] =
        [Position { volume: 0, file: 3, bytes: 1 << 40 }, Position { volume: 7, file: 1, bytes: 20 }];

    fn body(text: &str) -> Vec<u8> {
        let mut body = vec![CHANGES];
        changes::push(&mut body, 0, b"key", Some(text.as_bytes()));
        body
    }

    fn written(directory: &Path, number: u64, texts: &[String], close: bool) -> Vec<u8> {
        let mut segment = Segment::begin(directory, number, None, &POSITIONS_HERE).unwrap();
        texts.iter().for_each(|text| segment.append(&body(text)).unwrap());
        if close {
            segment.append(&[]).unwrap();
        }
        fs::read(path_of(directory, number)).unwrap()
    }

    fn texts(contents: &Contents) -> Vec<String> {
        let text = |value: &Vec<u8>| String::from_utf8(value.clone()).unwrap();
        contents.groups.iter().map(|group| text(group[0].value.as_ref().unwrap())).collect()
    }

    #[test]
    fn what_an_earlier_use_of_the_file_has_left_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let old: Vec<String> = (0..9).map(|nth| format!("old {nth}")).collect();
        written(directory, 3, &old, true);
        let spare = path_of(directory, 3);
        let mut again = Segment::begin(directory, 4, Some(&spare), &POSITIONS_HERE).unwrap();
        again.append(&body("new 0")).unwrap();
        let contents = Contents::of(4, &fs::read(path_of(directory, 4)).unwrap());
        assert_eq!(texts(&contents), ["new 0"]);
        assert!(!contents.closed && contents.damaged_at.is_empty());
        assert_eq!(contents.positions.as_deref(), Some(&POSITIONS_HERE[..]));
        assert_eq!(number_of(&path_of(directory, 4)), Some(4));
    }

    proptest! {
        /// After one flipped byte or a truncation, the groups read are a subsequence of the groups written,
        /// and a gap in the middle is noticed.
        #[test]
        fn damage_costs_the_group_it_is_in_and_is_told(
            old in prop::collection::vec("[a-z]{0,40}", 1..8),
            place in any::<prop::sample::Index>(),
            flip in 1..=255_u8,
            cut in any::<bool>(),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut bytes = written(directory.path(), 7, &old, true);
            let place = place.index(bytes.len());
            if cut { bytes.truncate(place) } else { bytes[place] ^= flip }
            let contents = Contents::of(7, &bytes);
            let read = texts(&contents);
            if cut {
                prop_assert_eq!(&read[..], &old[..read.len()]);
                prop_assert!(!contents.closed && contents.damaged_at.is_empty());
            } else {
                let missing = old.len() - read.len();
                prop_assert!(missing <= 1);
                let mut rest = read.iter().peekable();
                old.iter().for_each(|text| { rest.next_if_eq(&text); });
                prop_assert!(rest.next().is_none(), "in order: {:?} of {:?}", read, old);
                // The closing group shows that the one before it is missing, whichever it is.
                prop_assert!(!contents.damaged_at.is_empty() || !contents.closed);
            }
        }
    }
}
