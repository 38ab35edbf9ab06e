//! Salvage: makes a good store of what is left of a damaged one, and of what a backup has of the rest.
//!
//! 1. Every sound record of the record files and the journal goes into a new store, built beside its place.
//!    In damaged files also the index finds records, as it does for who reads the damaged store.
//! 2. The backup is restored into a temporary store. Unreadable records of leads are taken from there
//!    (`rescue.rs`).
//! 3. Records without a lead come back only where that cannot undo a removal at someone's cost: suppression
//!    lists and the audit log do, tokens and users do not. Others that only the backup has count as lost.
//! 4. Records that are still unreadable are left out and reported. The new store is checked and put in place.
//!
//! # Opt-outs stay in force
//! If entries of suppression lists may be lost, the new store records the time until which the backup has
//! them, or that nobody may be asked about anyone ([`SuppressionDoubt`]).
//!
//! # Erased leads do not come back
//! The latest state of a lead is the record of its data key. If that is damaged too, the wrapping keys
//! decide: each erasure gives those of a slot a new generation. A lead comes back from a backup only if its
//! slot still has the generation that it had in the backup, or if the remaining data key is of the newest
//! one. The others are uncertain: they are [held back](Salvaged::held_back), and reported.
//!
//! # Persons stay findable
//! The keys of a backup lack those that have hashed contacts since, or anew after an erasure: these contacts
//! are hashed once more. If contacts may be lost themselves, the next start or look-up indexes all leads.

mod elsewhere;
mod rescue;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::Utc;
use uuid::Uuid;

pub use self::elsewhere::copy_elsewhere;
use self::rescue::Rescue;
use self::source::SalvageSource;
use super::backup::{Restore, RestoreError, for_each_piece};
use super::check::CheckReport;
use super::engine::StoreBackend;
use super::lock::Lock;
use super::open::{self, OpenedFiles};
use super::raw::RawValues as _;
use super::records::StoredRecords;
use super::registry::audit::{self, AuditGap, AuditHead, Chain};
use super::registry::contacts;
use super::registry::entities::LeadRecord;
use super::registry::identities::UnkeyedIdentity;
use super::registry::opt_outs::SuppressionDoubt;
use super::registry::suppressions::{self, SuppressionList};
use super::sealing::key_file::KeyFile;
use super::sealing::key_place::KeyPlace as _;
use super::sealing::{GIVE, data_key};
use super::staging::{LeftOver, StagingDirectory, StagingError};
use crate::{
    BASE, Commit, DamageKind, FileDamage, MasterKey, PhaseProgress, ProgressCallback, ReadError, ReadResult,
    RecordChange, Seal, SealingError, StoreError, StoreOptions, TREES, Tree, TreeRow, VolumeNumber, codec,
    owner, unless_broken,
};

/// Identities hashed anew in one group.
const AT_ONCE: usize = 1024;

/// Number of records that show whether keys belong to a store.
const LOOKED_AT: usize = 100;

/// The result of a salvage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// The check of the new store.
    pub report: CheckReport,
    /// The damage found in the old one.
    pub damages: Vec<FileDamage>,
    /// The damaged files of its journal.
    pub journal: Vec<String>,
    /// Whether its keys were lost and those of the backup were used.
    pub keys_of_backup: bool,
    /// Records taken from the backup, by tree.
    pub from_backup: BTreeMap<Tree, u64>,
    /// Leads taken from the backup.
    pub leads_from_backup: u64,
    /// Records known to be lost, by tree.
    pub lost: BTreeMap<Tree, u64>,
    /// The keys of these.
    counted: BTreeSet<Vec<u8>>,
    /// Keys that the indexes of damaged volumes name, and whose records are unreadable.
    named: Vec<Vec<u8>>,
    /// Trees with lost records that the backup has and that were not taken from it.
    pub untaken: BTreeSet<Tree>,
    /// The users and pauses among these, by name.
    pub lost_names: BTreeMap<Tree, Vec<String>>,
    /// Whether records without a lead may be lost that no backup could name.
    pub may_lack_unknown: bool,
    /// The gaps of the audit log, which one of its records names.
    pub audit_gaps: Vec<AuditGap>,
    /// The open doubt about the suppression lists.
    pub doubt: Option<SuppressionDoubt>,
    /// Leads whose record is lost.
    pub leads_lost: BTreeSet<Uuid>,
    /// Leads of the backup that did not come back, since they may have been erased meanwhile.
    pub held_back: BTreeSet<Uuid>,
}

