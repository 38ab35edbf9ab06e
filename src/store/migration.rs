//! From the format of an older offerd to this one's, when a store is opened.
//!
//! Every record of the old store is rewritten, step by step ([`STEPS`]), into a new one beside it, which then takes its
//! place. The old store is not changed: it stays beside as `….format-1`, for the operator to destroy when all is well. It is
//! not done in place since sled keeps what was replaced, and what is to be sealed may not stay in the clear.
//!
//! A crash leaves the old store in its place, or none there but both beside it; then the next start moves the new one there.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use uuid::Uuid;

use super::{
    codec,
    commit::Commit,
    entities::Tag,
    error::StoreError,
    frame::Reason,
    open::{self, FORMAT, FORMAT_KEY, Opened, io_error},
    options::StoreOptions,
    records::{RawValues, read_clear},
    sealing::{MasterKey, SealingError},
    trees::Tree,
    {BrokenRecord, ReadError},
};

/// The steps from a format to the next; the first is from format 1. From one on that is not here nothing is rewritten:
/// format 3 has its new records in [volumes](super::volumes), and leaves the old ones where they are, in the base.
const STEPS: [Step; 1] = [sealed];

/// How many records are written as one group.
const GROUP: usize = 256;

/// Makes of a record what it is in the next format; nothing when it is kept no more.
type Step = fn(&Old, &Opened, Record) -> Result<Option<Record>, Reason>;

/// A record on its way through the steps.
struct Record {
    tree: Tree,
    key: Vec<u8>,
    payload: Vec<u8>,
    /// The lead that it is about, where it is sealed by lead.
    about: Option<Uuid>,
}

/// The store in its old format.
struct Old {
    db: sled::Db,
    /// The lead of each rate table.
    lead_of: HashMap<Uuid, Uuid>,
}

impl RawValues for Old {
    fn raw(&self, sled_key: &[u8]) -> sled::Result<Option<sled::IVec>> {
        self.db.get(sled_key)
    }
}

/// Whether the records of a store of this format have to be rewritten.
pub(super) fn rewrites(format: u32) -> bool {
    (format as usize) <= STEPS.len()
}

/// Whether a crash has come between a migrated store and its place.
pub(super) fn is_interrupted(path: &Path) -> bool {
    let moved = (1..FORMAT).any(|format| beside(path, &old_name(format)).exists());
    !path.exists() && beside(path, "next").exists() && moved
}

/// Moves a migrated store to its place when a crash has come between.
pub(super) fn finish_interrupted(path: &Path) -> Result<(), StoreError> {
    if is_interrupted(path) { rename(&beside(path, "next"), path) } else { Ok(()) }
}

/// Rewrites a store of format `from`, and leaves the new one in its place. Gives the master key, which may be a new one.
pub(super) fn migrate(
    options: &StoreOptions,
    db: sled::Db,
    from: u32,
    master: Option<MasterKey>,
) -> Result<MasterKey, StoreError> {
    let path = &options.path;
    let (next, kept) = (beside(path, "next"), beside(path, &old_name(from)));
    // Of a migration that a crash has ended.
    match fs::remove_dir_all(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&next, error)),
        _ => {}
    }
    tracing::warn!(from, to = FORMAT, "rewriting the store for this offerd");
    let master = match master {
        Some(master) => master,
        None => MasterKey::create_beside(path)
            .map_err(|error| StoreError::Sealing(SealingError::MasterKey(error)))?,
    };
    let old = Old::new(db)?;
    let mut new =
        open::open_with(&StoreOptions { path: next.clone(), ..options.clone() }, Some(master.clone()))?;
    let records = old.rewrite(from, &mut new)?;
    new.writer.finish().map_err(StoreError::Disk)?;
    drop(new);
    drop(old);
    rename(path, &kept)?;
    rename(&next, path)?;
    tracing::warn!(
        records,
        old = %kept.display(),
        "the store was rewritten; the old one tells of persons without any key: destroy it when all is well"
    );
    Ok(master)
}

impl Old {
    fn new(db: sled::Db) -> Result<Self, StoreError> {
        let mut lead_of = HashMap::new();
        for key in db.scan_prefix(Tree::LeadTables.sled_key(&[])).keys() {
            let key = key.map_err(ReadError::from)?;
            if let (Some(lead), Some(table)) = (uuid(key.get(1..17)), uuid(key.get(17..33))) {
                lead_of.insert(table, lead);
            }
        }
        Ok(Self { db, lead_of })
    }

