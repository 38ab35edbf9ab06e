//! Prefills: a lead's data, stored in one place and read back in another under an unguessable token.
//!
//! A prefill lives for minutes and can be read a few times. Each read is durably counted before it is
//! answered. A prefill is sealed with a key that is [destroyed](Store::forget_ephemeral) soon after its end.
//! On a shared store the records take the place of memory, and the leader destroys the keys.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use metrics::{counter, gauge};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval};
use tracing::error;
use uuid::Uuid;

use offerd_base::ids;
use offerd_base::shares::{CompanyShare, CompanyShares};
use offerd_base::telemetry::metrics::{PREFILLS, PREFILLS_ENDED};
use offerd_engine::matching::idempotency::{Answered, IdempotencyKey};
use offerd_model::{Lead, Viewer};
use offerd_store::{Commit, CommitError, Store, Tree, codec};

const SWEPT_AFTER: Duration = Duration::from_secs(10);

/// The key under which each process marks that prefills of its own have ended.
const ENDED: &[u8] = b"prefills_ended";

/// The TTL and limits of prefills; `limits.prefill*` in the settings.
#[derive(Debug, Clone, Copy)]
pub struct PrefillRules {
    /// The TTL of a prefill.
    pub lifetime: Duration,
    /// How often a prefill can be read.
    pub reads: u32,
    /// The most prefills a company may have at once; 0 for no limit.
    pub per_company: usize,
    /// Longest wait for the store.
    pub longest_write: Duration,
}

/// The prefills of a store.
pub struct Prefills {
    store: Store,
    /// The rules.
    pub rules: PrefillRules,
    shares: CompanyShares,
    kept: Mutex<HashMap<Uuid, HeldPrefill>>,
    /// Whether a prefill has ended whose key may still exist.
    has_ended: AtomicBool,
    ended: Mutex<Vec<(Vec<u8>, Vec<u8>)>>,
}

struct HeldPrefill {
    company: Uuid,
    until: Instant,
    _place: CompanyShare,
}

/// Reserved room for one more prefill of a company.
#[derive(Debug)]
pub struct PrefillReservation(Uuid, CompanyShare);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrefillRecord {
    test: bool,
    /// The expiry, in Unix milliseconds.
    until_ms: i64,
    reads_left: u32,
    lead: Lead,
}

/// The prefill exists, but the store cannot be read or written at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefillUnavailable;

impl std::fmt::Debug for Prefills {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prefills").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Prefills {
    /// Opens the prefills of a store, including those from before a restart.
    pub fn of(store: Store, rules: PrefillRules) -> Self {
        // A crash or a restored backup may have left ended prefills.
        let has_ended = AtomicBool::new(true);
        let (shares, kept, ended) = Default::default();
        let prefills = Self { store, rules, shares, kept, has_ended, ended };
        if prefills.store.is_shared() {
            // On a shared store the records are authoritative.
            return prefills;
        }
        let (now_ms, lifetime_ms) = (prefills.store.now_ms(), millis(rules.lifetime));
        for (key, record) in stored(&prefills.store, []) {
            // Whatever the clock shows, no prefill gets more than a full TTL from now.
            let left_ms = record.map_or(0, |record| (record.until_ms - now_ms).clamp(0, lifetime_ms));
            let (Some(company), Some(token)) = (id_at(&key, 0), id_at(&key, 16)) else { continue };
            if let Some(share) = prefills.shares.take(company, 1, 0).filter(|_| left_ms > 0) {
                let until = Instant::now() + Duration::from_millis(left_ms.unsigned_abs());
                prefills.kept.lock().insert(token, HeldPrefill { company, until, _place: share });
            }
        }
        prefills.count();
        prefills
    }

