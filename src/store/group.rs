//! A group: the commits that one wake-up of the writer makes durable together.
//!
//! Commits are admitted in order. A guard sees what sled holds under what earlier commits of the group will write, so the
//! outcome is as if each had been written alone; a refused commit leaves no trace.

use std::collections::{HashMap, HashSet};

use sled::IVec;
use uuid::Uuid;

use super::{
    arrival::{Arrivals, FeedKey},
    broken::BrokenRecord,
    changes::Change,
    commit::{Commit, CommitError, Guard, Rewrap, Write},
    frame::{Frame, Reason, VALUE_LIMIT, frames, part_key},
    records::{Batch, RawValues, Records, read_clear, read_record},
    sealing::{
        data_key::{self, DataKey},
        key::Key,
        sealed,
    },
    trees::{Seal, Tree},
    volumes::{BASE, Number, place, time_ms},
};
use crate::planted::{Planted, planted};

/// What became of one commit.
pub(super) type Outcome = Result<(), CommitError>;

/// The writes of a group, before they are applied.
pub(super) struct Group<'a> {
    below: &'a Records,
    own: Key,
    writes: HashMap<Vec<u8>, Option<Vec<u8>>>,
    rewrapped: bool,
}

impl RawValues for Group<'_> {
    fn raw(&self, sled_key: &[u8]) -> sled::Result<Option<IVec>> {
        match self.writes.get(sled_key) {
            Some(write) => Ok(write.as_deref().map(IVec::from)),
            None => self.below.raw(sled_key),
        }
    }
}

impl<'a> Group<'a> {
    /// A group without writes, over what is stored.
    pub(super) fn over(below: &'a Records) -> Self {
        Self { below, own: below.sealing().own(), writes: HashMap::new(), rewrapped: false }
    }