/// Why nothing was salvaged. There is no new store then, and the damaged one is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// The directory has no store.
    #[error("there is no store in `{0}`")]
    NoStore(PathBuf),
    /// The directory for the new store is not empty.
    #[error("`{0}` is not empty: a store is salvaged into a new directory only")]
    NotEmpty(PathBuf),
    /// A killed process has left these directories.
    #[error(transparent)]
    LeftOver(LeftOver),
    /// No master key is configured.
    #[error("the store is encrypted, and no master key is given: {GIVE}", GIVE = GIVE)]
    NoMasterKey,
    /// The file of the store's keys is lost, and no backup is given.
    #[error("`{0}` is lost, and without it no personal data can be read: give a backup, which has it")]
    KeysLost(PathBuf),
    /// The backup is of another store.
    #[error("the backup is of another store")]
    OtherStore,
    /// The backup cannot be read.
    #[error("the backup cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// The backup cannot be used.
    #[error("the backup cannot be used: {0}")]
    Backup(#[from] RestoreError),
    /// The old store cannot be read, or the new one cannot be created.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl From<StagingError> for SalvageError {
    fn from(error: StagingError) -> Self {
        match error {
            StagingError::NotEmpty { path, .. } => Self::NotEmpty(path),
            StagingError::LeftOver(left) => Self::LeftOver(left),
            StagingError::Store(error) => Self::Store(error),
        }
    }
}

/// Makes a good store in `into` from a damaged one, which nobody has open and which is not changed. Once this
/// returns `Ok`, the new store is in its place and durable. After damage, its audit log names `who`.
pub fn salvage(
    options: &StoreOptions,
    into: &Path,
    backup: Option<&mut dyn Read>,
    who: &str,
    tell: ProgressCallback<'_>,
) -> Result<Salvaged, SalvageError> {
    let store = &options.path;
    owner::check(store)?;
    owner::check(into)?;
    if !open::exists(store) {
        return Err(SalvageError::NoStore(store.clone()));
    }
    let _lock = Lock::take_to_read(store)?;
    let source = SalvageSource::of(store)?;
    let master = MasterKey::find(options.master_key_file.as_deref(), store)
        .map_err(StoreError::from)?
        .ok_or(SalvageError::NoMasterKey)?;
    let keys = keys_of(store, &master)?;
    let lost = || SalvageError::KeysLost(KeyFile::of(store).path().to_owned());
    if keys.is_none() && backup.is_none() {
        return Err(lost());
    }
    let place = StagingDirectory::begin(into)?;
    let restored = backup.map(|file| Restored::of(file, into, &master, tell)).transpose()?;
    let mut salvaged = source.copy(place.path(), tell)?;
    let new = StoreOptions { path: place.path().to_owned(), ..options.clone() };
    salvaged.keys_of_backup = keys.is_none();
    let of_backup = || Some(restored.as_ref()?.opened.records.sealing().key_file_text(&master));
    let keys = keys.or_else(of_backup).ok_or_else(lost)?;
    KeyFile::of(&new.path).restore(&keys).map_err(StoreError::Sealing)?;
    tell(PhaseProgress::begins("looking for records", None));
    let new = open::open_with(&new, Some(master))?;
    if salvaged.keys_of_backup && is_sealed_otherwise(&new) {
        return Err(SalvageError::OtherStore);
    }
    let mut begun = BegunSalvage { new, damaged: damaged_volumes(&salvaged.damages), salvaged };
    let mut lists = SalvagedLists::of(&begun)?;
    if let Some(restored) = &restored {
        tell(PhaseProgress::begins("reading the backup's records", None));
        lists.note_backup(restored)?;
        Rescue::new(&restored.opened.records, &mut begun)?.all(lists.may_lack)?;
    }
    begun.salvaged.may_lack_unknown = begun.damaged.contains(&BASE) && restored.is_none();
    drop(restored);
    tell(PhaseProgress::begins("reading every record", None));
    begun.leave_out_what_is_broken()?;
    begun.count_what_the_indexes_name()?;
    begun.find_what_is_missing()?;
    begun.restore_index_of_persons()?;
    lists.mark(&mut begun)?;
    begun.record_in_audit(who)?;
    begun.salvaged.report = place.finish_with(begun.new)?;
    Ok(begun.salvaged)
}