    /// Reserves room for one more prefill of a company. Processes on a database may exceed the limit.
    ///
    /// # Errors
    /// The time until room may be free again, when the company is at its limit.
    pub fn place(&self, company: Uuid) -> Result<PrefillReservation, Duration> {
        let most = self.rules.per_company;
        let share = match self.store.is_shared() {
            true => {
                // If the count fails, the write will fail too and report why.
                let count = self.store.count(Tree::Prefills, company);
                let is_full = most > 0 && count.is_ok_and(|count| count >= most as u64);
                self.shares.take(company, 1, 0).filter(|_| !is_full)
            }
            false => self.shares.take(company, 1, most),
        };
        share.map(|share| PrefillReservation(company, share)).ok_or_else(|| self.next_place(company))
    }

    /// The time until the company's first prefill has expired and is swept, unless one is used up earlier.
    fn next_place(&self, company: Uuid) -> Duration {
        let kept = self.kept.lock();
        let first = kept.values().filter(|one| one.company == company).map(|one| one.until).min();
        first.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
            + self.swept_after()
    }

    fn swept_after(&self) -> Duration {
        self.rules.lifetime.min(SWEPT_AFTER)
    }

    /// Stores a lead's data. Once this returns the token, the data survive a crash. With an idempotency key, a
    /// repeat gets the same token for as long as its prefill is there; `None` where it has other data.
    ///
    /// # Errors
    /// [`CommitError`]; nothing is stored.
    pub async fn keep(
        &self,
        PrefillReservation(company, share): PrefillReservation,
        test: bool,
        lead: Lead,
        named: Option<&IdempotencyKey>,
    ) -> Result<Option<Answered<Uuid>>, CommitError> {
        let token = named.map_or_else(ids::random, |named| named.name(&self.store, None));
        let key = key(company, token);
        let _lock = match named {
            Some(_) => Some(self.store.lock_record(self.rules.longest_write, Tree::Prefills, &key).await?),
            None => None,
        };
        let found = if named.is_some() { self.store.get(Tree::Prefills, &key).ok().flatten() } else { None };
        if let Some(found) = &found
            && let Ok(earlier) = self.store.decode_json::<PrefillRecord>(Tree::Prefills, &key, found)
            && self.may_be_kept(token)
            && !self.is_over(&earlier)
        {
            return Ok((earlier.lead == lead).then(|| Answered::again(token)));
        }
        let until_ms = self.store.now_ms().saturating_add(millis(self.rules.lifetime));
        let record = PrefillRecord { test, until_ms, reads_left: self.rules.reads, lead };
        let commit = Commit::new().as_found(Tree::Prefills, &key, found);
        let commit = commit.put(Tree::Prefills, &key, codec::encode_json(&record));
        // Before the write, or the sweep would take the prefill for an expired one.
        let until = Instant::now() + self.rules.lifetime;
        self.kept.lock().insert(token, HeldPrefill { company, until, _place: share });
        let written = self.store.commit_within(self.rules.longest_write, commit).await;
        if written.is_err() {
            // The write may still happen; the prefill then expires as its record says.
            self.kept.lock().remove(&token);
            self.has_ended.store(true, Ordering::Relaxed);
        }
        self.count();
        written.map(|()| Some(Answered::anew(token)))
    }