    /// Takes the writes of a commit in, or tells why not. The outer error is sled's, and the end of the whole group.
    pub(super) fn admit(&mut self, commit: &Commit, arrivals: &mut Arrivals) -> sled::Result<Outcome> {
        if let Err(refusal) = within_limits(commit) {
            return Ok(Err(refusal));
        }
        for (index, guard) in commit.guards.iter().enumerate() {
            if let Err(refusal) = self.check(index, guard)? {
                return Ok(Err(refusal));
            }
        }
        if let Some(rewrap) = &commit.rewrap
            && let Err(refusal) = self.rewrap(rewrap)?
        {
            return Ok(Err(refusal));
        }
        let data_key = match self.data_key(commit)? {
            Ok(data_key) => data_key,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if commit.marks_time {
            arrivals.next_us();
        }
        let about = commit.about.zip(data_key);
        let mut sequence = 0;
        for write in &commit.writes {
            match write {
                Write::Put { tree, key, payload } => self.seal(&about, *tree, key, payload)?,
                Write::Remove { tree, key } => self.remove(*tree, key)?,
                Write::Append { tree, company, payload } => {
                    let key = FeedKey { company: *company, arrival_us: arrivals.next_us(), sequence };
                    self.seal(&about, *tree, &key.to_bytes(), payload)?;
                    sequence += 1;
                }
            }
        }
        Ok(Ok(()))
    }

    /// The data key with which the commit is sealed, made when its lead has none; or why the lead is written no more.
    fn data_key(&mut self, commit: &Commit) -> sled::Result<Result<Option<Key>, CommitError>> {
        let Some(lead) = commit.about else { return Ok(Ok(None)) };
        let sealing = self.below.sealing();
        Ok(match sealing.data_key(self, lead)? {
            Ok(Some(DataKey::Kept(key))) => Ok(Some(key)),
            Ok(Some(DataKey::Destroyed)) => Err(CommitError::Erased),
            Ok(None) => {
                let volume = self.below.volumes().last().map_or(BASE, |(last, _)| last);
                let (key, kept) = sealing.new_data_key(lead, volume);
                self.put(Tree::LeadKeys, &data_key::place(lead), &kept)?;
                Ok(Some(key))
            }
            Err(reason) => {
                let broken = BrokenRecord::new(Tree::LeadKeys, &data_key::place(lead), reason);
                self.below.report(&broken);
                Err(CommitError::Failed(broken.to_string()))
            }
        })
    }

    /// Seals the data keys of a slot anew. The old wrapping key is in the file until the group is on the disk.
    fn rewrap(&mut self, rewrap: &Rewrap) -> sled::Result<Outcome> {
        let sealing = self.below.sealing();
        if let Err(error) = sealing.renew(rewrap.slot) {
            return Ok(Err(CommitError::Failed(error.to_string())));
        }
        self.rewrapped = true;
        let prefix = Tree::LeadKeys.sled_key(&rewrap.slot.to_be_bytes());
        let stored = self.below.walk_base(&prefix).map(|entry| Ok(entry?.0));
        let mut places = stored.collect::<sled::Result<HashSet<_>>>()?;
        places.extend(
            self.writes.keys().filter(|key| key.starts_with(&prefix)).map(|key| IVec::from(&key[..])),
        );
        let mut kept = HashMap::with_capacity(places.len());
        for place in places {
            if let Some(lead) = data_key::lead_at(&place[1..])
                && let Ok(Some(found)) = read_clear(self, Tree::LeadKeys, &place[1..])?
            {
                kept.insert(lead, found);
            }
        }
        for (lead, kept) in sealing.rewrapped(kept, &rewrap.without) {
            match kept {
                Some(kept) => self.put(Tree::LeadKeys, &data_key::place(lead), &kept)?,
                None => self.remove(Tree::LeadKeys, &data_key::place(lead))?,
            }
        }
        Ok(Ok(()))
    }

    /// Whether wrapping keys are to be forgotten once the group is on the disk.
    pub(super) fn has_rewrapped(&self) -> bool {
        self.rewrapped
    }

    /// Writes a record, sealed where its tree says so.
    fn seal(
        &mut self,
        about: &Option<(Uuid, Key)>,
        tree: Tree,
        key: &[u8],
        payload: &[u8],
    ) -> sled::Result<()> {
        match (tree.row().seal, about) {
            (Seal::Open, _) => self.put(tree, key, payload),
            (Seal::Own, _) => self.put(tree, key, &sealed(Uuid::nil(), &self.own, tree, key, payload)),
            (Seal::Lead, Some((lead, data_key))) => {
                self.put(tree, key, &sealed(*lead, data_key, tree, key, payload))
            }
            (Seal::Lead, None) => unreachable!("a commit that is about no lead was refused before"),
        }
    }

    /// Writes a record as it is, leaving no piece of the one it replaces.
    pub(super) fn put(&mut self, tree: Tree, key: &[u8], payload: &[u8]) -> sled::Result<()> {
        self.remove(tree, key)?;
        let (record, pieces) = frames(payload);
        self.writes.insert(tree.sled_key(key), Some(record));
        for (part, piece) in (0..).zip(pieces) {
            self.writes.insert(part_key(tree, key, part), Some(piece));
        }
        Ok(())
    }

    /// The writes as one batch, each with its place; `None` when there are none.
    pub(super) fn into_batch(mut self) -> sled::Result<Option<Batch>> {
        if self.writes.is_empty() {
            return Ok(None);
        }
        let mut batch = Vec::with_capacity(self.writes.len());
        let keys: Vec<Vec<u8>> = self.writes.keys().cloned().collect();
        let placed = keys.into_iter().map(|key| Ok((self.placed(&key)?, key)));
        for (volume, key) in placed.collect::<sled::Result<Vec<_>>>()? {
            let value = self.writes.remove(&key).flatten().map(IVec::from);
            batch.push(Change { volume, key: IVec::from(key), value });
        }
        Ok(Some(Batch(batch)))
    }

    fn placed(&self, sled_key: &[u8]) -> sled::Result<Number> {
        match sled_key.split_first().and_then(|(prefix, key)| Some((Tree::of_prefix(*prefix)?, key))) {
            Some((tree, key)) => {
                let volumes = self.below.volumes();
                time_ms(tree, key).into_iter().for_each(|ms| volumes.note_ms(ms));
                Ok(place(self, volumes, tree, key)?.number())
            }
            None => Ok(BASE),
        }
    }

    fn remove(&mut self, tree: Tree, key: &[u8]) -> sled::Result<()> {
        let sled_key = tree.sled_key(key);
        let Some(raw) = self.raw(&sled_key)? else { return Ok(()) };
        if let Ok(Frame::Split(head)) = Frame::open(&raw) {
            for part in 0..head.parts {
                self.writes.insert(part_key(tree, key, part), None);
            }
        }
        self.writes.insert(sled_key, None);
        Ok(())
    }

    fn check(&self, index: usize, guard: &Guard) -> sled::Result<Outcome> {
        let (tree, key) = guard.record();
        if planted(Planted::DuplicatesWin) && matches!(guard, Guard::Absent { .. }) {
            return Ok(Ok(()));
        }
        let found = match read_record(self, self.below.sealing(), tree, key)? {
            Ok(None) if matches!(guard, Guard::Unchanged { .. }) => Vec::new(),
            Ok(None) => return Ok(Ok(())),
            Ok(Some(found)) if guard.is_unchanged(&found) => return Ok(Ok(())),
            Ok(Some(found)) => found,
            Err(broken) => {
                self.below.report(&broken);
                return Ok(guard.over(&broken));
            }
        };
        if let Guard::UnlessRecent { since_ms, .. } = guard {
            match found.first_chunk() {
                Some(time_ms) if i64::from_be_bytes(*time_ms) >= *since_ms => {}
                Some(_) => return Ok(Ok(())),
                None => {
                    self.below.report(&BrokenRecord::new(tree, key, Reason::NoTime));
                    return Ok(Ok(()));
                }
            }
        }
        Ok(Err(CommitError::Guard { index, found }))
    }
}

impl Guard {
    fn record(&self) -> (Tree, &[u8]) {
        match self {
            Self::Absent { tree, key }
            | Self::UnlessRecent { tree, key, .. }
            | Self::Unchanged { tree, key, .. } => (*tree, key),
        }
    }

