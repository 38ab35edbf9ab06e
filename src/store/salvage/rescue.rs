//! Takes lost records from a backup.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use super::super::broken::{ReadResult, unless_broken};
use super::super::changes::RecordChange;
use super::super::codec;
use super::super::commit::Commit;
use super::super::engine::StorageEngine;
use super::super::error::StoreError;
use super::super::frame::framed;
use super::super::open::OpenedFiles;
use super::super::raw::read_clear;
use super::super::records::StoredRecords;
use super::super::registry::audit::{self, AuditHead, Chain};
use super::super::registry::entities::LeadRecord;
use super::super::registry::suppressions;
use super::super::scan::{Scan, owners};
use super::super::sealing::data_key::{self, DataKey};
use super::super::sealing::owner;
use super::super::trees::{Seal, TREES, Tree, VolumeSelector};
use super::super::volume_number::{BASE, Number};
use super::super::volumes::time_ms;
use super::{SalvageError, Salvaged};

const AT_ONCE: usize = 128;

/// Append-only trees in the base, which may come back: a missing record was not removed on purpose.
const ADDED_TO: [Tree; 5] =
    [Tree::Companies, Tree::Templates, Tree::PaidClicks, Tree::PartnerEvents, Tree::Transcripts];

/// Trees in the base whose missing records are not counted: they are short-lived, or counted elsewhere.
const NOT_COUNTED: [Tree; 4] = [Tree::Meta, Tree::LeadKeys, Tree::OpenTables, Tree::Prefills];

pub(super) struct Rescue<'a> {
    old: &'a Arc<StoredRecords>,
    new: &'a mut OpenedFiles,
    damaged: &'a BTreeSet<Number>,
    keys_are_old: bool,
    /// The newest generation of wrapping key in each slot, according to the remaining data keys.
    generations: HashMap<u16, u32>,
    waiting: Vec<Commit>,
}

enum BackupLeadState {
    /// It is there, or can be restored.
    There,
    /// It was erased, or dropped with its time.
    Gone,
    Unknown,
}

impl<'a> Rescue<'a> {
    pub(super) fn new(
        old: &'a Arc<StoredRecords>,
        new: &'a mut OpenedFiles,
        damaged: &'a BTreeSet<Number>,
        keys_are_old: bool,
    ) -> Result<Self, SalvageError> {
        if old.sealing().own().bytes() != new.records.sealing().own().bytes() {
            return Err(SalvageError::OtherStore);
        }
        let mut generations: HashMap<u16, u32> = HashMap::new();
        for (lead, kept) in data_keys(&new.records)? {
            let slot = generations.entry(new.records.sealing().slots.slot_of(lead)).or_default();
            *slot = (*slot).max(data_key::generation_of(&kept).unwrap_or(0));
        }
        Ok(Self { old, new, damaged, keys_are_old, generations, waiting: Vec::new() })
    }

    pub(super) fn all(mut self, takes_lists: bool, salvaged: &mut Salvaged) -> Result<(), StoreError> {
        let mut there = BTreeSet::new();
        for (lead, kept) in data_keys(self.old)? {
            if data_key::is_destroyed(&kept) {
                continue;
            }
            match self.fate(lead, &kept)? {
                BackupLeadState::There => drop(there.insert(lead)),
                BackupLeadState::Gone => {}
                BackupLeadState::Unknown => drop(salvaged.held_back.insert(lead)),
            }
        }
        for lead in &there {
            self.lead(*lead, salvaged)?;
        }
        for tree in Tree::FEEDS.into_iter().chain(ADDED_TO) {
            self.tree(tree, &there, salvaged)?;
        }
        if takes_lists {
            let mark = suppressions::salvaged(0, None).0;
            self.missing(Tree::Suppressions, |key| key != mark, salvaged)?;
        }
        self.audit(salvaged)?;
        self.write()?;
        self.count_lost(&there, salvaged)
    }

    fn missing(
        &mut self,
        tree: Tree,
        is_wanted: impl Fn(&[u8]) -> bool,
        salvaged: &mut Salvaged,
    ) -> Result<(), StoreError> {
        for record in self.scan(tree, &[]) {
            let (key, payload) = record?;
            if is_wanted(&key) && !self.has(tree, &key)? {
                *salvaged.from_backup.entry(tree).or_default() += 1;
                self.put(Commit::new().put(tree, key, payload))?;
            }
        }
        Ok(())
    }