    /// Reads a prefill that the viewer may read, and counts the read. `None` if it is unknown or has ended.
    ///
    /// # Errors
    /// [`PrefillUnavailable`] when the store cannot be read or written; the read may be counted then.
    pub async fn read(&self, viewer: Viewer, token: Uuid) -> Result<Option<Lead>, PrefillUnavailable> {
        let key = key(viewer.company, token);
        // Unknown tokens take no record lock.
        let is_known = || self.store.get(Tree::Prefills, &key).map(|stored| stored.is_some());
        if !self.may_be_kept(token)
            || self.store.is_shared() && !is_known().map_err(|_| PrefillUnavailable)?
        {
            return Ok(None);
        }
        let lock = self.store.lock_record(self.rules.longest_write, Tree::Prefills, &key).await;
        let mut lock = lock.map_err(|_| PrefillUnavailable)?;
        while lock.should_try().await {
            if !self.may_be_kept(token) {
                return Ok(None);
            }
            let stored = self.store.get(Tree::Prefills, &key).map_err(|_| PrefillUnavailable)?;
            let Some(stored) = stored else { return Ok(None) };
            let record = self.store.decode_json(Tree::Prefills, &key, &stored);
            let mut record: PrefillRecord = record.map_err(|_| PrefillUnavailable)?;
            if !viewer.sees_kind(record.test) || self.store.is_shared() && self.is_over(&record) {
                return Ok(None);
            }
            record.reads_left = record.reads_left.saturating_sub(1);
            let is_last = record.reads_left == 0;
            let commit = Commit::new().unchanged(Tree::Prefills, &key, stored);
            let commit = if is_last {
                // The caller may hang up before the end.
                self.has_ended.store(true, Ordering::Relaxed);
                self.ending(commit).remove(Tree::Prefills, &key)
            } else {
                commit.put(Tree::Prefills, &key, codec::encode_json(&record))
            };
            match self.store.commit_within(self.rules.longest_write, commit).await {
                Ok(()) => {
                    if is_last {
                        self.end_used_up(token);
                    }
                    return Ok(Some(record.lead));
                }
                // A concurrent read was counted first.
                Err(CommitError::Guard { .. }) => {}
                Err(_) => return Err(PrefillUnavailable),
            }
        }
        Err(PrefillUnavailable)
    }

    /// Removes expired prefills and destroys the keys of ended ones, forever; on a database as the leader.
    pub async fn sweep(&self) {
        let mut ticks = interval(self.swept_after());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.sweep_once().await;
        }
    }

    async fn sweep_once(&self) {
        let over = self.end_those_over();
        self.count();
        if self.is_to_be_swept(over) {
            self.destroy_keys().await;
        }
        // Only now are they fully gone.
        counter!(PREFILLS_ENDED, "by" => "time").increment(over);
        self.count();
    }

    async fn destroy_keys(&self) {
        let is_wanted = |key: &[u8], payload: &[u8]| match self.store.is_shared() {
            true => self.store.decode_json(Tree::Prefills, key, payload).is_ok_and(|one| !self.is_over(&one)),
            false => id_at(key, 16).is_some_and(|token| self.may_be_kept(token)),
        };
        if let Err(failure) = self.store.forget_ephemeral(Tree::Prefills, is_wanted).await {
            self.has_ended.store(true, Ordering::Relaxed);
            error!(%failure, "could not destroy the keys of expired prefills; will retry");
        }
    }

    fn is_to_be_swept(&self, over: u64) -> bool {
        if !self.store.is_shared() {
            return self.has_ended.swap(false, Ordering::Relaxed) || over > 0;
        }
        if !self.store.is_leader() {
            return false;
        }
        let ended: Vec<_> = self.store.scan(Tree::Meta, ENDED).filter_map(Result::ok).collect();
        let mut ended_before = self.ended.lock();
        let has_ended = *ended_before != ended;
        *ended_before = ended;
        let is_over = |record: Option<PrefillRecord>| record.is_none_or(|record| self.is_over(&record));
        self.has_ended.swap(false, Ordering::Relaxed)
            || has_ended
            || stored(&self.store, []).any(|(_, record)| is_over(record))
    }

    /// Adds the mark that informs the leader of an ended prefill.
    fn ending(&self, commit: Commit) -> Commit {
        match self.store.is_shared() {
            true => commit.put(Tree::Meta, self.store.own_key(ENDED), ids::random().as_bytes()),
            false => commit,
        }
    }

    /// Whether the prefill has expired, by the clocks of its writer and this reader.
    fn is_over(&self, record: &PrefillRecord) -> bool {
        record.until_ms <= self.store.now_ms()
    }

    fn end_those_over(&self) -> u64 {
        let mut kept = self.kept.lock();
        let (now, before) = (Instant::now(), kept.len());
        kept.retain(|_, one| one.until > now);
        (before - kept.len()) as u64
    }

    fn end_used_up(&self, token: Uuid) {
        if self.kept.lock().remove(&token).is_some() {
            counter!(PREFILLS_ENDED, "by" => "reads").increment(1);
            self.count();
        }
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Whether a readable record may exist: another process may have stored it.
    fn may_be_kept(&self, token: Uuid) -> bool {
        let kept = self.kept.lock();
        kept.get(&token).map_or(self.store.is_shared(), |one| one.until > Instant::now())
    }

    fn count(&self) {
        gauge!(PREFILLS).set(self.kept.lock().len() as f64);
    }
}

