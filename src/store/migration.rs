//! From the format of an older offerd to this one's, when a store is opened.
//!
//! Every record of the [old store](super::older) is rewritten, step by step ([`STEPS`]), into a new one beside it, which then takes
//! its place. The old store is not changed: it stays beside as `….format-3`, for the operator to destroy when all is well. It is
//! not done in place since sled keeps what was replaced, and what is to be sealed may not stay in the clear.
//!
//! A crash leaves the old store in its place, or none there but both beside it; then the next start moves the new one there.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use uuid::Uuid;

use super::{
    BrokenRecord, ReadError,
    changes::Change,
    codec,
    commit::Commit,
    disk,
    engine::{Engine, Writer as _},
    error::{StoreError, io_error},
    frame::{Frame, Reason, framed},
    manifest::{FORMAT, Manifest, VolumeRow},
    older::{FORMAT_KEY, LAST_FORMAT, Older, VOLUME_KEY},
    open::{self, Opened},
    options::StoreOptions,
    raw::read_clear,
    registry::entities::{CompanyRecord, Tag},
    sealing::{
        MasterKey, SealingError,
        data_key::{self, DataKey},
        key_file::KeyFile,
        key_ring::KeyRing,
    },
    trees::Tree,
    volume_number::{BASE, Begins, Number, directory_of},
    volumes::files::Files,
};

/// The steps from a format to the next; the first is from format 1. From one on that is not here no record is rewritten: format 3 had
/// its new records in volumes, and left the old ones in the base; format 4 has the same records in files of its own.
const STEPS: [Step; 1] = [sealed];

/// How many records are written as one group.
const GROUP: usize = 256;

/// Makes of a record what it is in the next format; nothing when it is kept no more.
type Step = fn(&Rewriting, &Opened, Record) -> Result<Option<Record>, Reason>;

/// A record on its way through the steps.
struct Record {
    tree: Tree,
    key: Vec<u8>,
    payload: Vec<u8>,
    /// The lead that it is about, where it is sealed by lead.
    about: Option<Uuid>,
}

/// The store in its old format, when its records are rewritten.
struct Rewriting {
    older: Older,
    /// The lead of each rate table.
    lead_of: HashMap<Uuid, Uuid>,
}

/// Whether a store is of an older format.
pub(super) fn is_older(path: &Path) -> bool {
    Older::exists(path)
}

