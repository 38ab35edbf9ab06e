//! Retention: drops data past its retention volume by volume, which frees its disk space.
//!
//! A [volume](super::volumes) is dropped when the next one was begun so long ago that everything in it is
//! past its retention. The steps, each with its own commits, so that a retry resumes after a crash:
//!
//! 1. Destroy the data keys of its leads, as an [erasure](super::Commit::erase_all) would. The tombstones of
//!    the keys are dropped with the next volume, which holds the last records of these leads.
//! 2. Remove their records in the base, and those that are older by the time in their key.
//! 3. Drop the volume: its line in the manifest first, then its files.

use uuid::Uuid;

use super::Store;
use super::broken::{ReadError, ReadResult};
use super::clock::uuid_ms;
use super::commit::{Commit, CommitError, KeyDestruction};
use super::scan::owner_of;
use super::sealing::slots::SLOTS;
use super::sealing::{SealingError, data_key};
use super::trees::{Seal, Tree};
use super::volume_number::{BASE, Number};

/// Records that one commit removes.
pub(super) const AT_ONCE: usize = 500;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Clone, Copy)]
pub(super) enum AgeSource {
    /// In the first eight bytes of the key, in µs.
    Key,
    /// In the UUIDv7 that is the key.
    Id,
    /// In the UUIDv7 behind that of the company.
    IdOfCompany,
    /// In the first four bytes of the key, in days.
    Day,
}

const AGING: [(Tree, AgeSource); 5] = [
    (Tree::PaidClicks, AgeSource::Id),
    (Tree::Postings, AgeSource::Id),
    (Tree::Sessions, AgeSource::Key),
    (Tree::LoanReports, AgeSource::IdOfCompany),
    (Tree::PreviewClicks, AgeSource::Day),
];

const ORPHANS: [Tree; 5] =
    [Tree::PartnerEvents, Tree::OfferDisplays, Tree::Identities, Tree::Repeats, Tree::Transcripts];

/// The growing trees of the base; those without a source of age are [sealed by lead](ORPHANS).
pub(super) fn of_base() -> impl Iterator<Item = (Tree, Option<AgeSource>)> {
    let aging = AGING.into_iter().map(|(tree, told)| (tree, Some(told)));
    aging.chain(ORPHANS.into_iter().map(|tree| (tree, None)))
}

pub(super) struct Aged {
    pub(super) keys: Vec<Vec<u8>>,
    /// Where the search stopped; `None` at the end of the tree.
    pub(super) searched_to: Option<Vec<u8>>,
}

/// Summary of a dropped volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// Its number.
    pub volume: u32,
    /// The number of its leads.
    pub leads: u64,
    /// The number of records removed from the base.
    pub records: u64,
    /// Total size of its files in bytes.
    pub bytes: u64,
}