/// A company's prefills under the uuids of its leads, with their keys.
pub fn prefills_of(
    store: &Store,
    company: Uuid,
    is_wanted: impl Fn(Uuid) -> bool,
) -> impl Iterator<Item = (Vec<u8>, Lead)> {
    let prefills = stored(store, company).filter_map(|(key, record)| Some((key, record?.lead)));
    prefills.filter(move |(_, prefill)| prefill.uuid.is_some_and(&is_wanted))
}

fn stored(store: &Store, prefix: impl AsRef<[u8]>) -> impl Iterator<Item = (Vec<u8>, Option<PrefillRecord>)> {
    let read = move |(key, payload): (Vec<u8>, Vec<u8>)| {
        let record = store.decode_json(Tree::Prefills, &key, &payload).ok();
        (key, record)
    };
    store.scan(Tree::Prefills, prefix).filter_map(Result::ok).map(read)
}

fn key(company: Uuid, token: Uuid) -> Vec<u8> {
    [&company.as_bytes()[..], token.as_bytes()].concat()
}

fn id_at(key: &[u8], at: usize) -> Option<Uuid> {
    Uuid::from_slice(key.get(at..at + 16)?).ok()
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use offerd_store::Clock;
    use offerd_store::testing::TestNodes;

    const COMPANY: Uuid = Uuid::from_u128(7);

    fn rules() -> PrefillRules {
        let (lifetime, longest_write) = (Duration::from_secs(60), Duration::from_secs(20));
        PrefillRules { lifetime, reads: 1, per_company: 3, longest_write }
    }

    async fn kept(prefills: &Prefills) -> Uuid {
        let lead = Lead::read(br#"{"productTypes": ["loan"]}"#).unwrap();
        prefills.keep(prefills.place(COMPANY).unwrap(), false, lead, None).await.unwrap().unwrap().answer
    }

    async fn is_read(prefills: &Prefills, token: Uuid) -> bool {
        prefills.read(Viewer::of_all(COMPANY), token).await.unwrap().is_some()
    }

    #[tokio::test]
    async fn what_one_process_keeps_another_reads_and_the_one_that_leads_forgets() {
        let Some(mut nodes) = TestNodes::new() else { return };
        let now_ms = Arc::new(AtomicU64::new(1_700_000_000_000));
        let clock = Arc::clone(&now_ms);
        nodes.options.clock = Clock::new(move || clock.load(Ordering::SeqCst) * 1000);
        let [leads, other] =
            [nodes.first(), nodes.beside("second")].map(|store| Prefills::of(store, rules()));
        let tokens = [kept(&leads).await, kept(&other).await, kept(&leads).await];
        assert!(other.place(COMPANY).is_err() && leads.place(COMPANY).is_err(), "each knows of all three");
        for prefills in [&other, &leads, &other] {
            prefills.sweep_once().await;
        }
        assert_eq!(leads.store.count(Tree::Prefills, COMPANY), Ok(3), "none has ended");
        assert!(is_read(&other, tokens[0]).await && !is_read(&leads, tokens[0]).await, "it was used up");
        assert!(!other.is_to_be_swept(0), "it does not lead");
        assert!(leads.is_to_be_swept(0), "it is told that one has ended");
        assert!(!leads.is_to_be_swept(0), "once");
        assert!(is_read(&leads, tokens[1]).await && !is_read(&other, tokens[1]).await);

        now_ms.fetch_add(61_000, Ordering::SeqCst);
        assert!(!is_read(&other, tokens[2]).await, "it is over");
        leads.sweep_once().await;
        assert_eq!(leads.store.count(Tree::Prefills, COMPANY), Ok(0));
        assert!(other.place(COMPANY).is_ok());
    }
}
