//! Takes lost records from a backup.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use super::super::engine::StoreBackend;
use super::super::open::OpenedFiles;
use super::super::raw::read_clear;
use super::super::records::StoredRecords;
use super::super::registry::audit::{self, Chain};
use super::super::registry::entities::LeadRecord;
use super::super::registry::suppressions;
use super::super::sealing::data_key::{self, DataKey};
use super::super::sealing::owner;
use super::{BegunSalvage, SalvageError, anchor};
use crate::{
    BASE, Commit, ReadResult, RecordChange, Seal, StoreError, TREES, Tree, VolumeSelector, codec, framed,
    unless_broken,
};

const AT_ONCE: usize = 128;

/// Trees whose keys begin with the uuid of a rate table.
const OF_TABLES: [Tree; 7] = [
    Tree::RateTables,
    Tree::LaterDecisions,
    Tree::Answers,
    Tree::Calls,
    Tree::Clicks,
    Tree::Displays,
    Tree::Fundings,
];

/// Append-only trees in the base, which may come back: a missing record was not removed on purpose.
const ADDED_TO: [Tree; 6] = [
    Tree::Companies,
    Tree::Templates,
    Tree::PaidClicks,
    Tree::PartnerEvents,
    Tree::ErasedReports,
    Tree::Transcripts,
];

/// Trees in the base whose missing records are not counted: they are short-lived, or counted elsewhere.
const NOT_COUNTED: [Tree; 4] = [Tree::Meta, Tree::LeadKeys, Tree::OpenTables, Tree::Prefills];

pub(super) struct Rescue<'a> {
    old: &'a Arc<StoredRecords>,
    begun: &'a mut BegunSalvage,
    /// The newest generation of wrapping key in each slot, according to the remaining data keys.
    generations: HashMap<u16, u32>,
    /// The leads of the backup that are there, or can be restored.
    there: BTreeSet<Uuid>,
    waiting: Vec<Commit>,
}

impl<'a> Rescue<'a> {
    pub(super) fn new(
        old: &'a Arc<StoredRecords>,
        begun: &'a mut BegunSalvage,
    ) -> Result<Self, SalvageError> {
        let (new, mut generations) = (&begun.new.records, HashMap::<u16, u32>::new());
        if old.sealing().own().bytes() != new.sealing().own().bytes() {
            return Err(SalvageError::OtherStore);
        }
        for (lead, kept) in data_keys(new)? {
            let slot = generations.entry(new.sealing().slots.slot_of(lead)).or_default();
            *slot = (*slot).max(data_key::generation_of(&kept).unwrap_or(0));
        }
        Ok(Self { old, begun, generations, there: BTreeSet::new(), waiting: Vec::new() })
    }

    pub(super) fn all(mut self, takes_lists: bool) -> Result<(), StoreError> {
        for (lead, kept) in data_keys(self.old)? {
            if !data_key::is_destroyed(&kept) {
                match self.is_there(lead, &kept)? {
                    Some(true) => drop(self.there.insert(lead)),
                    Some(false) => {}
                    None => drop(self.begun.salvaged.held_back.insert(lead)),
                }
            }
        }
        for lead in self.there.clone() {
            self.lead(lead)?;
        }
        for tree in Tree::FEEDS.into_iter().chain(ADDED_TO) {
            self.tree(tree)?;
        }
        if takes_lists {
            let mark = suppressions::salvaged(0, None).0;
            self.missing(Tree::Suppressions, |key| key != mark)?;
        }
        self.audit()?;
        self.write()?;
        self.count_lost()
    }

    fn missing(&mut self, tree: Tree, is_wanted: impl Fn(&[u8]) -> bool) -> Result<(), StoreError> {
        for record in self.old.scan(tree, &[]) {
            let (key, payload) = record?;
            if is_wanted(&key) && !self.has(tree, &key)? {
                self.note_taken(tree, 1);
                self.put(Commit::new().put(tree, key, payload))?;
            }
        }
        Ok(())
    }

