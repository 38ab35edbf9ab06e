//! A group: the commits that one wake-up of the writer makes durable together.
//!
//! Commits are admitted in order. A guard sees what sled holds under what earlier commits of the group will write, so the
//! outcome is as if each had been written alone; a refused commit leaves no trace.

use std::collections::HashMap;

use sled::{Batch, IVec};

use super::{
    arrival::{Arrivals, FeedKey},
    broken::BrokenRecord,
    commit::{Commit, CommitError, Guard, Write},
    frame::{Frame, Reason, VALUE_LIMIT, frames, part_key},
    records::{RawValues, Records, read_record},
    trees::Tree,
};

/// What became of one commit.
pub(super) type Outcome = Result<(), CommitError>;

/// The writes of a group, before they are applied.
pub(super) struct Group<'a> {
    below: &'a Records,
    writes: HashMap<Vec<u8>, Option<Vec<u8>>>,
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
        Self { below, writes: HashMap::new() }
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
        let mut sequence = 0;
        for write in &commit.writes {
            match write {
                Write::Put { tree, key, payload } => self.put(*tree, key, payload)?,
                Write::Remove { tree, key } => self.remove(*tree, key)?,
                Write::Append { tree, company, payload } => {
                    let key = FeedKey { company: *company, arrival_us: arrivals.next_us(), sequence };
                    self.put(*tree, &key.to_bytes(), payload)?;
                    sequence += 1;
                }
            }
        }
        Ok(Ok(()))
    }

    /// Writes a record, leaving no piece of the one it replaces.
    pub(super) fn put(&mut self, tree: Tree, key: &[u8], payload: &[u8]) -> sled::Result<()> {
        self.remove(tree, key)?;
        let (record, pieces) = frames(payload);
        self.writes.insert(tree.sled_key(key), Some(record));
        for (part, piece) in (0..).zip(pieces) {
            self.writes.insert(part_key(tree, key, part), Some(piece));
        }
        Ok(())
    }

    /// The writes as one batch; `None` when there are none.
    pub(super) fn into_batch(self) -> Option<Batch> {
        if self.writes.is_empty() {
            return None;
        }
        let mut batch = Batch::default();
        for (sled_key, write) in self.writes {
            match write {
                Some(raw) => batch.insert(sled_key, raw),
                None => batch.remove(sled_key),
            }
        }
        Some(batch)
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
        let found = match read_record(self, tree, key)? {
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
        if tree == Tree::Parts {
            return Err(CommitError::Failed("tree `parts` is written by the store alone".to_owned()));
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