    /// Takes the missing records of the audit log, if the backup's chain is intact and agrees with ours.
    fn audit(&mut self, salvaged: &mut Salvaged) -> Result<(), StoreError> {
        let mut chain = Chain::behind(anchor(self.old)?);
        let mut forks = Vec::new();
        for record in self.scan(Tree::Audit, audit::RECORDS) {
            let (place, payload) = record?;
            chain.take(&place, &payload, codec::decode_json(&payload).ok());
            let ours = unless_broken(self.new.records.get(Tree::Audit, &place))?;
            if ours.is_some_and(|ours| ours != payload) {
                forks.push(place);
            }
        }
        if !forks.is_empty() || chain.verdict().broken.is_some() {
            forks.iter().for_each(|place| salvaged.note_untaken(Tree::Audit, place));
            return Ok(());
        }
        let gone = anchor(&self.new.records)?.map_or(0, |anchor| anchor.number);
        let is_wanted = |key: &[u8]| if key == audit::ANCHOR { gone == 0 } else { audit::number(key) > gone };
        self.missing(Tree::Audit, is_wanted, salvaged)
    }

    /// Counts the records of the base that only the backup has. Broken ones are counted when left out.
    fn count_lost(&self, there: &BTreeSet<Uuid>, salvaged: &mut Salvaged) -> Result<(), StoreError> {
        if !self.damaged.contains(&BASE) {
            return Ok(());
        }
        let mark = suppressions::salvaged(0, None).0;
        let gone = anchor(&self.new.records)?.map_or(0, |anchor| anchor.number);
        let of_base =
            TREES.iter().filter(|row| row.kept == VolumeSelector::Base && !NOT_COUNTED.contains(&row.tree));
        for row in of_base {
            let tree = row.tree;
            let old = Arc::<StoredRecords>::clone(self.old);
            let keys: Box<dyn Iterator<Item = ReadResult<Vec<u8>>>> = match row.seal {
                Seal::Lead => Box::new(owners(old, tree, &[], &[]).filter_map(|owned| {
                    owned.map(|(lead, key)| there.contains(&lead).then_some(key)).transpose()
                })),
                _ => old.keys(tree, &[]),
            };
            for key in keys {
                let key = key?;
                let has_gone = tree == Tree::Audit && key != audit::ANCHOR && audit::number(&key) <= gone;
                if key != mark
                    && !has_gone
                    && read_clear(&*self.new.records, tree, &key)?.is_ok_and(|found| found.is_none())
                {
                    salvaged.note_untaken(tree, &key);
                }
            }
        }
        Ok(())
    }

    /// Decides the state of a lead. Restores the data key of one that is there or can be restored.
    fn fate(&mut self, lead: Uuid, kept_then: &[u8]) -> Result<BackupLeadState, StoreError> {
        let records = Arc::clone(&self.new.records);
        let (old, new) = (self.old.sealing(), records.sealing());
        let base_is_whole = !self.damaged.contains(&BASE);
        let seen = self.generations.get(&new.slots.slot_of(lead)).copied().unwrap_or(0);
        let newest = new.generation(lead).max(seen);
        let kept = read_clear(&*records, Tree::LeadKeys, &new.slots.place(lead))?;
        let volume = match kept {
            Ok(Some(kept)) if data_key::is_destroyed(&kept) => return Ok(BackupLeadState::Gone),
            Ok(Some(kept)) => {
                if let Ok(Some(DataKey::Kept(_))) = new.data_key(&*records, lead)? {
                    return Ok(BackupLeadState::There);
                }
                if !base_is_whole && data_key::generation_of(&kept) != Some(newest) {
                    return Ok(BackupLeadState::Unknown);
                }
                data_key::volume_of(&kept)
            }
            // A missing data key in an undamaged base was dropped with its time.
            Ok(None) if base_is_whole => return Ok(BackupLeadState::Gone),
            Ok(None) | Err(_) if self.keys_are_old || old.generation(lead) != newest => {
                return Ok(BackupLeadState::Unknown);
            }
            Ok(None) | Err(_) => data_key::volume_of(kept_then),
        };
        let Ok(Some(DataKey::Kept(key))) = old.data_key(&**self.old, lead)? else {
            return Ok(BackupLeadState::Unknown);
        };
        let key_kept = new.kept(lead, &key, volume);
        let place = Tree::LeadKeys.sled_key(&new.slots.place(lead));
        let change = RecordChange { volume: BASE, key: place, value: Some(framed(&key_kept)) };
        self.new.committer.writer.write_as_is(vec![change]).map_err(StoreError::Disk)?;
        Ok(BackupLeadState::There)
    }

