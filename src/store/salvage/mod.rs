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
    fs,
    io::{self, Read},
    ops::Bound,
    path::{Path, PathBuf},
    sync::Arc,
};

use uuid::Uuid;

use self::{rescue::Rescue, source::Source};
use super::{
    backup::{Restore, RestoreError},
    changes::Change,
    check::{self, CheckReport},
    damage::{Damage, DamageKind},
    disk,
    engine::{Engine, Writer as _, read_record},
    error::{StoreError, io_error},
    frame::unframed,
    lock::Lock,
    open::{self, Opened},
    options::StoreOptions,
    owner,
    records::{Records, Within},
    registry::entities::LeadRecord,
    scan::Scan,
    sealing::{MasterKey, SealingError, data_key, key_file::KeyFile},
    trees::{Seal, TREES, Tree, TreeRow},
    volume_number::Number,
};

/// How much of a backup is read at once.
const PIECE_BYTES: usize = 256 * 1024;

/// How many records show whether keys are those of a store.
const LOOKED_AT: usize = 100;

/// What a salvage has made, and what it has not.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    #[error(
        "the store is sealed, and no master key is given: give it as `store.master_key_file`, as OFFERD_MASTER_KEY or as the systemd \
         credential `offerd-master-key`"
    )]
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

/// How far a salvage is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// What is being done.
    pub what: &'static str,
    /// How many bytes were read.
    pub read: u64,
    /// How many there are; nothing where that is not known.
    pub of: Option<u64>,
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
        .map_err(|error| StoreError::Sealing(SealingError::MasterKey(error)))?
        .ok_or(SalvageError::NoMasterKey)?;
    let keys = keys_of(store, &master)?;
    if keys.is_none() && backup.is_none() {
        return Err(SalvageError::KeysLost { path: KeyFile::of(store).path().to_owned() });
    }
    let building = Building::begin(into)?;
    let restored = backup.map(|file| Restored::of(file, into, &master, tell)).transpose()?;
    let copied = source.copy(&building.part, tell)?;
    let new = StoreOptions { path: building.part.clone(), ..options.clone() };
    let keys_of_backup = keys.is_none();
    match (&keys, &restored) {
        (Some(keys), _) => KeyFile::of(&new.path).restore(keys).map_err(StoreError::Sealing)?,
        (None, Some(restored)) => {
            let keys = restored.opened.records.sealing().key_file_text(&master);
            KeyFile::of(&new.path).restore(&keys).map_err(StoreError::Sealing)?;
        }
        (None, None) => return Err(SalvageError::KeysLost { path: KeyFile::of(store).path().to_owned() }),
    }
    tell(Progress { what: "finding what is there", read: 0, of: None });
    let mut opened = open::open_with(&new, Some(master))?;
    if keys_of_backup && is_sealed_otherwise(&opened) {
        return Err(SalvageError::OtherStore);
    }
    let damaged = copied.damaged_volumes();
    let mut salvaged = Salvaged::of(copied, keys_of_backup);
    if let Some(restored) = &restored {
        tell(Progress { what: "taking in what the backup has", read: 0, of: None });
        Rescue::new(&restored.opened.records, &mut opened, &damaged, keys_of_backup)?.all(&mut salvaged)?;
    }
    drop(restored);
    tell(Progress { what: "reading every record", read: 0, of: None });
    leave_out_what_is_broken(&mut opened, &mut salvaged)?;
    find_what_is_missing(&opened, &damaged, &mut salvaged)?;
    salvaged.report = check::check(&opened.records, &mut |_| {}).map_err(StoreError::Read)?;
    opened.writer.finish().map_err(StoreError::Disk)?;
    drop(opened);
    building.finish()?;
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
        for entry in records.walk_volume(number, &Bound::Unbounded).map_err(StoreError::from_disk)? {
            let (sled_key, _) = entry.map_err(StoreError::from_disk)?;
            let Some((prefix, key)) = sled_key.split_first() else { continue };
            let Some(tree) = Tree::of_prefix(*prefix) else { continue };
            let read = read_record(&within, records.sealing(), tree, key).map_err(StoreError::from_disk)?;
            if read.is_err() {
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
    for entry in records.walk(Tree::LeadKeys, &[], &[]) {
        let (key, raw) = entry.map_err(StoreError::from_disk)?;
        let (Some(lead), Ok(kept)) = (data_key::lead_at(&key[1..]), unframed(&raw)) else {
            continue;
        };
        let volume = data_key::volume_of(kept);
        let may_be_lost = damaged.contains(&volume) || !numbers.contains(&volume);
        if !data_key::is_destroyed(kept)
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
        Self {
            report: CheckReport::empty(),
            damages,
            journal,
            keys_of_backup,
            from_backup: BTreeMap::new(),
            leads_from_backup: 0,
            lost: BTreeMap::new(),
            leads_lost: BTreeSet::new(),
            held_back: BTreeSet::new(),
        }
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

/// The store beside its place; removed unless it was moved there.
struct Building {
    into: PathBuf,
    part: PathBuf,
}

impl Building {
    fn begin(into: &Path) -> Result<Self, SalvageError> {
        disk::want_directory(into).map_err(|source| io_error(into, source))?;
        if let Ok(mut entries) = fs::read_dir(into)
            && entries.next().is_some()
        {
            return Err(SalvageError::NotEmpty { path: into.to_owned() });
        }
        let part = beside(into, "part");
        if part.exists() {
            return Err(SalvageError::LeftOver { path: part });
        }
        disk::make_directory(&part).map_err(|source| io_error(&part, source))?;
        Ok(Self { into: into.to_owned(), part })
    }

    fn finish(self) -> Result<(), StoreError> {
        let moved = fs::rename(&self.part, &self.into);
        let named = moved.and_then(|()| disk::sync_directory(disk::parent_of(&self.into)));
        named.map_err(|source| io_error(&self.into, source))
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        // Once it was moved there is none any more.
        let _ = fs::remove_dir_all(&self.part);
    }
}

/// The store of the backup, as long as it is needed.
struct Restored {
    opened: Opened,
    _directory: Temporary,
}

struct Temporary(PathBuf);

impl Restored {
    fn of(
        file: &mut dyn Read,
        into: &Path,
        master: &MasterKey,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Self, SalvageError> {
        let path = beside(into, "backup");
        if path.exists() {
            return Err(SalvageError::LeftOver { path });
        }
        let mut restore = Restore::begin(&path, master.clone())?;
        let directory = Temporary(path.clone());
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece).map_err(SalvageError::Unreadable)? {
                0 => break,
                length => restore.push(&piece[..length])?,
            }
            let summary = restore.summary();
            let of = Some(summary.store_bytes.max(summary.bytes));
            tell(Progress { what: "reading the backup", read: summary.bytes, of });
        }
        restore.finish()?;
        let opened = open::open_with(&StoreOptions::new(path), Some(master.clone()))?;
        Ok(Self { opened, _directory: directory })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or("offerd".as_ref()).to_owned();
    name.push(".");
    name.push(what);
    path.with_file_name(name)
}
