//! What is to be written together: guards that must hold, then writes that happen all or not at all.

use std::{collections::BTreeSet, fmt};

use uuid::Uuid;

use super::{trees::Tree, volume_number::Number};

/// Writes that become durable together, under guards. Built by chaining, given to [`Store::commit`].
///
/// Guards are checked in the order given, against everything committed before, and before any write of this commit;
/// the first that fails drops the commit whole. Of two writes to one key the later counts.
///
/// [`Store::commit`]: super::Store::commit
#[derive(Clone, Default)]
#[must_use = "a commit does nothing until it is given to the store"]
pub struct Commit {
    pub(super) about: Option<Uuid>,
    pub(super) is_first_about: bool,
    pub(super) rewrap: Option<Box<Rewrap>>,
    pub(super) guards: Vec<Guard>,
    pub(super) writes: Vec<Write>,
    pub(super) marks_time: bool,
}

#[derive(Clone)]
pub(super) enum Guard {
    Record { tree: Tree, key: Vec<u8>, holds: Holds },
    Unknown { company: Uuid, identity: [u8; 32], since_ms: i64 },
}

/// What must hold of a record.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Holds {
    /// It is not there.
    Absent,
    /// It begins with a time before this one, in ms, or is not there.
    UnlessRecent(i64),
    /// It has this payload.
    Unchanged(Vec<u8>),
}

#[derive(Clone)]
pub(super) enum Write {
    Put { tree: Tree, key: Vec<u8>, payload: Vec<u8> },
    Remove { tree: Tree, key: Vec<u8> },
    Append { tree: Tree, company: Uuid, payload: Vec<u8> },
    Identify { company: Uuid, identity: [u8; 32], at_ms: i64, look_back_ms: i64 },
}

/// The data keys of a slot are to be sealed anew, without some.
#[derive(Clone)]
pub(super) struct Rewrap {
    pub(super) slot: Slot,
    pub(super) without: Without,
}

/// A slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// That of a lead.
    Of(Uuid),
    /// That of this number.
    Number(u16),
}

/// Which data keys are destroyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Without {
    /// None that is not.
    Nothing,
    /// Those of these leads, at this time in ms; that they were is kept.
    Leads(BTreeSet<Uuid>, i64),
    /// Those of the leads of a volume, at this time in ms; that they were is kept until the next volume goes.
    Volume(Number, i64),
    /// Those of the leads that came before.
    Before(Expiry),
}

/// Data keys that go by the time at which their leads came, where that stands in the place of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expiry {
    /// When they came before, in seconds since 1970.
    pub(super) before: Number,
    /// What was destroyed before, in ms, is forgotten.
    pub(super) forgotten_ms: i64,
    /// When they are destroyed, in ms.
    pub(super) at_ms: i64,
}

impl Expiry {
    /// When they are destroyed, in seconds since 1970.
    pub(super) fn at_s(self) -> Number {
        Number::try_from(self.at_ms / 1000).unwrap_or(Number::MAX)
    }
}

impl Commit {
    /// A commit without guards or writes. Given to the store as it is, it is a barrier: answered when all before it are.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says which lead the commit is about: what it writes into trees that are [sealed by lead](super::Seal::Lead) is
    /// sealed with the data key of that lead. The first commit makes one.
    pub fn about(mut self, lead: Uuid) -> Self {
        self.about = Some(lead);
        self
    }

    /// Like [`about`](Self::about), of a lead whose uuid was made for it just now, so that it has no data key: none is looked for.
    pub fn about_new(self, lead: Uuid) -> Self {
        Self { is_first_about: true, ..self.about(lead) }
    }

    /// Destroys the data keys of leads: once this is acknowledged, nothing that was sealed with them can ever be read again from this
    /// disk, and no commit about the leads is taken any more. `at_ms` is when, Unix milliseconds. The leads must be
    /// [of one slot](super::Store::by_slot): the other keys of the slot are sealed anew once for all of them. Without any it does nothing.
    pub fn erase_all(mut self, leads: impl IntoIterator<Item = Uuid>, at_ms: i64) -> Self {
        let leads: BTreeSet<Uuid> = leads.into_iter().collect();
        if let Some(first) = leads.first() {
            let slot = Slot::Of(*first);
            self.rewrap = Some(Box::new(Rewrap { slot, without: Without::Leads(leads, at_ms) }));
        }
        self
    }

    /// Seals the data keys of a slot anew, but for some, which are destroyed. Without any it finishes what a crash has left in the
    /// middle of an erasure.
    pub(super) fn rewrap(slot: u16, without: Without) -> Self {
        Self { rewrap: Some(Box::new(Rewrap { slot: Slot::Number(slot), without })), ..Self::default() }
    }

    /// The same for slots that a crash has left in the middle of it.
    pub(super) fn finish_rewraps(slots: Vec<u16>) -> Vec<Self> {
        slots.into_iter().map(|slot| Self::rewrap(slot, Without::Nothing)).collect()
    }