    fn lead(&mut self, lead: Uuid, salvaged: &mut Salvaged) -> Result<(), StoreError> {
        let mut commit = Commit::new().about(lead);
        let mut taken: BTreeMap<Tree, u64> = BTreeMap::new();
        let of_lead = [Tree::Leads, Tree::LeadTables, Tree::LeadActions].map(|tree| (tree, *lead.as_bytes()));
        let first = self.scan(Tree::Leads, lead.as_bytes());
        let first = first.filter_map(|record| LeadRecord::first_table_in(&record.ok()?.1));
        let listed = self.scan(Tree::LeadTables, lead.as_bytes());
        let listed = listed.filter_map(|record| record.ok()?.0.get(16..32)?.try_into().ok());
        let tables: Vec<[u8; 16]> = first.map(Uuid::into_bytes).chain(listed).collect();
        let of_tables = tables.into_iter().flat_map(|table| {
            [Tree::RateTables, Tree::Asks, Tree::Answers, Tree::Calls].map(|tree| (tree, table))
        });
        for (tree, prefix) in of_lead.into_iter().chain(of_tables) {
            for record in self.scan(tree, &prefix) {
                let (key, payload) = record?;
                if !self.has(tree, &key)? {
                    *taken.entry(tree).or_default() += 1;
                    commit = commit.put(tree, key, payload);
                }
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        salvaged.leads_from_backup += u64::from(taken.contains_key(&Tree::Leads));
        for (tree, records) in taken {
            *salvaged.from_backup.entry(tree).or_default() += records;
        }
        self.put(commit)
    }

    fn tree(
        &mut self,
        tree: Tree,
        there: &BTreeSet<Uuid>,
        salvaged: &mut Salvaged,
    ) -> Result<(), StoreError> {
        for record in self.scan(tree, &[]) {
            let (key, payload) = record?;
            let volume = time_ms(tree, &key).map_or(BASE, |ms| self.new.records.volumes().at(ms));
            if !self.damaged.contains(&volume) || self.has(tree, &key)? {
                continue;
            }
            let stored = read_clear(&**self.old, tree, &key)?.ok().flatten();
            let commit = match (tree.row().seal, stored.as_deref().and_then(owner)) {
                (Seal::Lead, Some(lead)) if there.contains(&lead) => Commit::new().about(lead),
                (Seal::Lead, _) => continue,
                _ => Commit::new(),
            };
            *salvaged.from_backup.entry(tree).or_default() += 1;
            self.put(commit.put(tree, key, payload))?;
        }
        Ok(())
    }

    fn scan(&self, tree: Tree, prefix: &[u8]) -> Scan {
        self.old.scan(tree, prefix)
    }

    fn has(&self, tree: Tree, key: &[u8]) -> Result<bool, StoreError> {
        Ok(unless_broken(self.new.records.get(tree, key))?.is_some())
    }

    fn put(&mut self, commit: Commit) -> Result<(), StoreError> {
        self.waiting.push(commit);
        if self.waiting.len() < AT_ONCE { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        self.new.committer.execute_all(&std::mem::take(&mut self.waiting))
    }
}

fn anchor(records: &StoredRecords) -> Result<Option<AuditHead>, StoreError> {
    let kept = unless_broken(records.get(Tree::Audit, audit::ANCHOR))?;
    Ok(kept.and_then(|kept| codec::decode_json(&kept).ok()))
}

fn data_keys(records: &StoredRecords) -> Result<Vec<(Uuid, Vec<u8>)>, StoreError> {
    Ok(records.data_keys(&[], &[]).filter_map(Result::transpose).collect::<Result<_, _>>()?)
}