    fn is_unchanged(&self, found: &[u8]) -> bool {
        matches!(self, Self::Unchanged { payload, .. } if payload == found)
    }

    /// A broken record is never taken for an absent one, but does not bar a time window for ever either.
    fn over(&self, broken: &BrokenRecord) -> Outcome {
        match self {
            Self::Absent { .. } | Self::Unchanged { .. } => Err(CommitError::Failed(broken.to_string())),
            Self::UnlessRecent { .. } => Ok(()),
        }
    }
}

/// Refuses what could not be written as a record, before any of the commit is taken in.
fn within_limits(commit: &Commit) -> Outcome {
    for write in &commit.writes {
        let (tree, length) = match write {
            Write::Put { tree, payload, .. } => (*tree, payload.len()),
            Write::Remove { tree, .. } => (*tree, 0),
            Write::Append { tree, .. } if !Tree::FEEDS.contains(tree) => {
                return Err(CommitError::Failed(format!("tree `{}` is no feed to append to", tree.name())));
            }
            Write::Append { tree, payload, .. } => (*tree, payload.len()),
        };
        if matches!(tree, Tree::Parts | Tree::LeadKeys) {
            let name = tree.name();
            return Err(CommitError::Failed(format!("tree `{name}` is written by the store alone")));
        }
        if tree.row().seal == Seal::Lead && commit.about.is_none() && !matches!(write, Write::Remove { .. }) {
            let name = tree.name();
            let reason = format!("a record of tree `{name}` must be of a commit that is about a lead");
            return Err(CommitError::Failed(reason));
        }
        if length > VALUE_LIMIT {
            let name = tree.name();
            let reason =
                format!("a value of tree `{name}` must be at most `{VALUE_LIMIT}` bytes, got `{length}`");
            return Err(CommitError::Failed(reason));
        }
    }
    Ok(())
}
