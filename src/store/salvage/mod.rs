//! Salvage: of a store that is damaged a good one is made, of all that is left, and of what a backup has of the rest.
//!
//! 1. Every sound entry of the record files, in its order, and what the journal holds beside it, go into files of a new store, which
//!    is built beside its place. The damaged store is only read.
//! 2. Its keys go along as they are. Where they are lost, those of the backup are taken.
//! 3. The backup is restored into a store of its own, for as long as it takes. What of a lead cannot be read is taken from there
//!    (`rescue.rs`).
//! 4. What still cannot be read is left out, and reported. The new store is checked, and moved to its place.
//!
//! # Who was erased does not come back
//! The newest word on a lead is the record of its data key. Where that is damaged too, it follows from the wrapping keys: each
//! erasure gives those of a slot a new generation. A lead comes back from a backup only if its slot has the generation that it
//! had then, or if the data key that is left is of the newest one. Of the others it cannot be known: they are
//! [held back](Salvaged::held_back), and reported.

mod rescue;
mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
    ops::Bound,
    path::{Path, PathBuf},
    sync::Arc,
};

use uuid::Uuid;

use self::{rescue::Rescue, source::Source};
use super::{
    backup::{Restore, RestoreError, for_each_piece},
    beside::{Beside, BesideError},
    changes::Change,
    check::{self, CheckReport},
    damage::{Damage, DamageKind},
    engine::{Engine, Writer as _, read_record},
    error::StoreError,
    lock::Lock,
    open::{self, Opened},
    options::StoreOptions,
    owner,
    progress::Progress,
    records::{Records, Within},
    registry::entities::LeadRecord,
    scan::Scan,
    sealing::{GIVE, MasterKey, SealingError, data_key, key_file::KeyFile, key_place::KeyPlace as _},
    trees::{Seal, TREES, Tree, TreeRow},
    volume_number::Number,
};

/// How many records show whether keys are those of a store.
const LOOKED_AT: usize = 100;

/// What a salvage has made, and what it has not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// What is in the new store.
    pub report: CheckReport,
    /// What was found damaged in the old one.
    pub damages: Vec<Damage>,
    /// The files of its journal that were damaged.
    pub journal: Vec<String>,
    /// Whether its keys were lost, and those of the backup were taken.
    pub keys_of_backup: bool,
    /// How many records came from the backup, by tree.
    pub from_backup: BTreeMap<Tree, u64>,
    /// How many leads came from the backup.
    pub leads_from_backup: u64,
    /// Records that are known to have been there, and are lost, by tree.
    pub lost: BTreeMap<Tree, u64>,
    /// Leads of which the record is lost.
    pub leads_lost: BTreeSet<Uuid>,
    /// Leads that the backup has, and that did not come back, since they may have been erased meanwhile.
    pub held_back: BTreeSet<Uuid>,
}

