//! The side in files of this machine.

use std::ops::Bound;

use super::error::CopyError;
use super::marker::{self, Marker};
use super::side::{CopySide, KeyedPayload, tree_of};
use super::spans;
use crate::engine::{EntryWalk, walk_or_error};
use crate::open::{self, OpenedFiles};
use crate::raw::read_clear;
use crate::sealing::key_file::KeyFile;
use crate::sealing::key_place::KeyPlace as _;
use crate::sealing::{data_key, id_of};
use crate::{BASE, MasterKey, RecordChange, StoreError, StoreOptions, Tree, framed, io_error};

pub(super) struct FilesSide {
    options: StoreOptions,
    master: MasterKey,
    opened: Option<OpenedFiles>,
}

impl FilesSide {
    pub(super) fn source(options: &StoreOptions, master: MasterKey) -> Result<Self, CopyError> {
        let mut files = Self::target(options, master);
        if !open::exists(&options.path) {
            return Err(CopyError::NoStore(files.place()));
        }
        files.open()?;
        Ok(files)
    }

    pub(super) fn target(options: &StoreOptions, master: MasterKey) -> Self {
        Self { options: options.clone(), master, opened: None }
    }

    fn open(&mut self) -> Result<(), CopyError> {
        self.opened = Some(open::open_with(&self.options, Some(self.master.clone()))?);
        Ok(())
    }

    fn opened(&self) -> &OpenedFiles {
        self.opened.as_ref().expect("it is opened before it is read")
    }

    fn opened_mut(&mut self) -> &mut OpenedFiles {
        self.opened.as_mut().expect("it is opened before it is written")
    }

    fn change(&self, (tree_key, payload): KeyedPayload) -> Result<RecordChange, CopyError> {
        let (tree, key) = tree_of(&tree_key, &self.place())?;
        let records = &self.opened().records;
        let payload = match tree {
            Tree::LeadKeys => data_key::in_volume(&payload, spans::of_lead(records.volumes(), key)),
            _ => payload,
        };
        let volume = records.volume_of(&**records, &tree_key)?;
        Ok(RecordChange { volume, value: Some(framed(&payload)), key: tree_key })
    }

    /// Whether there are no records, apart from those that are never copied.
    fn has_none(&self) -> Result<bool, CopyError> {
        let first = self.parts().into_iter().find_map(|part| self.walk(part, Vec::new()).next());
        Ok(first.transpose()?.is_none())
    }
}

impl CopySide for FilesSide {
    fn place(&self) -> String {
        format!("`{}` (`store.path`)", self.options.path.display())
    }

    fn parts(&self) -> Vec<u32> {
        self.opened().records.volumes().numbers()
    }

    fn entries(&self, part: u32, after: Vec<u8>) -> EntryWalk {
        let from = if after.is_empty() { Bound::Unbounded } else { Bound::Excluded(after) };
        walk_or_error(self.opened().records.walk_volume(part, &from))
    }

    fn payloads(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, CopyError> {
        let payload = |tree_key: &Vec<u8>| {
            let (tree, key) = tree_of(tree_key, &self.place())?;
            read_clear(&*self.opened().records, tree, key)?.map_err(CopyError::Broken)
        };
        keys.iter().map(payload).collect()
    }

    fn bytes(&self) -> Result<u64, CopyError> {
        let volumes = self.opened().records.volumes();
        let live = |number| Ok(volumes.volume(number)?.map_or(0, |volume| volume.index.live_bytes()));
        volumes.numbers().into_iter().map(live).sum()
    }

    fn keys(&self) -> Result<Option<Vec<u8>>, CopyError> {
        let path = KeyFile::of(&self.options.path).path().to_owned();
        let read = crate::disk::read_file(&path);
        Ok(Some(read.map_err(|source| io_error(&path, source))?))
    }

    fn begin(&mut self, master: &MasterKey) -> Result<Vec<u8>, CopyError> {
        let damages = self.opened().records.volumes().damages.all();
        if let Some(damage) = damages.iter().find(|damage| damage.costs_records()) {
            let reason = format!("{damage}; make a good store with `offerd store salvage`");
            return Err(StoreError::Disk(reason).into());
        }
        Ok(KeyFile::of(&self.options.path).sound(master)?)
    }

    fn sizes(&self, tell: &mut dyn FnMut(&[u8], u64)) -> Result<(), CopyError> {
        for number in self.parts() {
            for record in self.walk(number, Vec::new()) {
                let (key, payload) = record?;
                tell(&key, payload.len() as u64);
            }
        }
        Ok(())
    }

    fn look(&mut self, keys: &[u8], master: &MasterKey) -> Result<Option<Marker>, CopyError> {
        let file = KeyFile::of(&self.options.path);
        if !open::exists(&self.options.path) && !file.is_there() {
            return Ok(None);
        }
        let target = self.place();
        let not_empty = |found: &str| CopyError::NotEmpty { target: target.clone(), found: found.to_owned() };
        let theirs = file.sound(master).ok().and_then(|found| id_of(&found, master).ok());
        if theirs.is_none_or(|theirs| Some(theirs) != id_of(keys, master).ok()) {
            return Err(not_empty("it has another store"));
        }
        if !open::exists(&self.options.path) {
            return Ok(None);
        }
        self.open()?;
        match marker::of(self)? {
            Some(marker) => Ok(Some(marker)),
            // An earlier attempt got this far.
            None if self.has_none()? => Ok(None),
            None => Err(not_empty("it has records")),
        }
    }

    fn prepare(&mut self, keys: &[u8], _marker: &Marker, source: &impl CopySide) -> Result<(), CopyError> {
        marker::claim(&self.options.path).map_err(|error| io_error(&self.options.path, error))?;
        let is_open = self.opened.is_some();
        if !is_open || self.keys()?.as_deref() != Some(keys) {
            self.opened = None;
            KeyFile::of(&self.options.path).restore(keys)?;
            self.open()?;
        }
        if marker::of(self)?.is_some() {
            return Ok(());
        }
        let begins = spans::planned(source, &self.options)?;
        let volumes = self.opened().records.volumes();
        let there = volumes.numbers();
        for (number, begins) in (BASE + 1..).zip(begins) {
            if !there.contains(&number) {
                volumes.add(number, begins)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, records: Vec<KeyedPayload>, marker: Option<&Marker>) -> Result<(), CopyError> {
        let mut changes = records.into_iter().map(|one| self.change(one)).collect::<Result<Vec<_>, _>>()?;
        let (key, value) = (Marker::tree_key(), marker.map(Marker::raw));
        changes.push(RecordChange { volume: BASE, key, value });
        self.opened_mut().committer.writer.write_as_is(changes).map_err(StoreError::Disk)?;
        Ok(marker::release(&self.options.path).map_err(|error| io_error(&self.options.path, error))?)
    }

    fn finish(&mut self) -> Result<(), CopyError> {
        Ok(self.opened_mut().committer.finish().map_err(StoreError::Disk)?)
    }
}
