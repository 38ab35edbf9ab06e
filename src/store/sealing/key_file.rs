//! The file of a store's keys, sealed by the master key ([`key_text`]).
//!
//! The file is only replaced as a whole, by a rename, so a crash leaves either the old or the new one. Then
//! the old one's bytes are overwritten, if the file system allows.
//!
//! A copy, `keys.copy`, makes damage to one of the two harmless. Both are replaced before anything relies on
//! the new keys, the copy last. A stale copy is replaced when the store is [opened](KeyFile::mend).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::super::disk;
use super::error::SealingError;
use super::key_place::KeyPlace;
use super::key_ring::KeyRing;
use super::key_text;
use super::master_key::MasterKey;

const NAME: &str = "keys";
const COPY: &str = "keys.copy";

/// The names of the file and its copy. A store without either is not opened.
pub(crate) const KEY_FILES: [&str; 2] = [NAME, COPY];

#[derive(Debug)]
pub(crate) struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    pub(crate) fn of(store: &Path) -> Self {
        Self { path: store.join(NAME) }
    }

    fn copy(&self) -> Self {
        Self { path: self.path.with_file_name(COPY) }
    }

    pub(crate) fn sound(&self, master: &MasterKey) -> Result<Vec<u8>, SealingError> {
        match self.opened_text(master) {
            Ok(text) => Ok(text),
            Err(lost) => self.copy().opened_text(master).map_err(|_| lost),
        }
    }

    fn opened_text(&self, master: &MasterKey) -> Result<Vec<u8>, SealingError> {
        let text = self.read()?;
        key_text::opened(&self.path, master, &text)?;
        // The id is outside the sealed part.
        match key_text::sealed_with(&self.path, &text)? == master.id() {
            true => Ok(text),
            false => Err(SealingError::Damaged(self.path.clone())),
        }
    }

    /// Makes the file and its copy equal again if the master key opens one of them, and names the damaged
    /// one. A missing file counts as damage; a missing copy does not: a crash may have come first.
    pub(crate) fn mend(&self, master: &MasterKey) -> Result<Option<&'static str>, SealingError> {
        let copy = self.copy();
        match (self.opened_text(master), copy.opened_text(master)) {
            (Err(SealingError::Io { error, .. }), _) if error.kind() == disk::NOT_A_FILE => {
                Err(self.io(error))
            }
            (Err(_), Ok(text)) => {
                self.replace(&text).map_err(|source| self.io(source))?;
                Ok(Some(NAME))
            }
            // A crash came between the two writes.
            (Ok(text), held) if held.as_ref().ok() != Some(&text) => {
                copy.replace(&text).map_err(|source| copy.io(source))?;
                let is_damaged =
                    matches!(held, Err(SealingError::Damaged { .. } | SealingError::Format { .. }));
                Ok(is_damaged.then_some(COPY))
            }
            _ => Ok(None),
        }
    }

    fn read(&self) -> Result<Vec<u8>, SealingError> {
        disk::read_file(&self.path).map_err(|source| self.io(source))
    }

    pub(crate) fn is_there(&self) -> bool {
        self.path.exists() || self.copy().path.exists()
    }

    /// Replaces the file and its copy. Once this returns, the new ones are durable and the old ones are gone.
    pub(crate) fn restore(&self, text: &[u8]) -> Result<(), SealingError> {
        let copy = self.copy();
        self.replace(text).map_err(|source| self.io(source))?;
        copy.replace(text).map_err(|source| copy.io(source))
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        discard(&disk::fresh(&self.path))?;
        let old = OpenOptions::new().write(true).open(&self.path);
        disk::replace(&self.path, text)?;
        disk::if_there(old)?.map_or(Ok(()), |old| write_over(&old))
    }

    fn io(&self, error: io::Error) -> SealingError {
        SealingError::Io { path: self.path.clone(), error }
    }
}

impl KeyPlace for KeyFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn exists(&self) -> Result<bool, SealingError> {
        Ok(self.is_there())
    }

    fn open(&self, master: &MasterKey) -> Result<KeyRing, SealingError> {
        key_text::opened(&self.path, master, &self.read()?)
    }

    fn sealed_with(&self) -> Result<String, SealingError> {
        let told = |file: &Self| key_text::sealed_with(&file.path, &file.read()?);
        told(self).or_else(|lost| told(&self.copy()).map_err(|_| lost))
    }

    fn write(&self, master: &MasterKey, ring: &KeyRing) -> Result<(), SealingError> {
        self.restore(&key_text::text(master, ring))
    }

    fn rewrite(&self, master: &MasterKey, ring: &KeyRing) -> Result<Vec<&'static str>, SealingError> {
        let is_lost = |file: &Self| {
            let held = file.opened_text(master).and_then(|text| key_text::opened(&file.path, master, &text));
            held.map_or(true, |held| *held.to_bytes() != *ring.to_bytes())
        };
        let files = [(Self { path: self.path.clone() }, NAME), (self.copy(), COPY)];
        let lost: Vec<_> = files.iter().filter(|(file, _)| is_lost(file)).map(|(_, name)| *name).collect();
        if !lost.is_empty() {
            self.write(master, ring)?;
        }
        Ok(lost)
    }
}