    fn note_taken(&mut self, tree: Tree, records: u64) {
        *self.begun.salvaged.from_backup.entry(tree).or_default() += records;
    }

    /// Takes the missing records of the audit log, if the backup's chain is intact and agrees with ours.
    fn audit(&mut self) -> Result<(), StoreError> {
        let mut chain = Chain::behind(anchor(self.old)?);
        let mut forks = Vec::new();
        for record in self.old.scan(Tree::Audit, audit::RECORDS) {
            let (place, payload) = record?;
            chain.take(&place, &payload, codec::decode_json(&payload).ok());
            let ours = unless_broken(self.begun.new.records.get(Tree::Audit, &place))?;
            if ours.is_some_and(|ours| ours != payload) {
                forks.push(place);
            }
        }
        if !forks.is_empty() || chain.verdict().broken.is_some() {
            forks.iter().for_each(|place| self.begun.salvaged.note_untaken(Tree::Audit, place));
            return Ok(());
        }
        let gone = anchor(&self.begun.new.records)?.map_or(0, |anchor| anchor.number);
        let is_wanted = |key: &[u8]| if key == audit::ANCHOR { gone == 0 } else { audit::number(key) > gone };
        self.missing(Tree::Audit, is_wanted)
    }

    /// Counts the records of the base that only the backup has. Broken ones are counted when left out.
    fn count_lost(self) -> Result<(), StoreError> {
        let Self { begun: BegunSalvage { new, damaged, salvaged }, there, .. } = self;
        if !damaged.contains(&BASE) {
            return Ok(());
        }
        let mark = suppressions::salvaged(0, None).0;
        let gone = anchor(&new.records)?.map_or(0, |anchor| anchor.number);
        let of_base =
            TREES.iter().filter(|row| row.kept == VolumeSelector::Base && !NOT_COUNTED.contains(&row.tree));
        for row in of_base {
            let tree = row.tree;
            let keys: Box<dyn Iterator<Item = ReadResult<Vec<u8>>>> = match row.seal {
                Seal::Lead => Box::new(self.old.owners(tree, &[], &[]).filter_map(|owned| {
                    owned.map(|(lead, key)| there.contains(&lead).then_some(key)).transpose()
                })),
                _ => self.old.keys(tree, &[]),
            };
            for key in keys {
                let key = key?;
                let has_gone = tree == Tree::Audit && key != audit::ANCHOR && audit::number(&key) <= gone;
                if key != mark
                    && !has_gone
                    && read_clear(&*new.records, tree, &key)?.is_ok_and(|found| found.is_none())
                {
                    salvaged.note_untaken(tree, &key);
                }
            }
        }
        Ok(())
    }

    /// Whether a lead of the backup is there, or its data key could be restored; `false` if it was erased or
    /// dropped with its time, `None` if that is uncertain.
    fn is_there(&mut self, lead: Uuid, kept_then: &[u8]) -> Result<Option<bool>, StoreError> {
        let BegunSalvage { new: OpenedFiles { records, committer, .. }, damaged, salvaged } =
            &mut *self.begun;
        let (old, new) = (self.old.sealing(), records.sealing());
        let base_is_whole = !damaged.contains(&BASE);
        let seen = self.generations.get(&new.slots.slot_of(lead)).copied().unwrap_or(0);
        let newest = new.generation(lead).max(seen);
        let kept = read_clear(&**records, Tree::LeadKeys, &new.slots.key_of(lead))?;
        let volume = match kept {
            Ok(Some(kept)) if data_key::is_destroyed(&kept) => return Ok(Some(false)),
            Ok(Some(kept)) => {
                if let Ok(Some(DataKey::Kept(_))) = new.data_key(&**records, lead)? {
                    return Ok(Some(true));
                }
                if !base_is_whole && data_key::generation_of(&kept) != Some(newest) {
                    return Ok(None);
                }
                data_key::volume_of(&kept)
            }
            // A missing data key in an undamaged base was dropped with its time.
            Ok(None) if base_is_whole => return Ok(Some(false)),
            Ok(None) | Err(_) if salvaged.keys_of_backup || old.generation(lead) != newest => {
                return Ok(None);
            }
            Ok(None) | Err(_) => data_key::volume_of(kept_then),
        };
        let Ok(Some(DataKey::Kept(key))) = old.data_key(&**self.old, lead)? else { return Ok(None) };
        let value = Some(framed(&new.kept(lead, &key, volume)));
        let key = Tree::LeadKeys.tree_key(&new.slots.key_of(lead));
        let change = RecordChange { volume: BASE, key, value };
        committer.writer.write_as_is(vec![change]).map_err(StoreError::Disk)?;
        Ok(Some(true))
    }

