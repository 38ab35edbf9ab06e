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

use super::clock::uuid_ms;
use super::commit::KeyDestruction;
use super::engine::owner_of;
use super::sealing::data_key;
use super::sealing::slots::SLOTS;
use crate::{BASE, Commit, CommitError, ReadError, ReadResult, SealingError, Store, Tree, VolumeNumber};

/// Records that one commit removes.
pub(super) const AT_ONCE: usize = 500;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The time of a record in its key, Unix milliseconds.
type KeyTime = fn(&[u8]) -> Option<u64>;

/// The growing trees of the base. Those without a time in the key are sealed by lead, and removed once no data
/// key opens them any more.
pub(super) const OF_BASE: [(Tree, Option<KeyTime>); 11] = [
    (Tree::PaidClicks, Some(id_ms)),
    (Tree::Postings, Some(id_ms)),
    (Tree::Sessions, Some(|key| key.first_chunk().map(|us| u64::from_be_bytes(*us) / 1000))),
    (Tree::LoanReports, Some(|key| id_ms(key.get(16..)?))),
    (
        Tree::PreviewClicks,
        Some(|key| key.first_chunk().map(|day| u64::from(u32::from_be_bytes(*day)) * DAY_MS)),
    ),
    (Tree::ErasedReports, Some(|key| Some(u64::from_be_bytes(*key.last_chunk()?)))),
    (Tree::PartnerEvents, None),
    (Tree::OfferDisplays, None),
    (Tree::Identities, None),
    (Tree::Repeats, None),
    (Tree::Transcripts, None),
];

/// The time in a UUIDv7 that is the whole key.
fn id_ms(key: &[u8]) -> Option<u64> {
    uuid_ms(Uuid::from_slice(key).ok()?)
}

/// Most records that one step looks at.
const LOOKED_AT: usize = 2000;

/// Aged keys, and where the search stopped; `None` at the end of the tree.
type Aged = (Vec<Vec<u8>>, Option<Vec<u8>>);

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
        let Some(volumes) = self.volumes_of_files() else { return Ok(None) };
        let number = oldest.number;
        let leads = self.destroy_keys(number, now_ms).await?;
        let records = self.remove_aged(next.begun_at_ms).await?;
        volumes.drop_whole(number).map_err(RetentionError::Io)?;
        Ok(Some(Dropped { volume: number, leads, records, bytes: oldest.bytes }))
    }

    async fn destroy_keys(&self, number: VolumeNumber, now_ms: i64) -> Result<u64, RetentionError> {
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
        for of_base in OF_BASE {
            let mut after = Some(Vec::new());
            while let Some(from) = after {
                let (keys, searched_to) = self.aged(of_base, before_ms, &from)?;
                removed += keys.len() as u64;
                self.remove_all(of_base.0, &keys).await?;
                after = searched_to;
            }
        }
        Ok(removed)
    }

    /// Removes the records of a tree in the base whose keys begin with a UUIDv7 from before a time, Unix
    /// milliseconds; counts them. A retry after an error resumes.
    pub async fn remove_before(&self, tree: Tree, before_ms: u64) -> Result<u64, RetentionError> {
        let is_old = |key: &[u8]| key.first_chunk::<16>().and_then(|id| id_ms(id)) < Some(before_ms);
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

    /// The aged records of one of the [trees of the base](OF_BASE) behind a key; a batch at a time.
    pub(super) fn aged(&self, of: (Tree, Option<KeyTime>), before_ms: u64, after: &[u8]) -> ReadResult<Aged> {
        let (tree, time) = of;
        let first = if after.is_empty() { Vec::new() } else { [after, &[0]].concat() };
        let mut keys = Vec::new();
        for (entry, looked) in self.shared.engine.walk(tree, &first, &[]).zip(1..) {
            let (tree_key, raw) = entry?;
            let key = &tree_key[1..];
            let is_aged = match (time, owner_of(&raw)) {
                (Some(time), _) => time(key).is_some_and(|ms| ms < before_ms),
                (None, Some(lead)) => !self.has_key(lead)?,
                (None, None) => false,
            };
            if is_aged {
                keys.push(key.to_vec());
            }
            if keys.len() == AT_ONCE || looked == LOOKED_AT {
                return Ok((keys, Some(key.to_vec())));
            }
        }
        Ok((keys, None))
    }
}