fn discard(fresh: &Path) -> io::Result<()> {
    let left = disk::if_there(OpenOptions::new().write(true).open(fresh))?;
    left.map_or(Ok(()), |left| write_over(&left).and_then(|()| fs::remove_file(fresh)))
}

fn write_over(old: &File) -> io::Result<()> {
    let length = usize::try_from(old.metadata()?.len()).unwrap_or(0);
    (&mut &*old).write_all(&vec![0; length])?;
    old.sync_all()
}

#[cfg(test)]
mod tests {
    use super::super::slots::SLOTS;
    use super::*;

    fn master(directory: &Path, name: &str) -> MasterKey {
        MasterKey::create(&directory.join(name)).unwrap()
    }

    #[test]
    fn a_ring_is_read_as_it_was_written_also_in_the_middle_of_a_renewal() {
        let directory = tempfile::tempdir().unwrap();
        let master = master(directory.path(), "master");
        let file = KeyFile::of(directory.path());
        let mut ring = file.create(&master).unwrap();
        ring.renew(7);
        file.write(&master, &ring).unwrap();
        let read = file.open(&master).unwrap();
        assert_eq!(*read.to_bytes(), *ring.to_bytes());
        assert_eq!(read.unfinished(), [7]);
        assert_eq!((read.current(7).generation, read.current(8).generation), (1, 0));

        (0..SLOTS).for_each(|slot| ring.forget(slot));
        file.write(&master, &ring).unwrap();
        let read = file.open(&master).unwrap();
        assert!(read.unfinished().is_empty() && read.wrapping(7, 0).is_none());
    }

    #[test]
    fn another_master_key_is_told_from_a_damaged_file() {
        let directory = tempfile::tempdir().unwrap();
        let (right, wrong) = (master(directory.path(), "right"), master(directory.path(), "wrong"));
        let file = KeyFile::of(directory.path());
        file.create(&right).unwrap();
        let refused = file.open(&wrong).err().unwrap().to_string();
        assert!(refused.contains(&right.id()) && refused.contains(&wrong.id()), "{refused}");

        let mut bytes = fs::read(&file.path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file.path, &bytes).unwrap();
        assert!(matches!(file.open(&right), Err(SealingError::Damaged { .. })));
        bytes[b"offerd keys ".len()] = b'2';
        fs::write(&file.path, &bytes).unwrap();
        let other = file.open(&right).err().unwrap().to_string();
        assert!(other.contains("has format `2`, this offerd reads `1`"), "{other}");
        bytes[b"offerd keys ".len()] = b'1';
        for length in 0..40 {
            fs::write(&file.path, &bytes[..length]).unwrap();
            assert!(matches!(file.open(&right), Err(SealingError::Damaged { .. })), "cut to {length}");
        }
    }

    #[test]
    fn damage_to_one_of_the_two_costs_nothing_and_neither_keeps_what_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let master = master(directory.path(), "master");
        let file = KeyFile::of(directory.path());
        let mut ring = file.create(&master).unwrap();
        let whole = fs::read(&file.path).unwrap();
        for (damaged, name) in [(file.path.clone(), NAME), (file.copy().path, COPY)] {
            for place in (0..key_text::HEADING_LEN).chain((key_text::HEADING_LEN..whole.len()).step_by(997)) {
                let mut bytes = whole.clone();
                bytes[place] ^= 1 << (place % 8);
                fs::write(&damaged, bytes).unwrap();
                assert!(*file.sound(&master).unwrap() == whole, "{name}, byte {place}");
                let told = file.mend(&master).unwrap();
                assert!(
                    told == Some(name) || (name == COPY && told.is_none()),
                    "{name}, byte {place}: {told:?}"
                );
                assert!(fs::read(&damaged).unwrap() == whole, "{name}");
            }
            fs::remove_file(&damaged).unwrap();
            file.mend(&master).unwrap();
            assert!(fs::read(&damaged).unwrap() == whole, "{name}");
        }
        // A crash between the two writes.
        ring.renew(7);
        (0..SLOTS).for_each(|slot| ring.forget(slot));
        let renewed = key_text::text(&master, &ring);
        file.replace(&renewed).unwrap();
        assert_eq!(file.mend(&master).unwrap(), None);
        assert!(fs::read(file.copy().path).unwrap() == renewed);
    }

    #[test]
    fn a_file_that_was_replaced_or_left_half_way_is_written_over() {
        let directory = tempfile::tempdir().unwrap();
        let master = master(directory.path(), "master");
        let file = KeyFile::of(directory.path());
        let ring = file.create(&master).unwrap();
        let [old, left] = ["old", "left"].map(|name| directory.path().join(name));
        let old_copy = directory.path().join("old copy");
        fs::hard_link(&file.path, &old).unwrap();
        fs::hard_link(&file.copy().path, &old_copy).unwrap();
        fs::write(&left, "half-way").unwrap();
        fs::hard_link(&left, file.path.with_extension("new")).unwrap();
        file.write(&master, &ring).unwrap();
        for gone in [old, old_copy, left] {
            assert!(fs::read(gone).unwrap().iter().all(|byte| *byte == 0));
        }
        assert!(file.open(&master).is_ok());
    }
}