/// Why a volume could not be dropped. Completed steps stay done.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum RetentionError {
    /// The store cannot be read.
    Read(#[from] ReadError),
    /// A commit failed.
    Commit(#[from] CommitError),
    /// The files cannot be removed.
    Io(std::io::Error),
    /// The keys cannot be written.
    Sealing(#[from] SealingError),
}

impl Store {
    /// Drops the oldest volume if everything in it came before a time; both times are Unix milliseconds.
    /// `None` when no volume is due. Takes seconds for a large volume. A retry after an error resumes.
    pub async fn drop_before(&self, before_ms: u64, now_ms: i64) -> Result<Option<Dropped>, RetentionError> {
        let spans = self.volumes();
        let [oldest, next, ..] = &spans[..] else { return Ok(None) };
        if next.begun_at_ms > before_ms {
            return Ok(None);
        }
        let Some(files) = self.shared.files() else { return Ok(None) };
        let number = oldest.number;
        let leads = self.destroy_keys(number, now_ms).await?;
        let records = self.remove_aged(next.begun_at_ms).await?;
        files.records.volumes().drop_whole(number).map_err(RetentionError::Io)?;
        Ok(Some(Dropped { volume: number, leads, records, bytes: oldest.bytes }))
    }

    async fn destroy_keys(&self, number: Number, now_ms: i64) -> Result<u64, RetentionError> {
        let mut leads = 0;
        for slot in 0..SLOTS {
            let prefix = slot.to_be_bytes();
            let (mut of_volume, mut forgotten) = (0, 0);
            for found in self.shared.engine.data_keys(&prefix, &prefix) {
                let Some((_, kept)) = found.map_err(ReadError::from)? else { continue };
                match (data_key::volume_of(&kept), data_key::is_destroyed(&kept)) {
                    (volume, false) if volume == number => of_volume += 1,
                    (volume, true) if (BASE + 1..number).contains(&volume) => forgotten += 1,
                    _ => {}
                }
            }
            if of_volume + forgotten > 0 {
                self.commit(Commit::rewrap(slot, KeyDestruction::Volume(number, now_ms))).await?;
            }
            leads += of_volume;
        }
        Ok(leads)
    }

    async fn remove_aged(&self, before_ms: u64) -> Result<u64, RetentionError> {
        let mut removed = 0;
        for (tree, told) in of_base() {
            let mut after = None;
            loop {
                let aged = self.aged(tree, told, before_ms, after.as_deref(), usize::MAX)?;
                removed += aged.keys.len() as u64;
                self.remove_all(tree, &aged.keys).await?;
                after = aged.searched_to;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(removed)
    }

    /// Removes the records of a tree in the base whose keys begin with a UUIDv7 from before a time, Unix
    /// milliseconds; counts them. A retry after an error resumes.
    pub async fn remove_before(&self, tree: Tree, before_ms: u64) -> Result<u64, RetentionError> {
        let is_old =
            |key: &[u8]| key.first_chunk::<16>().and_then(|id| AgeSource::Id.ms(id)) < Some(before_ms);
        let mut removed = 0;
        loop {
            let keys = self.first_old(tree, &[], is_old)?;
            if keys.is_empty() {
                return Ok(removed);
            }
            removed += keys.len() as u64;
            self.remove_all(tree, &keys).await?;
        }
    }

    /// The leading old keys of a tree with a prefix whose keys sort by time; a batch at a time.
    pub(super) fn first_old(
        &self,
        tree: Tree,
        prefix: &[u8],
        is_old: impl Fn(&[u8]) -> bool,
    ) -> ReadResult<Vec<Vec<u8>>> {
        let keys = self.shared.engine.keys(tree, prefix).take(AT_ONCE);
        keys.take_while(|key| key.as_ref().map_or(true, |key| is_old(key))).collect()
    }

    pub(super) fn aged(
        &self,
        tree: Tree,
        told: Option<AgeSource>,
        before_ms: u64,
        after: Option<&[u8]>,
        looks: usize,
    ) -> Result<Aged, RetentionError> {
        let first = after.map_or_else(Vec::new, |after| [after, &[0]].concat());
        let mut keys = Vec::new();
        for (entry, looked) in self.shared.engine.walk(tree, &first, &[]).zip(1..) {
            let (sled_key, raw) = entry.map_err(ReadError::from)?;
            let key = &sled_key[1..];
            let is_aged = match told {
                Some(told) => told.ms(key).is_some_and(|ms| ms < before_ms),
                None => self.is_orphan(tree, &raw)?,
            };
            if is_aged {
                keys.push(key.to_vec());
            }
            if keys.len() == AT_ONCE || looked == looks {
                return Ok(Aged { keys, searched_to: Some(key.to_vec()) });
            }
        }
        Ok(Aged { keys, searched_to: None })
    }

    /// Whether the lead of a sealed record has lost its data key.
    fn is_orphan(&self, tree: Tree, raw: &[u8]) -> ReadResult<bool> {
        debug_assert_eq!(tree.row().seal, Seal::Lead, "others have no owner");
        owner_of(raw).map_or(Ok(false), |lead| Ok(!self.has_key(lead)?))
    }
}

impl AgeSource {
    pub(super) fn ms(self, key: &[u8]) -> Option<u64> {
        match self {
            Self::Key => key.first_chunk().map(|us| u64::from_be_bytes(*us) / 1000),
            Self::Id => uuid_ms(Uuid::from_slice(key).ok()?),
            Self::Day => key.first_chunk().map(|day| u64::from(u32::from_be_bytes(*day)) * DAY_MS),
            Self::IdOfCompany => Self::Id.ms(key.get(16..)?),
        }
    }
}