fn keys_of(store: &Path, master: &MasterKey) -> Result<Option<Vec<u8>>, SalvageError> {
    let file = KeyFile::of(store);
    match file.sound(master) {
        Ok(keys) => Ok(Some(keys)),
        Err(wrong @ SealingError::WrongMasterKey { .. }) => Err(StoreError::Sealing(wrong).into()),
        Err(_) => Ok(None),
    }
}

/// Whether the store's own key fails to open every examined record of its own.
fn is_sealed_otherwise(new: &OpenedFiles) -> bool {
    let own = TREES.iter().filter(|row| row.seal == Seal::Own);
    let scan = |row: &TreeRow| new.records.scan(row.tree, &[]).naming_broken();
    let mut records = own.flat_map(scan).take(LOOKED_AT).peekable();
    records.peek().is_some() && records.all(|record| record.is_err())
}

/// The new store, and what is known of the old one.
struct BegunSalvage {
    new: OpenedFiles,
    /// The damaged volumes of the old store.
    damaged: BTreeSet<VolumeNumber>,
    salvaged: Salvaged,
}

struct SalvagedLists {
    may_lack: bool,
    /// The time that an earlier salvage has marked them with.
    marked_ms: Option<i64>,
    /// The time until which the backup has them, if it has them completely.
    whole_until_ms: Option<i64>,
}

impl SalvagedLists {
    fn of(BegunSalvage { new, damaged, salvaged }: &BegunSalvage) -> Result<Self, StoreError> {
        let marked_ms = mark_of(&new.records).unwrap_or_default();
        let is_damaged = damaged.contains(&BASE) || !salvaged.journal.is_empty() || marked_ms == Some(0);
        Ok(Self { may_lack: is_damaged || !are_readable(&new.records)?, marked_ms, whole_until_ms: None })
    }

    fn note_backup(&mut self, backup: &Restored) -> Result<(), StoreError> {
        let records = &backup.opened.records;
        let mark = mark_of(records)?;
        if backup.is_whole && are_readable(records)? {
            // The backup of a salvaged store is only as complete as that store was.
            self.whole_until_ms = Some(mark.unwrap_or(backup.begun_at)).filter(|until| *until > 0);
        }
        Ok(())
    }

    fn mark(&self, begun: &mut BegunSalvage) -> Result<(), StoreError> {
        let mut until = self.marked_ms;
        // A restored store stays locked.
        if self.may_lack && until.is_none_or(|until| until >= 0) {
            until = Some(self.whole_until_ms.unwrap_or(0));
            let (key, list) = suppressions::salvaged(Utc::now().timestamp_millis(), self.whole_until_ms);
            begun.new.committer.execute_all(&[Commit::new().put(Tree::Suppressions, key, list)])?;
        }
        begun.salvaged.doubt = until.map(SuppressionDoubt::of_salvage);
        Ok(())
    }
}

fn mark_of(records: &StoredRecords) -> ReadResult<Option<i64>> {
    let mark = records.get(Tree::Suppressions, &suppressions::salvaged(0, None).0)?;
    let list = mark.and_then(|kept| codec::decode_json(&kept).ok());
    Ok(list.map(|list: SuppressionList| list.updated_at))
}

fn are_readable(records: &Arc<StoredRecords>) -> Result<bool, StoreError> {
    for record in records.scan(Tree::Suppressions, &[]).naming_broken() {
        match record {
            Err(ReadError::Broken(_)) => return Ok(false),
            record => drop(record?),
        }
    }
    Ok(true)
}

impl BegunSalvage {
    fn leave_out_what_is_broken(&mut self) -> Result<(), StoreError> {
        let records = Arc::clone(&self.new.records);
        let volumes = records.volumes();
        for number in volumes.numbers() {
            let within = volumes.with_base(number);
            let mut removed = Vec::new();
            for entry in records.walk_volume(number, &Bound::Unbounded)? {
                let (tree_key, _) = entry?;
                let Some((tree, key)) = Tree::split(&tree_key) else { continue };
                if records.sealing().read(&within, tree, key)?.is_err() {
                    self.salvaged.note_lost(tree, key);
                    removed.push(RecordChange { volume: number, key: tree_key, value: None });
                }
            }
            self.new.committer.writer.write_as_is(removed).map_err(StoreError::Disk)?;
        }
        Ok(())
    }