    fn lead(&mut self, lead: Uuid) -> Result<(), StoreError> {
        let mut commit = Commit::new().about(lead);
        let mut taken: BTreeMap<Tree, u64> = BTreeMap::new();
        let of_lead = [Tree::Leads, Tree::LeadTables, Tree::LeadActions].map(|tree| (tree, *lead.as_bytes()));
        let first = self.old.scan(Tree::Leads, lead.as_bytes());
        let first = first.filter_map(|record| LeadRecord::first_table_in(&record.ok()?.1));
        let listed = self.old.scan(Tree::LeadTables, lead.as_bytes());
        let listed = listed.filter_map(|record| record.ok()?.0.get(16..32)?.try_into().ok());
        let tables: Vec<[u8; 16]> = first.map(Uuid::into_bytes).chain(listed).collect();
        let of_tables = tables.into_iter().flat_map(|table| OF_TABLES.map(|tree| (tree, table)));
        for (tree, uuid) in of_lead.into_iter().chain(of_tables) {
            // A count's key has the number of an offer in the last 12 bits of its table.
            let is_count = matches!(tree, Tree::Clicks | Tree::Displays | Tree::Fundings);
            let (prefix, rest) = uuid.split_at(if is_count { 14 } else { 16 });
            for record in self.old.scan(tree, prefix) {
                let (key, payload) = record?;
                let is_of_it =
                    rest.first().is_none_or(|bits| key.get(14).is_some_and(|of| of >> 4 == bits >> 4));
                if is_of_it && !self.has(tree, &key)? {
                    *taken.entry(tree).or_default() += 1;
                    commit = commit.put(tree, key, payload);
                }
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        self.begun.salvaged.leads_from_backup += u64::from(taken.contains_key(&Tree::Leads));
        taken.into_iter().for_each(|(tree, records)| self.note_taken(tree, records));
        self.put(commit)
    }

    fn tree(&mut self, tree: Tree) -> Result<(), StoreError> {
        for record in self.old.scan(tree, &[]) {
            let (key, payload) = record?;
            let volume = tree.time_ms(&key).map_or(BASE, |ms| self.begun.new.records.volumes().at(ms));
            if !self.begun.damaged.contains(&volume) || self.has(tree, &key)? {
                continue;
            }
            let stored = read_clear(&**self.old, tree, &key)?.ok().flatten();
            let commit = match (tree.row().seal, stored.as_deref().and_then(owner)) {
                (Seal::Lead, Some(lead)) if self.there.contains(&lead) => Commit::new().about(lead),
                (Seal::Lead, _) => continue,
                _ => Commit::new(),
            };
            self.note_taken(tree, 1);
            self.put(commit.put(tree, key, payload))?;
        }
        Ok(())
    }

    fn has(&self, tree: Tree, key: &[u8]) -> Result<bool, StoreError> {
        Ok(unless_broken(self.begun.new.records.get(tree, key))?.is_some())
    }

    fn put(&mut self, commit: Commit) -> Result<(), StoreError> {
        self.waiting.push(commit);
        if self.waiting.len() < AT_ONCE { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        self.begun.new.committer.execute_all(&std::mem::take(&mut self.waiting))
    }
}

fn data_keys(records: &StoredRecords) -> Result<Vec<(Uuid, Vec<u8>)>, StoreError> {
    Ok(records.data_keys(&[], &[]).filter_map(Result::transpose).collect::<Result<_, _>>()?)
}