/// The format of a store that is of an older one; `None` where it is new and still empty.
pub(super) fn format(options: &StoreOptions) -> Result<Option<u32>, StoreError> {
    Older::begin(options)?.format()
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

/// Removes what migrations of a store that is not kept have left beside it.
pub(super) fn forget(path: &Path) {
    for left in (1..FORMAT).map(old_name).chain(["next".to_owned()]) {
        let _ = fs::remove_dir_all(beside(path, &left));
    }
}

/// Rewrites a store of an older format, and leaves the new one in its place. Gives the master key, which may be a new one.
pub(super) fn migrate(options: &StoreOptions, master: Option<MasterKey>) -> Result<MasterKey, StoreError> {
    let path = &options.path;
    let older = Older::open(options)?;
    let from = older.format()?.unwrap_or(LAST_FORMAT);
    let (next, kept) = (beside(path, "next"), beside(path, &old_name(from)));
    // Of a migration that a crash has ended.
    disk::remove_directory(&next).map_err(|error| io_error(&next, error))?;
    tracing::warn!(from, to = FORMAT, bytes = older.bytes(), "rewriting the store for this offerd");
    let master = match master {
        Some(master) => master,
        None => MasterKey::create_beside(path)
            .map_err(|error| StoreError::Sealing(SealingError::MasterKey(error)))?,
    };
    let new = StoreOptions { path: next.clone(), ..options.clone() };
    let (records, known) = match rewrites(from) {
        true => (Rewriting::of(older)?.rewrite(from, &new, &master)?, Vec::new()),
        false => copy(&older, &new, &master)?,
    };
    // Opened once as any store is, so that what is wrong with it is known before it takes its place.
    let mut opened = open::open_with(&new, Some(master.clone()))?;
    for group in known.chunks(GROUP) {
        let commits: Vec<Commit> = group.iter().map(Known::commit).collect();
        // A lead that is erased, or of which no data key is left, is not known any more.
        drop(opened.writer.execute(&commits));
    }
    opened.writer.finish().map_err(StoreError::Disk)?;
    drop(opened);
    rename(path, &kept)?;
    rename(&next, path)?;
    tracing::warn!(
        records,
        old = %kept.display(),
        "the store was rewritten; the old one is not needed any more: destroy it when all is well"
    );
    Ok(master)
}

/// Whether the records of a store of this format have to be rewritten.
fn rewrites(format: u32) -> bool {
    (format as usize) <= STEPS.len()
}

/// A lead by whom it is about, as format 3 kept it: the hash was under a key that was never destroyed.
struct Known {
    company: Uuid,
    identity: [u8; 32],
    at_ms: i64,
    lead: Uuid,
    look_back_ms: i64,
}

impl Known {
    fn parse(key: &[u8], raw: &[u8], look_back_ms: &HashMap<Uuid, i64>) -> Option<Self> {
        let (company, identity) = key.split_first_chunk()?;
        let company = Uuid::from_bytes(*company);
        let Ok(Frame::Whole(payload)) = Frame::open(raw) else { return None };
        let (at_ms, lead) = payload.split_first_chunk()?;
        Some(Self {
            company,
            identity: identity.try_into().ok()?,
            at_ms: i64::from_be_bytes(*at_ms),
            lead: uuid(Some(lead))?,
            look_back_ms: *look_back_ms.get(&company)?,
        })
    }

    fn commit(&self) -> Commit {
        let Self { company, identity, at_ms, lead, look_back_ms } = *self;
        Commit::new().about(lead).identify(company, identity, at_ms, look_back_ms)
    }
}

/// How far each company looks back for duplicates, ms.
fn look_backs(older: &Older) -> Result<HashMap<Uuid, i64>, StoreError> {
    let prefix = Tree::Companies.sled_key(&[]);
    let mut found = HashMap::new();
    for record in older.records(BASE) {
        let (key, raw) = record.map_err(ReadError::from)?;
        if let (Some(company), Ok(Frame::Whole(payload))) = (key.strip_prefix(&prefix[..]), Frame::open(&raw))
            && let (Some(company), Ok(record)) =
                (uuid(Some(company)), codec::decode_json::<CompanyRecord>(payload))
            && let Some(minutes) = record.duplicate_look_back_minutes.filter(|minutes| *minutes > 0)
        {
            found.insert(company, i64::from(minutes) * 60_000);
        }
    }
    Ok(found)
}

/// Copies the records of an older store into the files of a new one, as they lie there, and its keys. Gives how many there are,
/// and which identities are to be kept in the new way. Data keys stand under other slots from format 4 on; idempotency keys are
/// left out, since they are known for a day only and were not sealed.
fn copy(older: &Older, new: &StoreOptions, master: &MasterKey) -> Result<(u64, Vec<Known>), StoreError> {
    let store = &new.path;
    let older_keys = KeyFile::of(older.path()).open(master).map_err(StoreError::Sealing)?;
    let keys = older_keys.clone().brought_forward();
    let look_back_ms = look_backs(older)?;
    let mut known = Vec::new();
    let io = |source| io_error(store, source);
    disk::make_directory(store).map_err(io)?;
    let begins: BTreeMap<Number, Begins> =
        [(BASE, Begins::default())].into_iter().chain(older.volumes()?).collect();
    let mut copied = 0;
    let mut manifest = Manifest::default();
    for (number, begins) in begins {
        let files = Files::create(directory_of(store, number), number).map_err(io)?;
        let mut gathered = Vec::new();
        for record in older.records(number) {
            let (key, value) = record.map_err(ReadError::from)?;
            let (key, value) = match key.split_first().map(|(prefix, key)| (Tree::of_prefix(*prefix), key)) {
                Some((Some(Tree::Meta), _)) if is_of_the_format(&key) => continue,
                Some((Some(Tree::Repeats), _)) => continue,
                Some((Some(Tree::Identities), identity)) => {
                    known.extend(Known::parse(identity, &value, &look_back_ms));
                    continue;
                }
                Some((Some(Tree::LeadKeys), place)) => match moved(place, &value, &older_keys, &keys) {
                    Some(moved) => moved,
                    None => (key, value),
                },
                _ => (key, value),
            };
            gathered.push(Change { volume: number, key, value: Some(value) });
            copied += 1;
            if gathered.len() == GROUP {
                files.append(&gathered).map_err(io)?;
                gathered.clear();
            }
        }
        files.append(&gathered).and_then(|_| files.sync()).map_err(io)?;
        manifest.volumes.push(VolumeRow { number, begins, files: files.rows() });
    }
    KeyFile::of(store).write(master, &keys).map_err(StoreError::Sealing)?;
    manifest.write(store, FORMAT, &new.sync_fault).map_err(io)?;
    Ok((copied, known))
}

/// The data key of a lead under its slot from format 4 on; nothing when it cannot be read: it is copied as it lies there.
fn moved(place: &[u8], raw: &[u8], older: &KeyRing, keys: &KeyRing) -> Option<(Vec<u8>, Vec<u8>)> {
    let lead = data_key::lead_at(place)?;
    let Ok(Frame::Whole(kept)) = Frame::open(raw) else { return None };
    let kept = match data_key::unwrap(older, lead, kept).ok()? {
        DataKey::Kept(key) => data_key::wrap(keys, lead, &key, data_key::volume_of(kept)),
        DataKey::Destroyed => kept.to_vec(),
    };
    Some((Tree::LeadKeys.sled_key(&keys.slots.place(lead)), framed(&kept)))
}

/// Whether a record says what the manifest says now.
fn is_of_the_format(key: &[u8]) -> bool {
    let is_meta = |name: &[u8]| key.starts_with(&Tree::Meta.sled_key(name));
    is_meta(FORMAT_KEY) || is_meta(VOLUME_KEY)
}

impl Rewriting {
    fn of(older: Older) -> Result<Self, StoreError> {
        let mut lead_of = HashMap::new();
        let prefix = Tree::LeadTables.sled_key(&[]);
        for record in older.records(BASE) {
            let (key, _) = record.map_err(ReadError::from)?;
            if key.starts_with(&prefix)
                && let (Some(lead), Some(table)) = (uuid(key.get(1..17)), uuid(key.get(17..33)))
            {
                lead_of.insert(table, lead);
            }
        }
        Ok(Self { older, lead_of })
    }

    /// Writes every record anew, and counts them. What cannot be read is logged and left out.
    fn rewrite(&self, from: u32, options: &StoreOptions, master: &MasterKey) -> Result<u64, StoreError> {
        let mut new = open::open_with(options, Some(master.clone()))?;
        let mut written = 0;
        let mut group = Vec::new();
        for record in self.older.records(BASE) {
            let (raw_key, _) = record.map_err(ReadError::from)?;
            let Some((prefix, key)) = raw_key.split_first() else { continue };
            // Pieces of large values are read, and written, with the values.
            let Some(tree) = Tree::of_prefix(*prefix).filter(|tree| *tree != Tree::Parts) else { continue };
            let rewritten = match read_clear(&self.older, tree, key).map_err(ReadError::from)? {
                Ok(Some(payload)) => {
                    let record = Record { tree, key: key.to_vec(), payload, about: None };
                    self.stepped(from, &new, record).map_err(|reason| BrokenRecord::new(tree, key, reason))
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
                written += write(&mut new, &std::mem::take(&mut group))?;
            }
        }
        written += write(&mut new, &group)?;
        new.writer.finish().map_err(StoreError::Disk)?;
        Ok(written)
    }

    fn stepped(&self, from: u32, new: &Opened, record: Record) -> Result<Option<Record>, Reason> {
        if record.tree == Tree::Meta && (record.key == FORMAT_KEY || record.key.starts_with(VOLUME_KEY)) {
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
fn sealed(old: &Rewriting, new: &Opened, mut record: Record) -> Result<Option<Record>, Reason> {
    let Record { tree, key, payload, .. } = &record;
    record.about = match tree {
        Tree::Identities | Tree::Repeats => return Ok(None),
        Tree::Leads => uuid(Some(key)),
        Tree::LeadActions => uuid(key.get(..16)),
        Tree::Answers | Tree::Calls => uuid(key.get(..16)).and_then(|table| old.lead_of.get(&table).copied()),
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
    let renamed: io::Result<()> =
        fs::rename(from, to).and_then(|()| disk::sync_directory(disk::parent_of(to)));
    renamed.map_err(|source| io_error(to, source))
}
