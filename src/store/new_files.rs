//! The record files of a store under construction, by volume.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

use super::changes::by_volume;
use super::manifest::{Manifest, VolumeRow};
use super::volumes::files::VolumeFiles;
use crate::{RecordChange, VolumeNumber, VolumeStart, disk};

pub(super) struct NewFiles {
    store: PathBuf,
    files: BTreeMap<VolumeNumber, VolumeFiles>,
}

impl NewFiles {
    pub(super) fn of(store: &Path) -> Self {
        Self { store: store.to_owned(), files: BTreeMap::new() }
    }

    pub(super) fn of_volume(&mut self, number: VolumeNumber) -> io::Result<&VolumeFiles> {
        Ok(match self.files.entry(number) {
            Entry::Occupied(files) => files.into_mut(),
            Entry::Vacant(place) => place.insert(VolumeFiles::create(&self.store, number)?),
        })
    }

    pub(super) fn append(&mut self, changes: Vec<RecordChange>) -> io::Result<()> {
        for (number, changes) in by_volume(changes) {
            self.of_volume(number)?.append(&changes)?;
        }
        Ok(())
    }

    /// Makes the files durable, and lists those of volumes with a known beginning: the store has no others.
    pub(super) fn list(self, begins: &BTreeMap<VolumeNumber, VolumeStart>) -> io::Result<()> {
        let mut manifest = Manifest::default();
        for (number, files) in self.files {
            let Some(begins) = begins.get(&number).copied() else { continue };
            files.sync()?;
            manifest.volumes.push(VolumeRow { number, begins, files: files.rows() });
        }
        manifest.write(&self.store, &disk::SyncFault::default())
    }
}
