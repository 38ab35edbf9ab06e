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

use super::arrival::FeedKey;
use super::broken::{ReadError, ReadResult};
use super::commit::{Commit, KeyDestruction, KeyExpiry};
use super::retention::{AT_ONCE, AgeSource, RetentionError, of_base};
use super::sealing::data_key;
use super::sealing::slots::SLOTS;
use super::trees::{TREES, Tree, VolumeSelector};
use super::volume_number::Number;
use super::volumes::time_ms;
use super::{Store, codec};

const PROGRESS: &[u8] = b"retention";

const LEADS_AT_ONCE: u64 = 100;

const LOOKED_AT: usize = 2000;

#[derive(Debug, Clone, Copy)]
enum ExpiryPart {
    Leads,
    /// Removes the records whose keys begin with an expired UUIDv7.
    ByTime(Tree),
    Feed(Tree),
    /// Removes records that are expired by their key, or that no data key opens any more.
    Else(Tree, Option<AgeSource>),
}

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
            self.found(parts[usize::from(progress.part)], &progress)?;
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

    fn found(&self, part: ExpiryPart, progress: &ExpiryProgress) -> Result<ExpiryFindings, RetentionError> {
        match part {
            ExpiryPart::Leads => self.old_leads(progress),
            ExpiryPart::ByTime(tree) => self.old_by_time(tree, progress),
            ExpiryPart::Feed(tree) => self.old_of_feed(tree, progress),
            ExpiryPart::Else(tree, told) => {
                let after = (!progress.after.is_empty()).then_some(&progress.after[..]);
                let found = self.aged(tree, told, progress.before_ms, after, LOOKED_AT)?;
                Ok(ExpiryFindings::of(tree, found.keys, found.searched_to))
            }
        }
    }

    /// Expired data keys of a slot, or the records of leads whose keys this pass has destroyed.
    fn old_leads(&self, progress: &ExpiryProgress) -> Result<ExpiryFindings, RetentionError> {
        let slot = progress.after.first_chunk().map_or(0, |slot| u16::from_be_bytes(*slot));
        let next_slot = (slot + 1 < SLOTS).then(|| (slot + 1).to_be_bytes().to_vec());
        let found = match progress.after.get(2..) {
            None | Some([]) => self.old_keys(slot, progress)?,
            Some(_) => self.records_of_old(slot, progress)?,
        };
        Ok(ExpiryFindings { after: found.after.or(next_slot), ..found })
    }

    fn old_keys(&self, slot: u16, progress: &ExpiryProgress) -> Result<ExpiryFindings, RetentionError> {
        // Leads from the last second before the limit stay until the next pass.
        let before = Number::try_from(progress.before_ms / 1000).unwrap_or(Number::MAX);
        let forgotten_ms = i64::try_from(progress.gone_ms).unwrap_or(i64::MAX);
        let (slot_bytes, mut is_changed, mut has_old) = (slot.to_be_bytes(), false, false);
        for found in self.shared.engine.data_keys(&slot_bytes, &slot_bytes) {
            let Some((lead, kept)) = found.map_err(ReadError::from)? else { continue };
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

    fn records_of_old(&self, slot: u16, progress: &ExpiryProgress) -> Result<ExpiryFindings, RetentionError> {
        let start = [&progress.after[..], &[0]].concat();
        let mut found = ExpiryFindings::default();
        let is_old = |kept: &[u8]| data_key::destroyed_at(kept) == Some(progress.begun_ms);
        for kept in self.shared.engine.data_keys(&start, &slot.to_be_bytes()) {
            let kept = kept.map_err(ReadError::from)?;
            let Some((lead, _)) = kept.filter(|(_, kept)| is_old(kept)) else { continue };
            found.leads += 1;
            found.old.extend(self.own_of(lead)?);
            if found.leads == LEADS_AT_ONCE {
                found.after = Some([&slot.to_be_bytes()[..], lead.as_bytes()].concat());
                break;
            }
        }
        Ok(found)
    }

    fn own_of(&self, lead: Uuid) -> ReadResult<Vec<(Tree, Vec<u8>)>> {
        let with_lead = TREES.iter().filter(|row| row.kept == VolumeSelector::WithLead).map(|row| row.tree);
        let keys = |tree| self.shared.engine.keys(tree, lead.as_bytes()).map(move |key| Ok((tree, key?)));
        with_lead.flat_map(keys).collect()
    }

    fn old_by_time(&self, tree: Tree, progress: &ExpiryProgress) -> Result<ExpiryFindings, RetentionError> {
        let old = self.first_old(tree, &[], |key| progress.is_old(tree, key))?;
        let after = (old.len() == AT_ONCE).then(Vec::new);
        Ok(ExpiryFindings::of(tree, old, after))
    }

    fn old_of_feed(&self, tree: Tree, progress: &ExpiryProgress) -> Result<ExpiryFindings, RetentionError> {
        let first = self.shared.engine.walk(tree, &progress.after, &[]).next();
        let first =
            first.transpose().map_err(ReadError::from)?.and_then(|(key, _)| FeedKey::parse(&key[1..]));
        let Some(FeedKey { company, .. }) = first else { return Ok(ExpiryFindings::default()) };
        let old = self.first_old(tree, company.as_bytes(), |key| progress.is_old(tree, key))?;
        // Repeats the company if it may have more, else continues behind all its keys.
        let behind: &[u8] = if old.len() == AT_ONCE { &[] } else { &[u8::MAX; FeedKey::LEN] };
        Ok(ExpiryFindings::of(tree, old, Some([company.as_bytes(), behind].concat())))
    }
}

impl ExpiryProgress {
    fn is_old(&self, tree: Tree, key: &[u8]) -> bool {
        time_ms(tree, key).is_some_and(|ms| ms < self.before_ms)
    }
}

impl ExpiryFindings {
    fn of(tree: Tree, old: Vec<Vec<u8>>, after: Option<Vec<u8>>) -> Self {
        Self { old: old.into_iter().map(|key| (tree, key)).collect(), after, ..Self::default() }
    }
}

fn parts() -> Vec<ExpiryPart> {
    let by_time =
        TREES.iter().filter(|row| row.kept == VolumeSelector::ByTime).map(|row| ExpiryPart::ByTime(row.tree));
    let of_base = of_base().map(|(tree, told)| ExpiryPart::Else(tree, told));
    let feeds = Tree::FEEDS.into_iter().map(ExpiryPart::Feed);
    [ExpiryPart::Leads].into_iter().chain(by_time).chain(feeds).chain(of_base).collect()
}