    /// Counts the unreadable records that the indexes of damaged volumes name and the new store lacks. A check
    /// of the damaged store counts the same, as broken.
    fn count_what_the_indexes_name(&mut self) -> Result<(), StoreError> {
        for tree_key in std::mem::take(&mut self.salvaged.named) {
            if let Some((tree, key)) = Tree::split(&tree_key)
                && self.new.records.raw(&tree_key)?.is_none()
            {
                self.salvaged.note_lost(tree, key);
            }
        }
        Ok(())
    }

    /// Appends a record of the salvage to the audit log if any of it may be lost. It names the gaps.
    fn record_in_audit(&mut self, who: &str) -> Result<(), StoreError> {
        let records = &self.new.records;
        let anchor = anchor(records)?;
        let gone = anchor.as_ref().map_or(0, |anchor| anchor.number);
        let mut chain = Chain::behind(anchor);
        let mut commit = Commit::new();
        let mut last = None;
        for record in records.scan(Tree::Audit, audit::RECORDS) {
            let (place, payload) = record?;
            // It had been removed, and the record of that is lost.
            if audit::number(&place) <= gone {
                commit = commit.remove(Tree::Audit, place);
                continue;
            }
            chain.take(&place, &payload, codec::decode_json(&payload).ok());
            last = Some((place, payload));
        }
        let gaps: Vec<AuditGap> = chain.unnamed().collect();
        let is_damaged = self.damaged.contains(&BASE) || !self.salvaged.journal.is_empty();
        if !is_damaged && gaps.is_empty() && commit.writes.is_empty() {
            return Ok(());
        }
        let (key, record) = audit::salvage_record(last, who, gaps.clone());
        self.salvaged.audit_gaps = gaps;
        self.new.committer.execute_all(&[commit.put(Tree::Audit, key, record)])
    }

    /// Finds leads with a data key and no record, and missing rate tables of leads, in damaged volumes.
    fn find_what_is_missing(&mut self) -> Result<(), StoreError> {
        if self.damaged.is_empty() {
            return Ok(());
        }
        let records = &self.new.records;
        let numbers: BTreeSet<VolumeNumber> = records.volumes().numbers().into_iter().collect();
        for found in records.data_keys(&[], &[]) {
            let Some((lead, kept)) = found? else { continue };
            let volume = data_key::volume_of(&kept);
            let is_gone = self.damaged.contains(&volume) || !numbers.contains(&volume);
            let may_be_lost = is_gone && !data_key::is_destroyed(&kept);
            if may_be_lost && records.get(Tree::Leads, lead.as_bytes())?.is_none() {
                self.salvaged.note_lost(Tree::Leads, lead.as_bytes());
            }
        }
        for tree in [Tree::Leads, Tree::LeadTables] {
            for record in records.scan(tree, &[]) {
                let (key, payload) = record?;
                let table = match tree {
                    Tree::Leads => LeadRecord::first_table_in(&payload),
                    _ => key.get(16..32).and_then(|table| Uuid::from_slice(table).ok()),
                };
                if let Some(table) = table
                    && records.get(Tree::RateTables, table.as_bytes())?.is_none()
                {
                    self.salvaged.note_lost(Tree::RateTables, table.as_bytes());
                }
            }
        }
        Ok(())
    }
}

impl BegunSalvage {
    /// Keeps leads findable by their contacts. An identity whose key is lost, since the backup does not have
    /// it, is hashed anew. Where contacts themselves may be lost, every lead is indexed again.
    fn restore_index_of_persons(&mut self) -> Result<(), StoreError> {
        if self.salvaged.keys_of_backup {
            self.rehash_identities()?;
        }
        let lost = &self.salvaged.lost;
        if self.damaged.contains(&BASE)
            || !self.salvaged.journal.is_empty()
            || lost.contains_key(&Tree::Identities)
        {
            let keys = self.new.records.keys(Tree::Followers, contacts::PROJECTION.as_bytes());
            let mut commit = Commit::new();
            for key in keys {
                commit = commit.remove(Tree::Followers, key?);
            }
            self.new.committer.execute_all(&[commit])?;
        }
        Ok(())
    }

