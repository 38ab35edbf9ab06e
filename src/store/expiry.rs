//! Retention with a database: records past their retention are removed one by one, in passes.
//!
//! The time of a lead stands beside its data key, in seconds since 1970. A pass removes everything older than
//! one time, in steps of bounded work. Each step records its progress, so that any process can resume:
//!
//! 1. Slot by slot, destroys the data keys of expired leads, as an [erasure](super::Commit::erase_all) would,
//!    then removes their own records. The next pass drops the tombstones of the keys, when every record
//!    sealed with them is gone.
//! 2. Removes rate tables and feed records, by the time in their keys.
//! 3. Removes the other growing records: by the time in the key, or because no data key opens them any more.
//!
//! Other records of an expired lead are unreadable, and removed in a later pass.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::commit::{KeyDestruction, KeyExpiry};
use super::retention::{AT_ONCE, OF_BASE, RetentionError};
use super::sealing::data_key;
use super::sealing::slots::SLOTS;
use crate::{Commit, FeedKey, ReadResult, Store, TREES, Tree, VolumeNumber, VolumeSelector, codec};

const PROGRESS: &[u8] = b"retention";

const LEADS_AT_ONCE: u64 = 100;

/// A part of a pass, as a search for what it removes next.
type ExpiryPart = Box<dyn Fn(&Store, &ExpiryProgress) -> ReadResult<ExpiryFindings> + Send + Sync>;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct ExpiryProgress {
    /// Records from before this time expire, Unix milliseconds.
    before_ms: u64,
    /// The previous pass removed all records from before this time.
    gone_ms: u64,
    /// Start of the pass, Unix milliseconds: recorded as the time of destruction of its keys.
    begun_ms: i64,
    /// Index of the next part; past the last when the pass is complete.
    part: u16,
    /// Where to resume in the part; empty at its beginning.
    after: Vec<u8>,
    leads: u64,
    records: u64,
}

#[derive(Default)]
struct ExpiryFindings {
    old: Vec<(Tree, Vec<u8>)>,
    leads: u64,
    /// A commit that destroys keys, made before the removals.
    destroys: Option<Commit>,
    after: Option<Vec<u8>>,
}

/// Totals of a pass so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// Leads removed.
    pub leads: u64,
    /// Records removed.
    pub records: u64,
    /// Whether the pass is complete.
    pub is_all: bool,
}

impl Store {
    /// With a database, takes one step of removing records from before a time; both times are Unix
    /// milliseconds. A new pass begins when `before_ms` is at least `every` past the last one. Returns the
    /// totals of the pass; `None` when no pass is due. Blocks. A retry after an error resumes.
    pub async fn expire_before(
        &self,
        before_ms: u64,
        every: Duration,
        now_ms: i64,
    ) -> Result<Option<Expired>, RetentionError> {
        let parts = parts();
        let last: Option<ExpiryProgress> = self.read(Tree::Meta, PROGRESS)?;
        let every_ms = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
        let mut progress = match last {
            Some(last) if usize::from(last.part) < parts.len() => last,
            Some(last) if before_ms < last.before_ms.saturating_add(every_ms) => return Ok(None),
            last => ExpiryProgress {
                before_ms,
                gone_ms: last.map_or(0, |last| last.before_ms),
                begun_ms: now_ms,
                ..ExpiryProgress::default()
            },
        };
        let ExpiryFindings { old, leads, destroys, after } =
            parts[usize::from(progress.part)](self, &progress)?;
        if let Some(destroys) = destroys {
            self.commit(destroys).await?;
        }
        for some in old.chunks(AT_ONCE) {
            let commit = some.iter().fold(Commit::new(), |commit, (tree, key)| commit.remove(*tree, key));
            self.commit(commit).await?;
        }
        progress.leads += leads;
        progress.records += old.len() as u64;
        progress.part += u16::from(after.is_none());
        progress.after = after.unwrap_or_default();
        self.commit(Commit::new().put(Tree::Meta, PROGRESS, codec::encode(&progress))).await?;
        let is_all = usize::from(progress.part) == parts.len();
        Ok(Some(Expired { leads: progress.leads, records: progress.records, is_all }))
    }

    /// Expired data keys of a slot, or the records of leads whose keys this pass has destroyed.
    fn old_leads(&self, progress: &ExpiryProgress) -> ReadResult<ExpiryFindings> {
        let slot = progress.after.first_chunk().map_or(0, |slot| u16::from_be_bytes(*slot));
        let next_slot = (slot + 1 < SLOTS).then(|| (slot + 1).to_be_bytes().to_vec());
        let found = match progress.after.get(2..) {
            None | Some([]) => self.old_keys(slot, progress)?,
            Some(_) => self.records_of_old(slot, progress)?,
        };
        Ok(ExpiryFindings { after: found.after.or(next_slot), ..found })
    }

