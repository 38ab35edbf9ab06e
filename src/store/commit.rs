//! Commits: guards that must hold, and writes that happen all or not at all.

use std::collections::BTreeSet;
use std::fmt;

use uuid::Uuid;

use super::broken::ReadError;
use super::trees::Tree;
use super::volume_number::VolumeNumber;

/// Writes that become durable together, under guards. Built by chaining, given to `Store::commit`.
///
/// Guards are checked in the order given, against all earlier commits and before any write of this one; one
/// failure drops the whole commit. Of two writes to one key the later counts.
#[derive(Clone, Default)]
#[must_use = "a commit does nothing until it is given to the store"]
pub struct Commit {
    pub(super) about: Option<Uuid>,
    pub(super) is_first_about: bool,
    pub(super) rewrap: Option<Box<Rewrap>>,
    pub(super) guards: Vec<CommitGuard>,
    pub(super) writes: Vec<CommitWrite>,
    pub(super) marks_time: bool,
}

#[derive(Clone)]
pub(super) enum CommitGuard {
    Record { tree: Tree, key: Vec<u8>, holds: GuardCondition },
    Unknown { company: Uuid, identity: [u8; 32], since_ms: i64 },
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum GuardCondition {
    Absent,
    /// It does not exist, or begins with a time before this one, in ms.
    UnlessRecent(i64),
    Unchanged(Vec<u8>),
}

#[derive(Clone)]
pub(super) enum CommitWrite {
    Put { tree: Tree, key: Vec<u8>, payload: Vec<u8> },
    Remove { tree: Tree, key: Vec<u8> },
    Append { tree: Tree, company: Uuid, payload: Vec<u8> },
    Identify { company: Uuid, identity: [u8; 32], at_ms: i64, look_back_ms: i64 },
}

/// Seals the data keys of a slot anew and destroys some of them.
#[derive(Clone)]
pub(super) struct Rewrap {
    /// `None` for the slot of the leads whose keys are destroyed.
    pub(super) slot: Option<u16>,
    pub(super) without: KeyDestruction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyDestruction {
    Nothing,
    /// Those of these leads, at this time in ms; tombstones remain.
    Leads(BTreeSet<Uuid>, i64),
    /// Those of a volume, at this time in ms; tombstones remain until the next volume is dropped.
    Volume(VolumeNumber, i64),
    /// Those of leads older than an age.
    Before(KeyExpiry),
}

/// Expiry of data keys by the age of their leads, for a store without volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyExpiry {
    /// Keys of leads that arrived before this expire, in seconds since 1970.
    pub(super) before: VolumeNumber,
    /// Tombstones from before this time, in ms, are dropped.
    pub(super) forgotten_ms: i64,
    /// Time of destruction, in ms.
    pub(super) at_ms: i64,
}

impl KeyExpiry {
    pub(super) fn at_s(self) -> VolumeNumber {
        VolumeNumber::try_from(self.at_ms / 1000).unwrap_or(VolumeNumber::MAX)
    }
}

impl Commit {
    /// A commit without guards or writes. It serves as a barrier: it is answered after all earlier commits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the lead this commit is about: its writes into trees [sealed by lead](super::Seal::Lead) are
    /// sealed with that lead's data key. The first commit about a lead creates the key.
    pub fn about(mut self, lead: Uuid) -> Self {
        self.about = Some(lead);
        self
    }

    /// Like [`about`](Self::about), for a lead whose uuid is new: skips looking for a data key.
    pub fn about_new(self, lead: Uuid) -> Self {
        Self { is_first_about: true, ..self.about(lead) }
    }

    /// Destroys the data keys of leads at a time in Unix milliseconds. Once this is acknowledged, no record
    /// sealed with them can be read from this disk again, and commits about the leads are refused. The leads
    /// must be [of one slot](super::Store::by_slot), which is resealed once for all of them.
    pub fn erase_all(mut self, leads: impl IntoIterator<Item = Uuid>, at_ms: i64) -> Self {
        let leads: BTreeSet<Uuid> = leads.into_iter().collect();
        if !leads.is_empty() {
            self.rewrap = Some(Box::new(Rewrap { slot: None, without: KeyDestruction::Leads(leads, at_ms) }));
        }
        self
    }

    /// Reseals a slot and destroys some data keys; with none to destroy, finishes an interrupted erasure.
    pub(super) fn rewrap(slot: u16, without: KeyDestruction) -> Self {
        Self { rewrap: Some(Box::new(Rewrap { slot: Some(slot), without })), ..Self::default() }
    }

    pub(super) fn finish_rewraps(slots: Vec<u16>) -> Vec<Self> {
        slots.into_iter().map(|slot| Self::rewrap(slot, KeyDestruction::Nothing)).collect()
    }

    /// Guards that no record has this key. A broken record counts as a record.
    pub fn absent(self, tree: Tree, key: impl AsRef<[u8]>) -> Self {
        self.only_if(tree, key, GuardCondition::Absent)
    }

