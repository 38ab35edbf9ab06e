//! A group: the commits that one wake-up of the writer makes durable together.
//!
//! Commits are staged in order. A guard sees the stored records overlaid with the writes of earlier commits
//! in the group, so the outcome is as if each had been written alone; a refused commit leaves no trace.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use uuid::Uuid;

use super::commit::{CommitGuard, CommitWrite, GuardCondition, KeyDestruction, Rewrap};
use super::engine::StoreBackend;
use super::raw::{RawValues, read_clear};
use super::sealing::data_key::{self, DataKey};
use super::sealing::key::SealKey;
use super::sealing::{Sealing, sealed};
use crate::{
    Arrivals, BrokenReason, BrokenRecord, Commit, CommitError, CommitResult, DiskError, DiskResult, FeedKey,
    LAST_ARRIVAL, RecordChange, Seal, SealingError, Tree, VALUE_LIMIT, VolumeNumber, framed,
};

pub(super) struct WriteGroup<'a> {
    below: &'a dyn StoreBackend,
    own: SealKey,
    writes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    rewrapped: BTreeSet<u16>,
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum GuardError {
    /// It is refused, and leaves no trace.
    Commit(#[from] CommitError),
    /// The disk cannot be read, which fails the whole group.
    Disk(#[from] DiskError),
}

fn failed(reason: impl ToString) -> GuardError {
    CommitError::Failed(reason.to_string()).into()
}

impl RawValues for WriteGroup<'_> {
    fn raw(&self, tree_key: &[u8]) -> DiskResult<Option<Vec<u8>>> {
        match self.writes.get(tree_key) {
            Some(write) => Ok(write.clone()),
            None => self.below.raw(tree_key),
        }
    }
}

impl<'a> WriteGroup<'a> {
    fn over(below: &'a dyn StoreBackend) -> Self {
        Self { below, own: below.sealing().own(), writes: BTreeMap::new(), rewrapped: BTreeSet::new() }
    }

    /// Checks the guards of a commit, and adds its writes.
    fn stage(&mut self, commit: &Commit, arrivals: &mut Arrivals) -> Result<(), GuardError> {
        within_limits(commit)?;
        for (index, guard) in commit.guards.iter().enumerate() {
            self.check_guard(index, guard)?;
        }
        if let Some(rewrap) = &commit.rewrap {
            self.rewrap(rewrap)?;
        }
        let about = self.about(commit)?;
        if commit.marks_time {
            arrivals.next_us();
        }
        let mut sequence = 0;
        for write in &commit.writes {
            match write {
                CommitWrite::Put { tree, key, payload } => self.seal(&about, *tree, key, payload),
                CommitWrite::Remove { tree, key } => self.remove(*tree, key),
                CommitWrite::Append { tree, company, payload } => {
                    let key =
                        FeedKey { company: *company, arrival_us: arrivals.next_us(), sequence }.to_bytes();
                    self.seal(&about, *tree, &key, payload);
                    sequence += 1;
                }
                CommitWrite::Identify { company, identity, at_ms, look_back_ms } => {
                    let lead = commit.about.unwrap_or_default();
                    let key = self.below.sealing().identity_key(*company, *at_ms, *look_back_ms);
                    let key = key.map_err(failed)?.place_of(identity, lead);
                    let payload = [&at_ms.to_be_bytes()[..], lead.as_bytes(), identity].concat();
                    self.seal(&about, Tree::Identities, &key, &payload);
                }
            }
        }
        Ok(())
    }

    /// The owner that the commit's sealed records name, and the key that seals them.
    fn about(&mut self, commit: &Commit) -> Result<Option<(Uuid, SealKey)>, GuardError> {
        if !commit.writes.iter().any(is_ephemeral) {
            return Ok(commit.about.zip(self.data_key(commit)?));
        }
        let ephemeral = self.below.sealing().ephemeral_key().map_err(failed)?;
        Ok(Some((ephemeral.id, ephemeral.key)))
    }

    /// The data key of the commit's lead, created if it has none; or why the lead is closed to writes.
    fn data_key(&mut self, commit: &Commit) -> Result<Option<SealKey>, GuardError> {
        let Some(lead) = commit.about else { return Ok(None) };
        let sealing = self.below.sealing();
        let place = sealing.slots.key_of(lead);
        let known = if commit.is_first_about { Ok(None) } else { sealing.data_key(self, lead)? };
        match known {
            Ok(Some(DataKey::Kept(key))) => Ok(Some(key)),
            Ok(Some(DataKey::Destroyed)) => Err(CommitError::Erased.into()),
            Ok(None) => {
                let key = SealKey::random();
                let kept = sealing.kept(lead, &key, self.below.newest_volume());
                self.put(Tree::LeadKeys, &place, &kept);
                Ok(Some(key))
            }
            Err(reason) => {
                let broken = BrokenRecord::new(Tree::LeadKeys, &place, reason);
                self.below.report(&broken);
                Err(failed(broken))
            }
        }
    }

    /// Reseals a slot. Its old wrapping key stays in the file until the group is durable.
    fn rewrap(&mut self, rewrap: &Rewrap) -> Result<(), GuardError> {
        let sealing = self.below.sealing();
        let slot = rewrap.slot(sealing);
        if let KeyDestruction::Leads(leads, _) = &rewrap.without
            && leads.iter().any(|lead| sealing.slots.slot_of(*lead) != slot)
        {
            return Err(failed("a commit may only erase leads of one slot"));
        }
        sealing.renew(&BTreeSet::from([slot])).map_err(failed)?;
        self.rewrapped.insert(slot);
        let (slot, prefix) = (slot.to_be_bytes(), Tree::LeadKeys.tree_key(&slot.to_be_bytes()));
        let mut places = HashSet::new();
        for entry in self.below.walk(Tree::LeadKeys, &slot, &slot) {
            places.insert(entry?.0);
        }
        places.extend(self.writes.keys().filter(|key| key.starts_with(&prefix)).cloned());
        let mut kept = HashMap::with_capacity(places.len());
        for place in places {
            if let Some(lead) = data_key::lead_at(&place[1..])
                && let Ok(Some(found)) = read_clear(self, Tree::LeadKeys, &place[1..])?
            {
                kept.insert(lead, found);
            }
        }
        for (lead, kept) in sealing.rewrapped(kept, &rewrap.without) {
            let place = sealing.slots.key_of(lead);
            match kept {
                Some(kept) => self.put(Tree::LeadKeys, &place, &kept),
                None => self.remove(Tree::LeadKeys, &place),
            }
        }
        Ok(())
    }

    /// Puts a record, sealed as its tree demands.
    fn seal(&mut self, about: &Option<(Uuid, SealKey)>, tree: Tree, key: &[u8], payload: &[u8]) {
        let sealed = match (tree.row().seal, about) {
            (Seal::Open, _) => return self.put(tree, key, payload),
            (Seal::Own, _) => sealed(Uuid::nil(), &self.own, tree, key, payload),
            (Seal::Lead | Seal::Ephemeral, Some((owner, with))) => sealed(*owner, with, tree, key, payload),
            (Seal::Lead | Seal::Ephemeral, None) => unreachable!("a commit without a key was refused before"),
        };
        self.put(tree, key, &sealed);
    }

    fn put(&mut self, tree: Tree, key: &[u8], payload: &[u8]) {
        self.writes.insert(tree.tree_key(key), Some(framed(payload)));
    }

    fn remove(&mut self, tree: Tree, key: &[u8]) {
        self.writes.insert(tree.tree_key(key), None);
    }

    fn check_guard(&self, index: usize, guard: &CommitGuard) -> Result<(), GuardError> {
        let (tree, key, holds) = match guard {
            CommitGuard::Unknown { company, identity, since_ms } => {
                let known = self.known(*company, identity, *since_ms)?;
                return known.map_or(Ok(()), |found| Err(CommitError::Guard { index, found }.into()));
            }
            CommitGuard::Record { tree, key, holds } => (*tree, key, holds),
        };
        let found = match self.below.sealing().read(self, tree, key)? {
            Ok(None) if matches!(holds, GuardCondition::Unchanged(_)) => Vec::new(),
            Ok(None) => return Ok(()),
            Ok(Some(found)) if matches!(holds, GuardCondition::Unchanged(payload) if *payload == found) => {
                return Ok(());
            }
            Ok(Some(found)) => found,
            Err(broken) => {
                self.below.report(&broken);
                // A broken record never counts as absent, but does not fail a time window for ever either.
                let is_barred = !matches!(holds, GuardCondition::UnlessRecent(_));
                return if is_barred { Err(failed(broken)) } else { Ok(()) };
            }
        };
        if let GuardCondition::UnlessRecent(since_ms) = holds {
            let time_ms = found.first_chunk().map(|ms| i64::from_be_bytes(*ms));
            if time_ms.is_none() {
                self.below.report(&BrokenRecord::new(tree, key, BrokenReason::NoTime));
            }
            if time_ms.is_none_or(|ms| ms < *since_ms) {
                return Ok(());
            }
        }
        Err(CommitError::Guard { index, found }.into())
    }

    /// The time and the lead of a company's identity recorded since a time, if there is one.
    fn known(&self, company: Uuid, identity: &[u8; 32], since_ms: i64) -> DiskResult<Option<Vec<u8>>> {
        let sealing = self.below.sealing();
        for key in sealing.identity_keys(company, since_ms) {
            let place = key.place(identity);
            match sealing.read(self, Tree::Identities, &place)? {
                Ok(Some(mut found)) => {
                    let at_ms = found.first_chunk().map(|at_ms| i64::from_be_bytes(*at_ms));
                    if at_ms.is_some_and(|at_ms| at_ms >= since_ms) {
                        found.truncate(8 + 16);
                        return Ok(Some(found));
                    }
                }
                // The lead is erased.
                Ok(None) => {}
                Err(broken) => self.below.report(&broken),
            }
        }
        Ok(None)
    }
}

/// Stages a group's commits. Returns their outcomes, the changes in key order, and the resealed slots.
pub(super) fn stage_all(
    below: &dyn StoreBackend,
    commits: &[Commit],
    arrivals: &mut Arrivals,
    place: impl Fn(&WriteGroup<'_>, &[u8]) -> DiskResult<VolumeNumber>,
) -> DiskResult<(Vec<CommitResult>, Vec<RecordChange>, BTreeSet<u16>)> {
    let last_arrival_us = arrivals.last_us;
    let mut group = WriteGroup::over(below);
    let stage = |commit| match group.stage(commit, arrivals) {
        Ok(()) => Ok(Ok(())),
        Err(GuardError::Commit(refusal)) => Ok(Err(refusal)),
        Err(GuardError::Disk(error)) => Err(error),
    };
    let outcomes = commits.iter().map(stage).collect::<DiskResult<_>>()?;
    if arrivals.last_us > last_arrival_us {
        group.put(Tree::Meta, LAST_ARRIVAL, &arrivals.last_us.to_be_bytes());
    }
    let placed = group.writes.keys().map(|key| place(&group, key)).collect::<DiskResult<Vec<_>>>()?;
    let changes = placed.into_iter().zip(group.writes);
    let changes = changes.map(|(volume, (key, value))| RecordChange { volume, key, value }).collect();
    Ok((outcomes, changes, group.rewrapped))
}

impl Rewrap {
    fn slot(&self, sealing: &Sealing) -> u16 {
        match (self.slot, &self.without) {
            (None, KeyDestruction::Leads(leads, _)) => {
                leads.first().map_or(0, |it| sealing.slots.slot_of(*it))
            }
            (slot, _) => slot.unwrap_or_default(),
        }
    }
}

pub(super) fn begin_slots(sealing: &Sealing, commits: &[Commit]) -> Result<(), SealingError> {
    let rewraps = commits.iter().filter_map(|commit| commit.rewrap.as_ref());
    sealing.renew(&rewraps.map(|rewrap| rewrap.slot(sealing)).collect())
}

/// Creates every other key that a commit needs, for a caller that cannot do so while it stages it.
pub(super) fn begin_keys(sealing: &Sealing, commit: &Commit) -> Result<(), SealingError> {
    if commit.writes.iter().any(is_ephemeral) {
        sealing.ephemeral_key()?;
    }
    for write in &commit.writes {
        if let CommitWrite::Identify { company, at_ms, look_back_ms, .. } = write {
            sealing.identity_key(*company, *at_ms, *look_back_ms)?;
        }
    }
    Ok(())
}

/// The keys of records that a commit depends on, so that they can be read at once. Not exhaustive.
pub(super) fn wanted(engine: &dyn StoreBackend, commit: &Commit) -> Vec<Vec<u8>> {
    let mut wanted = Vec::new();
    for guard in &commit.guards {
        match guard {
            CommitGuard::Record { tree, key, .. } => wanted.push(tree.tree_key(key)),
            CommitGuard::Unknown { company, identity, since_ms } => {
                let keys = engine.sealing().identity_keys(*company, *since_ms);
                wanted.extend(keys.iter().map(|key| Tree::Identities.tree_key(&key.place(identity))));
            }
        }
    }
    let arrives = |write: &CommitWrite| matches!(write, CommitWrite::Append { .. });
    if commit.marks_time || commit.writes.iter().any(arrives) {
        wanted.push(Tree::Meta.tree_key(LAST_ARRIVAL));
    }
    let lead = commit.about.filter(|_| !commit.is_first_about);
    wanted.extend(lead.map(|lead| Tree::LeadKeys.tree_key(&engine.sealing().slots.key_of(lead))));
    wanted
}

/// Refuses writes that cannot be stored as records, before any of the commit is staged.
fn within_limits(commit: &Commit) -> CommitResult {
    for write in &commit.writes {
        let (tree, length) = match write {
            CommitWrite::Put { tree, payload, .. } => (*tree, payload.len()),
            CommitWrite::Remove { tree, .. } => (*tree, 0),
            CommitWrite::Append { tree, .. } if !Tree::FEEDS.contains(tree) => {
                return Err(CommitError::Failed(format!("tree `{}` is not a feed", tree.name())));
            }
            CommitWrite::Append { tree, payload, .. } => (*tree, payload.len()),
            CommitWrite::Identify { .. } => (Tree::Identities, 0),
        };
        let (name, removes) = (tree.name(), matches!(write, CommitWrite::Remove { .. }));
        let is_known = removes || matches!(write, CommitWrite::Identify { .. });
        let reason = match tree {
            Tree::LeadKeys => format!("only the store writes tree `{name}`"),
            Tree::Identities if !is_known => format!("only the store writes tree `{name}`"),
            _ if tree.row().seal == Seal::Lead && commit.about.is_none() && !removes => {
                format!("a record of tree `{name}` needs a commit of a lead")
            }
            _ if commit.about.is_some() && is_ephemeral(write) => {
                format!("a record of tree `{name}` cannot be in a commit of a lead")
            }
            _ if length > VALUE_LIMIT => {
                format!("a value of tree `{name}` must be at most `{VALUE_LIMIT}` bytes, got `{length}`")
            }
            _ => continue,
        };
        return Err(CommitError::Failed(reason));
    }
    Ok(())
}

/// Whether it writes a record sealed with an ephemeral key.
fn is_ephemeral(write: &CommitWrite) -> bool {
    let CommitWrite::Put { tree, .. } = write else { return false };
    tree.row().seal == Seal::Ephemeral
}