    fn old_keys(&self, slot: u16, progress: &ExpiryProgress) -> ReadResult<ExpiryFindings> {
        // Leads from the last second before the limit stay until the next pass.
        let before = VolumeNumber::try_from(progress.before_ms / 1000).unwrap_or(VolumeNumber::MAX);
        let forgotten_ms = i64::try_from(progress.gone_ms).unwrap_or(i64::MAX);
        let (slot_bytes, mut is_changed, mut has_old) = (slot.to_be_bytes(), false, false);
        for found in self.shared.engine.data_keys(&slot_bytes, &slot_bytes) {
            let Some((lead, kept)) = found? else { continue };
            match data_key::destroyed_at(&kept) {
                Some(at_ms) => {
                    is_changed |= at_ms < forgotten_ms;
                    // Left by an interrupted step of this pass.
                    has_old |= at_ms == progress.begun_ms;
                }
                None => match data_key::came_s(lead, &kept) {
                    Some(came_s) => has_old |= came_s < before,
                    // Counts from now on as a lead that came when the pass began.
                    None => is_changed = true,
                },
            }
        }
        let expiry = KeyExpiry { before, forgotten_ms, at_ms: progress.begun_ms };
        let destroys = (is_changed || has_old).then(|| Commit::rewrap(slot, KeyDestruction::Before(expiry)));
        let with_records = [&slot_bytes[..], Uuid::nil().as_bytes()].concat();
        Ok(ExpiryFindings { destroys, after: has_old.then_some(with_records), ..ExpiryFindings::default() })
    }

    fn records_of_old(&self, slot: u16, progress: &ExpiryProgress) -> ReadResult<ExpiryFindings> {
        let start = [&progress.after[..], &[0]].concat();
        let mut found = ExpiryFindings::default();
        let is_old = |kept: &[u8]| data_key::destroyed_at(kept) == Some(progress.begun_ms);
        for kept in self.shared.engine.data_keys(&start, &slot.to_be_bytes()) {
            let Some((lead, _)) = kept?.filter(|(_, kept)| is_old(kept)) else { continue };
            found.leads += 1;
            for row in TREES.iter().filter(|row| row.kept == VolumeSelector::WithLead) {
                found.old.extend(self.keys(row.tree, lead)?.into_iter().map(|key| (row.tree, key)));
            }
            if found.leads == LEADS_AT_ONCE {
                found.after = Some([&slot.to_be_bytes()[..], lead.as_bytes()].concat());
                break;
            }
        }
        Ok(found)
    }

    /// The first records whose keys begin with an expired UUIDv7.
    fn old_by_time(&self, tree: Tree, progress: &ExpiryProgress) -> ReadResult<ExpiryFindings> {
        let old = self.first_old(tree, &[], |key| progress.is_old(tree, key))?;
        let after = (old.len() == AT_ONCE).then(Vec::new);
        Ok(ExpiryFindings::of(tree, old, after))
    }

    fn old_of_feed(&self, tree: Tree, progress: &ExpiryProgress) -> ReadResult<ExpiryFindings> {
        let first = self.shared.engine.walk(tree, &progress.after, &[]).next().transpose()?;
        let first = first.and_then(|(key, _)| FeedKey::parse(&key[1..]));
        let Some(FeedKey { company, .. }) = first else { return Ok(ExpiryFindings::default()) };
        let old = self.first_old(tree, company.as_bytes(), |key| progress.is_old(tree, key))?;
        // Repeats the company if it may have more, else continues behind all its keys.
        let behind: &[u8] = if old.len() == AT_ONCE { &[] } else { &[u8::MAX; FeedKey::LEN] };
        Ok(ExpiryFindings::of(tree, old, Some([company.as_bytes(), behind].concat())))
    }
}

impl ExpiryProgress {
    fn is_old(&self, tree: Tree, key: &[u8]) -> bool {
        tree.time_ms(key).is_some_and(|ms| ms < self.before_ms)
    }
}

impl ExpiryFindings {
    fn of(tree: Tree, old: Vec<Vec<u8>>, after: Option<Vec<u8>>) -> Self {
        Self { old: old.into_iter().map(|key| (tree, key)).collect(), after, ..Self::default() }
    }
}

fn parts() -> Vec<ExpiryPart> {
    let mut parts: Vec<ExpiryPart> = vec![Box::new(Store::old_leads)];
    for row in TREES.iter().filter(|row| row.kept == VolumeSelector::ByTime) {
        parts.push(Box::new(|store, progress| store.old_by_time(row.tree, progress)));
    }
    for tree in Tree::FEEDS {
        parts.push(Box::new(move |store, progress| store.old_of_feed(tree, progress)));
    }
    for of_base in OF_BASE {
        parts.push(Box::new(move |store, progress| {
            let (keys, searched_to) = store.aged(of_base, progress.before_ms, &progress.after)?;
            Ok(ExpiryFindings::of(of_base.0, keys, searched_to))
        }));
    }
    parts
}