    /// Guards that this key has no record, or one whose payload begins with a time (i64 big-endian, ms)
    /// before `since_ms`. A broken record passes; it is reported, and a `put` to the key replaces it.
    pub fn unless_recent(self, tree: Tree, key: impl AsRef<[u8]>, since_ms: i64) -> Self {
        self.only_if(tree, key, GuardCondition::UnlessRecent(since_ms))
    }

    /// Guards that a record still has this payload: a read-modify-write loses no concurrent change.
    pub fn unchanged(self, tree: Tree, key: impl AsRef<[u8]>, payload: impl Into<Vec<u8>>) -> Self {
        self.only_if(tree, key, GuardCondition::Unchanged(payload.into()))
    }

    fn only_if(mut self, tree: Tree, key: impl AsRef<[u8]>, holds: GuardCondition) -> Self {
        self.guards.push(CommitGuard::Record { tree, key: key.as_ref().to_vec(), holds });
        self
    }

    /// Guards that the record of this key is as the caller read it: has this payload, or is still absent.
    pub fn as_found(self, tree: Tree, key: impl AsRef<[u8]>, found: Option<impl Into<Vec<u8>>>) -> Self {
        match found {
            Some(payload) => self.unchanged(tree, key, payload),
            None => self.absent(tree, key),
        }
    }

    /// Guards that the company has no lead of this identity [identified](Self::identify) since `since_ms`,
    /// Unix milliseconds. A failed guard returns the time (i64 big-endian, ms) and the uuid of that lead.
    pub fn unknown(mut self, company: Uuid, identity: [u8; 32], since_ms: i64) -> Self {
        self.guards.push(CommitGuard::Unknown { company, identity, since_ms });
        self
    }

    /// Records the identity of the commit's lead for the company's look-back period, hashed under a key that
    /// is destroyed after it. Both times are Unix milliseconds.
    pub fn identify(mut self, company: Uuid, identity: [u8; 32], at_ms: i64, look_back_ms: i64) -> Self {
        self.writes.push(CommitWrite::Identify { company, identity, at_ms, look_back_ms });
        self
    }

    /// Writes a record and replaces one with the same key.
    pub fn put(mut self, tree: Tree, key: impl AsRef<[u8]>, payload: impl Into<Vec<u8>>) -> Self {
        self.writes.push(CommitWrite::Put { tree, key: key.as_ref().to_vec(), payload: payload.into() });
        self
    }

    /// Removes a record, if it exists.
    pub fn remove(mut self, tree: Tree, key: impl AsRef<[u8]>) -> Self {
        self.writes.push(CommitWrite::Remove { tree, key: key.as_ref().to_vec() });
        self
    }

    /// Appends a record to a feed of `company`, behind all earlier ones. `tree` is one of [`Tree::FEEDS`].
    /// The store assigns the arrival time, and so the key ([`FeedKey`](super::FeedKey)).
    pub fn append(mut self, tree: Tree, company: Uuid, payload: impl Into<Vec<u8>>) -> Self {
        self.writes.push(CommitWrite::Append { tree, company, payload: payload.into() });
        self
    }

    /// Makes the current time durable: a record that arrives later has a later time, across restarts too.
    pub fn mark_time(mut self) -> Self {
        self.marks_time = true;
        self
    }
}

pub(super) type CommitResult = Result<(), CommitError>;

/// Shows counts, never content: payloads hold personal data.
impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (guards, writes) = (self.guards.len(), self.writes.len());
        f.debug_struct("Commit").field("guards", &guards).field("writes", &writes).finish()
    }
}

/// Why a commit was not acknowledged.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A guard did not hold; nothing was written.
    #[error("guard `{index}` did not hold")]
    Guard {
        /// Index of the guard in the order given, from 0.
        index: usize,
        /// The payload of the conflicting record; empty where the guard wanted a record that does not exist.
        found: Vec<u8>,
    },
    /// The writer's queue is full; nothing was written, try later.
    #[error("the store's queue is full")]
    Busy,
    /// Too many changes of the record are waiting, or this one waited too long; nothing was written.
    #[error("too many changes of this record are waiting")]
    Crowded,
    /// The commit is about a lead that is erased; nothing was written.
    #[error("the lead is erased")]
    Erased,
    /// The commit could not be written, and may or may not survive a restart. After a disk failure the store
    /// refuses all further commits ([`StoreHealth`](super::StoreHealth)).
    #[error("the store could not write: {0}")]
    Failed(String),
    /// A record that it depends on could not be read; nothing was written.
    #[error("{0}")]
    Unread(String),
    /// The disk did not take it in time. It may be written later.
    #[error("the store's disk did not finish the write in time")]
    Late,
    /// The store is closed; nothing was written.
    #[error("the store is closed")]
    Closed,
}

impl From<ReadError> for CommitError {
    fn from(error: ReadError) -> Self {
        Self::Unread(error.to_string())
    }
}

/// Shows the size of the conflicting record, not its payload.
impl fmt::Debug for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guard { index, found } => {
                write!(f, "Guard {{ index: {index}, found: {} bytes }}", found.len())
            }
            _ => write!(f, "CommitError({self})"),
        }
    }
}