/// Why nothing was salvaged. There is nothing of a new store then, and the damaged one is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// There is no store.
    #[error("there is no store in `{path}`")]
    NoStore {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// There is something where the new store is to be.
    #[error("`{path}` is not empty: a store is salvaged into a new directory only")]
    NotEmpty {
        /// Where.
        path: PathBuf,
    },
    /// A salvage that was killed has left its directory.
    #[error("`{path}` is there: if no other salvage is running, remove it and try again")]
    LeftOver {
        /// The directory.
        path: PathBuf,
    },
    /// No master key is given.
    #[error("the store is sealed, and no master key is given: {GIVE}", GIVE = GIVE)]
    NoMasterKey,
    /// The keys of the store are lost, and there is no backup.
    #[error("`{path}` is lost, and without it nothing of a person can be read: give a backup, which has it")]
    KeysLost {
        /// Where they ought to be.
        path: PathBuf,
    },
    /// The backup is of another store.
    #[error("the backup is of another store")]
    OtherStore,
    /// The backup cannot be read.
    #[error("the backup cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// The backup cannot be used.
    #[error("the backup cannot be used: {0}")]
    Backup(#[from] RestoreError),
    /// The old store cannot be read, or the new one not be made.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl From<BesideError> for SalvageError {
    fn from(error: BesideError) -> Self {
        match error {
            BesideError::NotEmpty { path, .. } => Self::NotEmpty { path },
            BesideError::LeftOver { path } => Self::LeftOver { path },
            BesideError::Store(error) => Self::Store(error),
        }
    }
}

/// Makes a good store in `into` of what is left of the damaged one, which nobody has open and which is not changed. Once this
/// returns `Ok`, the new store is in its place and survives a power cut.
///
/// # Errors
/// Why there is no new store.
pub fn salvage(
    options: &StoreOptions,
    into: &Path,
    backup: Option<&mut dyn Read>,
    tell: &mut dyn FnMut(Progress),
) -> Result<Salvaged, SalvageError> {
    let store = &options.path;
    owner::check(store)?;
    owner::check(into)?;
    if !open::exists(store) {
        return Err(SalvageError::NoStore { path: store.clone() });
    }
    let _lock = Lock::take_to_read(store)?;
    let source = Source::of(store)?;
    let master = MasterKey::find(options.master_key_file.as_deref(), store)
        .map_err(StoreError::from)?
        .ok_or(SalvageError::NoMasterKey)?;
    let keys = keys_of(store, &master)?;
    let lost = || SalvageError::KeysLost { path: KeyFile::of(store).path().to_owned() };
    if keys.is_none() && backup.is_none() {
        return Err(lost());
    }
    let place = Beside::begin(into)?;
    let restored = backup.map(|file| Restored::of(file, into, &master, tell)).transpose()?;
    let copied = source.copy(place.path(), tell)?;
    let new = StoreOptions { path: place.path().to_owned(), ..options.clone() };
    let keys_of_backup = keys.is_none();
    let of_backup = || Some(restored.as_ref()?.opened.records.sealing().key_file_text(&master));
    let keys = keys.or_else(of_backup).ok_or_else(lost)?;
    KeyFile::of(&new.path).restore(&keys).map_err(StoreError::Sealing)?;
    tell(Progress::begins("finding what is there", None));
    let mut opened = open::open_with(&new, Some(master))?;
    if keys_of_backup && is_sealed_otherwise(&opened) {
        return Err(SalvageError::OtherStore);
    }
    let damaged = copied.damaged_volumes();
    let mut salvaged = Salvaged::of(copied, keys_of_backup);
    if let Some(restored) = &restored {
        tell(Progress::begins("taking in what the backup has", None));
        Rescue::new(&restored.opened.records, &mut opened, &damaged, keys_of_backup)?.all(&mut salvaged)?;
    }
    drop(restored);
    tell(Progress::begins("reading every record", None));
    leave_out_what_is_broken(&mut opened, &mut salvaged)?;
    find_what_is_missing(&opened, &damaged, &mut salvaged)?;
    salvaged.report = check::check(&opened.records).map_err(StoreError::Read)?;
    opened.writer.finish().map_err(StoreError::Disk)?;
    drop(opened);
    place.finish()?;
    Ok(salvaged)
}

/// The keys of the store, as they lie there; nothing where they are lost.
fn keys_of(store: &Path, master: &MasterKey) -> Result<Option<Vec<u8>>, SalvageError> {
    let file = KeyFile::of(store);
    match file.sound(master) {
        Ok(keys) => Ok(Some(keys)),
        Err(wrong @ SealingError::WrongMasterKey { .. }) => Err(StoreError::Sealing(wrong).into()),
        Err(_) => Ok(None),
    }
}

/// Whether there are records that the store's own key ought to open, and it opens none of those that are looked at.
fn is_sealed_otherwise(new: &Opened) -> bool {
    let own = TREES.iter().filter(|row| row.seal == Seal::Own);
    let scan =
        |row: &TreeRow| Scan::new(Arc::<Records>::clone(&new.records), row.tree, &[], &[]).naming_broken();
    let mut records = own.flat_map(scan).take(LOOKED_AT).peekable();
    records.peek().is_some() && records.all(|record| record.is_err())
}

/// Removes the records that cannot be read, each in its volume, and counts them.
fn leave_out_what_is_broken(new: &mut Opened, salvaged: &mut Salvaged) -> Result<(), StoreError> {
    let records = Arc::clone(&new.records);
    let volumes = records.volumes();
    for number in volumes.numbers() {
        let within = Within { volumes, number };
        let mut removed = Vec::new();
        for entry in records.walk_volume(number, &Bound::Unbounded)? {
            let (sled_key, _) = entry?;
            let Some((tree, key)) = Tree::split(&sled_key) else { continue };
            if read_record(&within, records.sealing(), tree, key)?.is_err() {
                salvaged.note_lost(tree, key);
                removed.push(Change { volume: number, key: sled_key, value: None });
            }
        }
        new.writer.write_as_is(removed).map_err(StoreError::Disk)?;
    }
    Ok(())
}

/// Finds the leads that have a data key and no record, and the rate tables that a lead has and that are not there, where they were
/// in what was damaged.
fn find_what_is_missing(
    new: &Opened,
    damaged: &BTreeSet<Number>,
    salvaged: &mut Salvaged,
) -> Result<(), StoreError> {
    if damaged.is_empty() {
        return Ok(());
    }
    let records = &new.records;
    let numbers: BTreeSet<Number> = records.volumes().numbers().into_iter().collect();
    for found in records.data_keys(&[], &[]) {
        let Some((lead, kept)) = found? else { continue };
        let volume = data_key::volume_of(&kept);
        let may_be_lost = damaged.contains(&volume) || !numbers.contains(&volume);
        if !data_key::is_destroyed(&kept)
            && may_be_lost
            && records.get(Tree::Leads, lead.as_bytes())?.is_none()
        {
            salvaged.note_lost(Tree::Leads, lead.as_bytes());
        }
    }
    for tree in [Tree::Leads, Tree::LeadTables] {
        for record in Scan::new(Arc::<Records>::clone(records), tree, &[], &[]) {
            let (key, payload) = record?;
            let table = match tree {
                Tree::Leads => LeadRecord::first_table_in(&payload),
                _ => key.get(16..32).and_then(|table| Uuid::from_slice(table).ok()),
            };
            if let Some(table) = table
                && records.get(Tree::RateTables, table.as_bytes())?.is_none()
            {
                salvaged.note_lost(Tree::RateTables, table.as_bytes());
            }
        }
    }
    Ok(())
}

impl Salvaged {
    fn of(copied: source::Copied, keys_of_backup: bool) -> Self {
        let source::Copied { damages, journal } = copied;
        Self { damages, journal, keys_of_backup, ..Self::default() }
    }

    /// Whether nothing is known or thought to be lost.
    pub fn is_all(&self) -> bool {
        // A heading is made anew.
        let is_heading = |damage: &Damage| {
            matches!(damage.what, DamageKind::Bytes { at: 0, .. } | DamageKind::Format { .. })
        };
        self.lost.is_empty()
            && self.held_back.is_empty()
            && self.journal.is_empty()
            && self.damages.iter().all(|damage| !damage.costs_records() || is_heading(damage))
    }

    fn note_lost(&mut self, tree: Tree, key: &[u8]) {
        if tree == Tree::Leads
            && let Ok(lead) = Uuid::from_slice(key)
            && (self.held_back.contains(&lead) || !self.leads_lost.insert(lead))
        {
            return;
        }
        *self.lost.entry(tree).or_default() += 1;
    }
}

/// The store of the backup, as long as it is needed.
struct Restored {
    opened: Opened,
    _place: Beside,
}

impl Restored {
    fn of(
        file: &mut dyn Read,
        into: &Path,
        master: &MasterKey,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Self, SalvageError> {
        let place = Beside::begin_as(into, ".backup")?;
        let mut restore = Restore::begin(place.path(), master.clone())?;
        for_each_piece(file, SalvageError::Unreadable, |piece| {
            restore.push(piece)?;
            let summary = restore.summary();
            let of = Some(summary.store_bytes.max(summary.bytes));
            tell(Progress { what: "reading the backup", read: summary.bytes, of });
            Ok(())
        })?;
        restore.finish()?;
        let opened = open::open_with(&StoreOptions::new(place.path()), Some(master.clone()))?;
        Ok(Self { opened, _place: place })
    }
}