    fn rehash_identities(&mut self) -> Result<(), StoreError> {
        let records = Arc::clone(&self.new.records);
        let keys = records.sealing().all_identity_keys().into_iter();
        let keys: BTreeMap<_, _> = keys.map(|key| (key.prefix(), key)).collect();
        let places: Vec<Vec<u8>> = records.keys(Tree::Identities, &[]).collect::<Result<_, _>>()?;
        for some in places.chunks(AT_ONCE) {
            let mut commits = Vec::new();
            for place in some {
                let Some(payload) = records.get(Tree::Identities, place)? else { continue };
                match UnkeyedIdentity::at(place, &payload, &keys) {
                    Some(UnkeyedIdentity { anew: Some(anew) }) => commits.push(anew),
                    Some(UnkeyedIdentity { anew: None }) => {
                        self.salvaged.note_lost(Tree::Identities, place);
                        commits.push(Commit::new().remove(Tree::Identities, place));
                    }
                    None => {}
                }
            }
            self.new.committer.execute_all(&commits)?;
        }
        Ok(())
    }
}

/// The last removed record of the audit log; `None` if there is none that can be read.
fn anchor(records: &StoredRecords) -> Result<Option<AuditHead>, StoreError> {
    let kept = unless_broken(records.get(Tree::Audit, audit::ANCHOR))?;
    Ok(kept.and_then(|kept| codec::decode_json(&kept).ok()))
}

fn damaged_volumes(damages: &[FileDamage]) -> BTreeSet<VolumeNumber> {
    // If the list of the files is lost, missing records of the base go unnoticed.
    let place = |damage: &FileDamage| match damage.what {
        DamageKind::Unlisted => Some(BASE),
        _ => damage.volume,
    };
    damages.iter().filter(|damage| damage.costs_records()).filter_map(place).collect()
}

impl Salvaged {
    /// Whether nothing is lost, or suspected to be.
    pub fn is_all(&self) -> bool {
        // A heading is rewritten.
        let is_heading = |damage: &FileDamage| {
            matches!(damage.what, DamageKind::Bytes { at: 0, .. } | DamageKind::Format { .. })
        };
        self.lost.is_empty()
            && self.doubt.is_none()
            && self.held_back.is_empty()
            && self.journal.is_empty()
            && self.damages.iter().all(|damage| !damage.costs_records() || is_heading(damage))
    }

    fn note_untaken(&mut self, tree: Tree, key: &[u8]) {
        self.count_lost(tree, key);
        self.untaken.insert(tree);
        if matches!(tree, Tree::Users | Tree::Pauses) {
            let parts = key.split(|byte| *byte == 0).filter(|part| !part.is_empty());
            let name = parts.map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
            self.lost_names.entry(tree).or_default().push(name);
        }
    }

    fn note_lost(&mut self, tree: Tree, key: &[u8]) {
        if tree == Tree::Leads
            && let Ok(lead) = Uuid::from_slice(key)
            && (self.held_back.contains(&lead) || !self.leads_lost.insert(lead))
        {
            return;
        }
        self.count_lost(tree, key);
    }

    fn count_lost(&mut self, tree: Tree, key: &[u8]) {
        if self.counted.insert(tree.tree_key(key)) {
            *self.lost.entry(tree).or_default() += 1;
        }
    }
}

struct Restored {
    opened: OpenedFiles,
    /// When the backup was begun, Unix milliseconds.
    begun_at: i64,
    /// Whether its store was undamaged then.
    is_whole: bool,
    _place: StagingDirectory,
}

impl Restored {
    fn of(
        file: &mut dyn Read,
        into: &Path,
        master: &MasterKey,
        tell: ProgressCallback<'_>,
    ) -> Result<Self, SalvageError> {
        let place = StagingDirectory::begin_of_backup(into)?;
        let mut restore = Restore::begin(place.path(), master.clone())?;
        for_each_piece(file, SalvageError::Unreadable, |piece| {
            restore.push(piece)?;
            let summary = restore.summary();
            let of = Some(summary.store_bytes.max(summary.bytes));
            tell(PhaseProgress { what: "reading the backup", read: summary.bytes, of });
            Ok(())
        })?;
        let (summary, _) = restore.finish()?;
        let is_whole = summary.broken.is_empty() && summary.damages == 0;
        let opened = open::open_with(&StoreOptions::new(place.path()), Some(master.clone()))?;
        Ok(Self { opened, begun_at: summary.begun_at, is_whole, _place: place })
    }
}