    /// Writes every record anew, and tells how many there are. What cannot be read is told and left out.
    fn rewrite(&self, from: u32, new: &mut Opened) -> Result<u64, StoreError> {
        let mut written = 0;
        let mut group = Vec::new();
        for sled_key in self.db.iter().keys() {
            let sled_key = sled_key.map_err(ReadError::from)?;
            let Some((prefix, key)) = sled_key.split_first() else { continue };
            // Pieces of large values are read, and written, with the values.
            let Some(tree) = Tree::of_prefix(*prefix).filter(|tree| *tree != Tree::Parts) else { continue };
            let rewritten = match read_clear(self, tree, key).map_err(ReadError::from)? {
                Ok(Some(payload)) => {
                    let record = Record { tree, key: key.to_vec(), payload, about: None };
                    self.stepped(from, new, record).map_err(|reason| BrokenRecord::new(tree, key, reason))
                }
                Ok(None) => Ok(None),
                Err(broken) => Err(broken),
            };
            match rewritten {
                Ok(Some(record)) => group.push(record.commit()),
                Ok(None) => {}
                Err(broken) => new.records.report(&broken),
            }
            if group.len() == GROUP {
                written += write(new, &std::mem::take(&mut group))?;
            }
        }
        Ok(written + write(new, &group)?)
    }

    fn stepped(&self, from: u32, new: &Opened, record: Record) -> Result<Option<Record>, Reason> {
        if record.tree == Tree::Meta && record.key == FORMAT_KEY {
            return Ok(None);
        }
        let steps = &STEPS[(from as usize).saturating_sub(1)..];
        steps.iter().try_fold(Some(record), |record, step| match record {
            Some(record) => step(self, new, record),
            None => Ok(None),
        })
    }
}

impl Record {
    fn commit(self) -> Commit {
        let commit = Commit::new().put(self.tree, self.key, self.payload);
        match self.about {
            Some(lead) => commit.about(lead),
            None => commit,
        }
    }
}

fn write(new: &mut Opened, group: &[Commit]) -> Result<u64, StoreError> {
    for outcome in new.writer.execute(group) {
        outcome.map_err(|error| StoreError::Disk(error.to_string()))?;
    }
    Ok(group.len() as u64)
}

/// From format 1: what may tell of a person is sealed with the key of its lead, and looked up by keyed hashes.
///
/// The hashes by which duplicates and repeated submits are known are left out, since they cannot be keyed anew: a lead
/// that is sent again after the migration counts as new once.
fn sealed(old: &Old, new: &Opened, mut record: Record) -> Result<Option<Record>, Reason> {
    let Record { tree, key, payload, .. } = &record;
    record.about = match tree {
        Tree::Identities | Tree::Repeats => return Ok(None),
        Tree::Leads => uuid(Some(key)),
        Tree::LeadActions => uuid(key.get(..16)),
        Tree::Answers => uuid(key.get(..16)).and_then(|table| old.lead_of.get(&table).copied()),
        Tree::LeadClientTags => {
            codec::decode::<Vec<Tag>>(payload).ok().and_then(|tags| Some(tags.first()?.lead))
        }
        Tree::OfferDisplays => codec::decode_json(payload).ok().map(|OfLead { lead_uuid }| lead_uuid),
        Tree::PartnerEvents => {
            let Report { partner, event, receipt } =
                codec::decode_json(payload).map_err(|_| Reason::Short)?;
            let text = format!("{partner}\0{}", event.transaction_id);
            record.key = new.records.sealing().blind("report", text.as_bytes()).to_vec();
            Some(receipt.lead_uuid)
        }
        _ => return Ok(Some(record)),
    };
    match record.about {
        Some(_) => Ok(Some(record)),
        None => Err(Reason::DataKey),
    }
}

/// What format 1 keeps of a partner's report, as far as it matters here.
#[derive(Deserialize)]
struct Report {
    partner: String,
    event: Transaction,
    receipt: OfLead,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Transaction {
    transaction_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfLead {
    lead_uuid: Uuid,
}

fn uuid(bytes: Option<&[u8]>) -> Option<Uuid> {
    Uuid::from_slice(bytes?).ok()
}

fn old_name(format: u32) -> String {
    format!("format-{format}")
}

fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name: OsString = path.file_name().unwrap_or("offerd".as_ref()).to_owned();
    name.push(".");
    name.push(what);
    path.with_file_name(name)
}

/// Once this returns, the new name survives a power cut.
fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let renamed = fs::rename(from, to).and_then(|()| File::open(parent)?.sync_all());
    renamed.map_err(|source| io_error(to, source))
}
