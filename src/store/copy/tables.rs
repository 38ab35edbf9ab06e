//! The side in a database.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use uuid::Uuid;

use super::error::CopyError;
use super::marker::{self, Marker};
use super::side::{CopySide, KeyedPayload, payload};
use crate::engine::{EntryWalk, RawEntry};
use crate::postgres::{DatabaseTables, END};
use crate::sealing::{id_of, is_unfinished};
use crate::{MasterKey, Tree, framed};
use offerd_base::config::PostgresSettings;

/// First the records of data keys, which determine where those of leads go; then all others.
const PARTS: [u32; 2] = [0, 1];

pub(super) struct DatabaseSide {
    tables: DatabaseTables,
    /// The nodes that were known at the start.
    known: BTreeSet<Uuid>,
    bytes: OnceCell<u64>,
    /// Whether the marker is written since the database was found free.
    is_claimed: bool,
}

impl DatabaseSide {
    pub(super) fn of(options: &PostgresSettings) -> Result<Self, CopyError> {
        let tables = DatabaseTables::of(options)?;
        Ok(Self { tables, known: BTreeSet::new(), bytes: OnceCell::new(), is_claimed: false })
    }

    fn is_free(&self) -> Result<(), CopyError> {
        let alive = self.tables.alive()?;
        if alive.is_empty() { Ok(()) } else { Err(CopyError::Alive(alive.into_iter().collect())) }
    }
}

impl CopySide for DatabaseSide {
    fn place(&self) -> String {
        "the database of `store.postgres.url`".to_owned()
    }

    fn parts(&self) -> Vec<u32> {
        PARTS.to_vec()
    }

    fn entries(&self, part: u32, after: Vec<u8>) -> EntryWalk {
        let keys = Tree::LeadKeys.row().prefix;
        let from = if after.is_empty() { after } else { [&after[..], &[0]].concat() };
        match part {
            0 => self.tables.walk(from.max(vec![keys]), keys + 1),
            _ => {
                let is_other = move |tree_key: &[u8]| tree_key.first() != Some(&keys);
                let others = self.tables.walk(from, END);
                Box::new(others.filter(move |entry| entry.as_ref().map_or(true, |(key, _)| is_other(key))))
            }
        }
    }

    fn payloads(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, CopyError> {
        let entries = self.tables.raw_of(keys.to_vec())?;
        let mut found: HashMap<Vec<u8>, Vec<u8>> =
            entries.into_iter().map(|entry| payload(entry, &self.place())).collect::<Result<_, _>>()?;
        Ok(keys.iter().map(|key| found.remove(key)).collect())
    }

    fn bytes(&self) -> Result<u64, CopyError> {
        match self.bytes.get() {
            Some(bytes) => Ok(*bytes),
            None => self.sizes(&mut |_, _| {}).map(|()| self.bytes.get().copied().unwrap_or(0)),
        }
    }

    fn keys(&self) -> Result<Option<Vec<u8>>, CopyError> {
        Ok(self.tables.keys()?)
    }

    fn begin(&mut self, master: &MasterKey) -> Result<Vec<u8>, CopyError> {
        let none = || CopyError::NoStore("the database of `store.postgres.url`".to_owned());
        if !self.tables.are_there()? {
            return Err(none());
        }
        self.is_free()?;
        self.known = self.tables.known()?;
        let keys = self.tables.keys()?.ok_or_else(none)?;
        // Opening the copy would finish the erasure before all data keys are there.
        if is_unfinished(&keys, master)? {
            return Err(CopyError::Unerased);
        }
        Ok(keys)
    }

    fn sizes(&self, tell: &mut dyn FnMut(&[u8], u64)) -> Result<(), CopyError> {
        let mut sum = 0;
        self.tables.sizes(&mut |key, bytes| {
            sum += bytes;
            tell(key, bytes);
        })?;
        // Already set to the same value, if at all.
        let _ = self.bytes.set(sum);
        Ok(())
    }

    fn end(&self) -> Result<(), CopyError> {
        if self.tables.known()?.is_subset(&self.known) { Ok(()) } else { Err(CopyError::Joined) }
    }

    fn look(&mut self, keys: &[u8], master: &MasterKey) -> Result<Option<Marker>, CopyError> {
        if !self.tables.are_there()? {
            return Ok(None);
        }
        self.is_free()?;
        if let Some(marker) = marker::of(self)? {
            return Ok(Some(marker));
        }
        let not_empty = |found: &str| CopyError::NotEmpty { target: self.place(), found: found.to_owned() };
        if self.tables.walk(Vec::new(), END).next().transpose()?.is_some() {
            return Err(not_empty("it has records"));
        }
        match self.tables.keys()? {
            // An earlier attempt got this far.
            Some(found) if id_of(&found, master).ok() == id_of(keys, master).ok() => Ok(None),
            Some(_) => Err(not_empty("it has the keys of another store")),
            None => Ok(None),
        }
    }

    fn prepare(&mut self, keys: &[u8], marker: &Marker, _source: &impl CopySide) -> Result<(), CopyError> {
        self.tables.make_with(Marker::tree_key(), marker.raw())?;
        Ok(self.tables.put_keys(keys)?)
    }

    fn write(&mut self, records: Vec<KeyedPayload>, marker: Option<&Marker>) -> Result<(), CopyError> {
        let mut put: Vec<RawEntry> = records.into_iter().map(|(key, value)| (key, framed(&value))).collect();
        let mut removed = Vec::new();
        match marker {
            Some(marker) => put.push((Marker::tree_key(), marker.raw())),
            None => removed.push(Marker::tree_key()),
        }
        self.tables.write(put, removed)?;
        // A node that started before the marker was written is visible now; a later one sees the marker.
        match std::mem::replace(&mut self.is_claimed, true) {
            false => self.is_free(),
            true => Ok(()),
        }
    }
}