    /// Guards that no record has this key. A broken record counts as one.
    pub fn absent(self, tree: Tree, key: impl AsRef<[u8]>) -> Self {
        self.only_if(tree, key, Holds::Absent)
    }

    /// Guards that no record has this key, or one whose payload begins with a time (i64 big-endian, milliseconds) before
    /// `since_ms`. A broken record does not stand in the way: it is reported, and a `put` to the key replaces it.
    pub fn unless_recent(self, tree: Tree, key: impl AsRef<[u8]>, since_ms: i64) -> Self {
        self.only_if(tree, key, Holds::UnlessRecent(since_ms))
    }

    /// Guards that the record of this key still has this payload, so that a change made of it is lost to no other.
    pub fn unchanged(self, tree: Tree, key: impl AsRef<[u8]>, payload: impl Into<Vec<u8>>) -> Self {
        self.only_if(tree, key, Holds::Unchanged(payload.into()))
    }

    fn only_if(mut self, tree: Tree, key: impl AsRef<[u8]>, holds: Holds) -> Self {
        self.guards.push(Guard::Record { tree, key: key.as_ref().to_vec(), holds });
        self
    }

    /// Guards that the record of this key is as it was found: has this payload, or is still not there.
    pub fn as_found(self, tree: Tree, key: impl AsRef<[u8]>, found: Option<impl Into<Vec<u8>>>) -> Self {
        match found {
            Some(payload) => self.unchanged(tree, key, payload),
            None => self.absent(tree, key),
        }
    }

    /// Guards that no lead of this identity was [identified](Self::identify) for the company at or after `since_ms`, Unix
    /// milliseconds, and still is. What is found then is the time (i64 big-endian, milliseconds) and the uuid of that lead.
    pub fn unknown(mut self, company: Uuid, identity: [u8; 32], since_ms: i64) -> Self {
        self.guards.push(Guard::Unknown { company, identity, since_ms });
        self
    }

    /// Keeps whom the lead is [about](Self::about) for a look-back of the company of so long: a hash of it under a key that is
    /// destroyed after it, and sealed with the lead's data key. Both times are Unix milliseconds.
    pub fn identify(mut self, company: Uuid, identity: [u8; 32], at_ms: i64, look_back_ms: i64) -> Self {
        self.writes.push(Write::Identify { company, identity, at_ms, look_back_ms });
        self
    }

    /// Writes a record, in place of one with the same key.
    pub fn put(mut self, tree: Tree, key: impl AsRef<[u8]>, payload: impl Into<Vec<u8>>) -> Self {
        self.writes.push(Write::Put { tree, key: key.as_ref().to_vec(), payload: payload.into() });
        self
    }

    /// Removes a record, if there is one.
    pub fn remove(mut self, tree: Tree, key: impl AsRef<[u8]>) -> Self {
        self.writes.push(Write::Remove { tree, key: key.as_ref().to_vec() });
        self
    }

    /// Writes the next record of a feed of `company`, behind all that were appended before. `tree` is one of
    /// [`Tree::FEEDS`]. The store gives the record its arrival time, and so its key ([`FeedKey`](super::FeedKey)).
    pub fn append(mut self, tree: Tree, company: Uuid, payload: impl Into<Vec<u8>>) -> Self {
        self.writes.push(Write::Append { tree, company, payload: payload.into() });
        self
    }

    /// Makes the time durable: what arrives after this is acknowledged arrives later than now, over restarts too.
    pub fn mark_time(mut self) -> Self {
        self.marks_time = true;
        self
    }
}

/// What became of one commit.
pub(super) type Outcome = Result<(), CommitError>;

/// Shows how much there is, never what: payloads hold personal data.
impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit")
            .field("guards", &self.guards.len())
            .field("writes", &self.writes.len())
            .finish()
    }
}

/// Why a commit was not acknowledged.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A guard did not hold; nothing was written.
    #[error("guard `{index}` did not hold")]
    Guard {
        /// Which one, in the order they were given, from 0.
        index: usize,
        /// The payload of the record in the way; empty where one was wanted and there is none.
        found: Vec<u8>,
    },
    /// The writer's queue is full; nothing was written, try later.
    #[error("the store's queue is full")]
    Busy,
    /// As many changes of the record wait as may, or this one has waited as long as it may; nothing was written, try later.
    #[error("too many changes of the record wait for each other")]
    Crowded,
    /// The commit is about a lead that is erased; nothing was written.
    #[error("the lead is erased")]
    Erased,
    /// The commit could not be written. After a disk failure the store is failed and refuses all further commits
    /// ([`Health`](super::Health)); whether this one survives a restart is then not known.
    #[error("the store could not write: {0}")]
    Failed(String),
    /// The disk did not take it in time. It may be written later.
    #[error("the store's disk did not take it in time")]
    Late,
    /// The store is closed; nothing was written.
    #[error("the store is closed")]
    Closed,
}

/// Shows the size of the record found, not its payload.
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
