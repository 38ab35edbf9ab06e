//! The audit log: every action with its actor, time and reason. Each record holds the hash of its
//! predecessor, so any change is detected. Only the oldest are removed, and the hash of the last removed one
//! stays. Leads are named by their uuids, so no record identifies a person.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::Utc;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::users::Role;
use crate::{Commit, CommitError, ReadError, ReadResult, Store, Tree, codec, unless_broken};
use offerd_model::record;

/// Key of the hash of the last removed record.
pub(crate) const ANCHOR: &[u8] = &[0];

pub(crate) const RECORDS: &[u8] = &[1];

/// How long a record waits for the writers ahead of it.
const TURN: Duration = Duration::from_secs(10);

const AT_ONCE: usize = 256;

const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

record! { plain
    /// An audit record. JSON, keyed by its number; its hash is the SHA-256 of that JSON.
    #[derive(Eq)]
    AuditRecord {
        /// Its number, counted from 1.
        number: u64,
        /// When it was written, Unix milliseconds.
        at: i64,
        /// The actor: a user of the console, or the access that the actor used.
        who: String,
        /// The actor's role; absent for an operator on the machine itself.
        role?: Role,
        /// The origin: `command`, `signal`, or the console and an address.
        from: String,
        /// The action, such as `token.create`.
        action: String,
        /// The object of the action.
        object?: String,
        /// The reason, for actions that require one.
        reason?: String,
        /// In the record of a salvage, the gaps before it: the chain restarts after each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gaps: Vec<AuditGap>,
        /// The hash of the previous record, in hexadecimal.
        previous: String,
    }
}

/// A gap of lost records, after which the chain restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AuditGap {
    /// The number of the record before the gap; 0 if the gap is at the beginning.
    pub after: u64,
    /// The number of the first record after the gap.
    pub next: u64,
}

impl fmt::Display for AuditGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, next } = *self;
        let (first, last) = (after + 1, next - 1);
        match last.checked_sub(after) {
            Some(0) | None => write!(f, "record {next} was written while record {after} could not be read"),
            Some(1) => write!(f, "record {first} is lost"),
            Some(_) => write!(f, "records {first} to {last} are lost"),
        }
    }
}

impl AuditGap {
    fn fault(self) -> String {
        let wanted = self.after + 1;
        match self.next == wanted {
            true => format!("record {wanted} does not match the one before it, which was changed"),
            false => format!("record {wanted} is missing or cannot be read"),
        }
    }
}

/// The content of a new audit record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The actor.
    pub who: String,
    /// The actor's role.
    pub role: Option<Role>,
    /// The origin.
    pub from: String,
    /// The action.
    pub action: &'static str,
    /// The object of the action.
    pub object: Option<String>,
    /// The reason.
    pub reason: Option<String>,
}

impl AuditEntry {
    /// An action of an operator on the machine itself, without a role.
    pub fn of_machine(who: String, from: &str, action: &'static str) -> Self {
        Self { who, role: None, from: from.to_owned(), action, object: None, reason: None }
    }

    fn behind(self, head: AuditHead, at: i64) -> AuditRecord {
        let Self { who, role, from, action, object, reason } = self;
        let AuditHead { number, hash: previous } = head;
        let (number, action) = (number + 1, action.to_owned());
        AuditRecord { number, at, who, role, from, action, object, reason, gaps: Vec::new(), previous }
    }
}

/// Selects audit records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Records no older than this, Unix milliseconds.
    pub since: i64,
    /// Records whose actor contains this, ignoring case.
    pub who: Option<String>,
    /// Records with this action, or with one that starts with it and a dot.
    pub action: Option<String>,
    /// Records whose object contains this, ignoring case, such as the uuid of a lead.
    pub about: Option<String>,
}

/// The newest record of the chain. An auditor who writes it down elsewhere can detect a truncated end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The number of the record; 0 in an empty audit log.
    pub number: u64,
    /// The hash of the record, in hexadecimal.
    pub hash: String,
}

impl AuditHead {
    fn beginning() -> Self {
        Self { number: 0, hash: BEGINNING.to_owned() }
    }
}

record! { plain
    /// The result of verifying the chain.
    #[derive(Eq)]
    AuditVerdict {
        /// Records read.
        records: u64,
        /// The last record read.
        head: AuditHead,
        /// Where and how the chain first breaks; absent if it is intact.
        broken?: String,
        /// The gaps that a salvage has recorded.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gaps: Vec<AuditGap>,
    }
}

pub(crate) struct Chain {
    records: u64,
    head: AuditHead,
    /// Each gap met, with the record count and the head before it.
    met: Vec<(AuditGap, u64, AuditHead)>,
    named: BTreeSet<AuditGap>,
    fault: Option<String>,
}

impl Chain {
    /// Starts after the last removed record, which is stored at [`ANCHOR`].
    pub(crate) fn behind(anchor: Option<AuditHead>) -> Self {
        let head = anchor.unwrap_or_else(AuditHead::beginning);
        Self { records: 0, head, met: Vec::new(), named: BTreeSet::new(), fault: None }
    }

    /// Checks the next record. Does nothing once the chain is broken.
    pub(crate) fn take(&mut self, place: &[u8], payload: &[u8], record: Option<AuditRecord>) {
        if self.fault.is_some() {
            return;
        }
        let (wanted, found) = (self.head.number + 1, number(place));
        // A record whose predecessor could not be read when it was written restarts the chain.
        let begins_anew = |record: &AuditRecord| record.previous == BEGINNING;
        self.fault = match &record {
            _ if found < wanted => Some(format!("record {wanted} is missing or cannot be read")),
            None => Some(format!("record {found} is not a valid record")),
            Some(record) if record.number != found => {
                Some(format!("record {found} is record {} in another place", record.number))
            }
            Some(record) if found == wanted && record.previous != self.head.hash && !begins_anew(record) => {
                Some(AuditGap { after: self.head.number, next: found }.fault())
            }
            Some(_) => None,
        };
        let Some(record) = record.filter(|_| self.fault.is_none()) else { return };
        if found > wanted || record.previous != self.head.hash {
            let gap = AuditGap { after: self.head.number, next: found };
            self.met.push((gap, self.records, self.head.clone()));
        }
        // A record cannot know gaps that come after it.
        self.named.extend(record.gaps.iter().filter(|gap| gap.next <= found));
        self.records += 1;
        self.head = AuditHead { number: found, hash: hash(payload) };
    }

    /// The gaps that no salvage has recorded.
    pub(crate) fn unnamed(&self) -> impl Iterator<Item = AuditGap> {
        self.met.iter().map(|(gap, ..)| *gap).filter(|gap| !self.named.contains(gap))
    }

    pub(crate) fn verdict(self) -> AuditVerdict {
        let unnamed = self.unnamed().next();
        let gaps = self.met.iter().map(|(gap, ..)| *gap).collect();
        match self.met.into_iter().find(|(gap, ..)| Some(*gap) == unnamed) {
            Some((gap, records, head)) => {
                AuditVerdict { records, head, broken: Some(gap.fault()), gaps: Vec::new() }
            }
            None => AuditVerdict { records: self.records, head: self.head, broken: self.fault, gaps },
        }
    }
}

/// The key and the payload of the record that a salvage appends.
pub(crate) fn salvage_record(last: Option<KeyedRecord>, who: &str, gaps: Vec<AuditGap>) -> KeyedRecord {
    let last = last.map(|(place, payload)| AuditHead { number: number(&place), hash: hash(&payload) });
    let head = last.unwrap_or_else(AuditHead::beginning);
    let key = key(head.number + 1);
    let entry = AuditEntry::of_machine(who.to_owned(), "command", "store.salvage");
    let reason =
        "the store was damaged; audit records may be missing at the gaps and after the last one before this";
    let entry = AuditEntry { reason: Some(reason.to_owned()), ..entry };
    let record = AuditRecord { gaps, ..entry.behind(head, Utc::now().timestamp_millis()) };
    (key, codec::encode_json(&record))
}

/// The audit log of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AuditLog {
    store: Store,
    /// The number of a record that is known to exist: the search for the end starts there.
    seen: Arc<AtomicU64>,
}

impl AuditFilter {
    /// Whether a record matches.
    pub fn wants(&self, record: &AuditRecord) -> bool {
        let holds = |text: &str, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| text.to_lowercase().contains(&wanted.to_lowercase()))
        };
        let is = |wanted: &String| {
            let rest = record.action.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        record.at >= self.since
            && holds(&record.who, &self.who)
            && holds(record.object.as_deref().unwrap_or_default(), &self.about)
            && self.action.as_ref().is_none_or(is)
    }
}

impl AuditLog {
    /// The audit log of `store`.
    pub fn of(store: Store) -> Self {
        Self { store, seen: Arc::default() }
    }

    /// Commits a change together with its audit record, atomically: once this returns, both are durable.
    pub async fn commit(&self, commit: Commit, entry: AuditEntry) -> Result<(), CommitError> {
        let mut lock = self.store.lock_record(TURN, Tree::Audit, RECORDS).await?;
        let guards = commit.guards.len();
        while lock.should_try().await {
            let head = self.head()?;
            let number = head.number + 1;
            let record = entry.clone().behind(head, self.store.now_ms());
            let commit = commit.clone().absent(Tree::Audit, key(number));
            let commit = commit.put(Tree::Audit, key(number), codec::encode_json(&record));
            match self.store.commit(commit).await {
                // Another process has written this number, or a write that was given up has landed after all.
                Err(CommitError::Guard { index, .. }) if index == guards => {}
                written => return written,
            }
        }
        Err(CommitError::Crowded)
    }

    /// The newest record, found by doubling steps from the last known one.
    pub fn head(&self) -> ReadResult<AuditHead> {
        let anchor = self.anchor()?;
        let (mut there, mut step) = (self.seen.load(Ordering::Relaxed).max(anchor.number), 1);
        while self.is_there(there + step)? {
            there += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if self.is_there(there + step)? {
                there += step;
            }
        }
        // After a gap, such as a salvage leaves, older records may follow it; new ones go after those too.
        for behind in self.store.scan_from(Tree::Audit, key(there + 1), RECORDS) {
            there = number(&behind?.0);
        }
        self.seen.store(there, Ordering::Relaxed);
        if there == anchor.number {
            return Ok(anchor);
        }
        // A broken last record does not keep new ones from being written; `verify` reports it.
        let payload = unless_broken(self.store.get(Tree::Audit, key(there)))?;
        let hash = payload.map_or_else(|| BEGINNING.to_owned(), |payload| hash(&payload));
        Ok(AuditHead { number: there, hash })
    }

    /// Matching records after `number`, oldest first: at most `most`, out of at most `looks` examined.
    pub fn after(
        &self,
        number: u64,
        filter: &AuditFilter,
        most: usize,
        looks: usize,
    ) -> ReadResult<AuditPage> {
        let scan = self.store.scan_from(Tree::Audit, key(number + 1), RECORDS);
        let records = scan.read_by(|key, payload| {
            let record: AuditRecord = self.store.decode_json(Tree::Audit, &key, &payload).ok()?;
            Some((record.number, Some(record)))
        });
        page(records, number, filter, (most, looks))
    }

    /// Matching records before `number`, or the end, newest first; else like [`after`](Self::after).
    pub fn before(
        &self,
        number: Option<u64>,
        filter: &AuditFilter,
        most: usize,
        looks: usize,
    ) -> ReadResult<AuditPage> {
        let begin = self.anchor()?.number;
        let end = self.head()?.number;
        let last = number.map_or(end, |number| end.min(number.saturating_sub(1)));
        let read = |number| Ok((number, unless_broken(self.store.read_json(Tree::Audit, key(number)))?));
        let is_recent = |looked: &ReadResult<AuditLookup>| !matches!(looked, Ok((_, Some(record))) if record.at < filter.since);
        let records = (begin + 1..=last).rev().map(read).take_while(is_recent);
        page(records, last + 1, filter, (most, looks))
    }

    /// Verifies the chain from its anchor to its end, across recorded gaps. Reads every record.
    pub fn verify(&self) -> ReadResult<AuditVerdict> {
        let mut chain = Chain::behind(Some(self.anchor()?));
        for read in self.store.scan(Tree::Audit, RECORDS) {
            let (place, payload) = read?;
            let record = self.store.decode_json(Tree::Audit, &place, &payload).ok();
            chain.take(&place, &payload, record);
        }
        Ok(chain.verdict())
    }

    /// Removes records older than `before_ms`, Unix milliseconds, and counts them. Keeps the last one's hash.
    pub async fn prune(&self, before_ms: i64) -> Result<u64, CommitError> {
        let mut removed = 0;
        loop {
            // Read before the records that follow it.
            let known = self.store.get(Tree::Audit, ANCHOR);
            let is_old = |(key, payload): &KeyedRecord| {
                let record = self.store.decode_json::<AuditRecord>(Tree::Audit, key, payload);
                record.is_ok_and(|record| record.at < before_ms)
            };
            let first = self.store.scan(Tree::Audit, RECORDS).take(AT_ONCE).collect::<Result<Vec<_>, _>>()?;
            let old: Vec<_> = first.into_iter().take_while(is_old).collect();
            let Some((last, payload)) = old.last() else { return Ok(removed) };
            let commit = Commit::new().as_found(Tree::Audit, ANCHOR, known?);
            let anchor = AuditHead { number: number(last), hash: hash(payload) };
            let commit = commit.put(Tree::Audit, ANCHOR, codec::encode_json(&anchor));
            let commit = old.iter().fold(commit, |commit, (key, _)| commit.remove(Tree::Audit, key));
            match self.store.commit(commit).await {
                Ok(()) => removed += old.len() as u64,
                // Another process has pruned meanwhile; the next pass reads the remaining records.
                Err(CommitError::Guard { .. }) => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    fn anchor(&self) -> ReadResult<AuditHead> {
        Ok(self.store.read_json(Tree::Audit, ANCHOR)?.unwrap_or_else(AuditHead::beginning))
    }

    /// Whether a record with this number exists, readable or not.
    fn is_there(&self, number: u64) -> ReadResult<bool> {
        match self.store.get(Tree::Audit, key(number)) {
            Ok(found) => Ok(found.is_some()),
            Err(ReadError::Broken(_)) => Ok(true),
            Err(failure) => Err(failure),
        }
    }
}

/// The key and the payload of a record.
pub(crate) type KeyedRecord = (Vec<u8>, Vec<u8>);

/// Matching records, and the number of the last examined one unless the end was reached.
pub type AuditPage = (Vec<AuditRecord>, Option<u64>);

/// The number of a record, and the record if it can be read.
type AuditLookup = (u64, Option<AuditRecord>);

fn page(
    records: impl Iterator<Item = ReadResult<AuditLookup>>,
    mut last: u64,
    filter: &AuditFilter,
    (most, looks): (usize, usize),
) -> ReadResult<AuditPage> {
    let mut found = Vec::new();
    for (nth, looked) in records.enumerate() {
        if nth == looks || found.len() == most {
            return Ok((found, Some(last)));
        }
        let (number, record) = looked?;
        last = number;
        found.extend(record.filter(|record| filter.wants(record)));
    }
    Ok((found, None))
}

fn key(number: u64) -> Vec<u8> {
    [RECORDS, &number.to_be_bytes()].concat()
}

pub(crate) fn number(key: &[u8]) -> u64 {
    key.strip_prefix(RECORDS).and_then(|rest| rest.try_into().ok()).map_or(0, u64::from_be_bytes)
}

fn hash(payload: &[u8]) -> String {
    const_hex::encode(Sha256::digest(payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreOptions;

    fn entry(action: &'static str, who: &str) -> AuditEntry {
        let (object, reason) = (Some("it".to_owned()), Some("asked to".to_owned()));
        AuditEntry { who: who.to_owned(), role: None, from: "command".to_owned(), action, object, reason }
    }

    async fn audit_of(records: u64) -> (tempfile::TempDir, Store, AuditLog) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(StoreOptions::new(directory.path())).unwrap();
        let audit = AuditLog::of(store.clone());
        for nth in 0..records {
            let action = if nth % 2 == 0 { "token.create" } else { "tokens" };
            audit.commit(Commit::new(), entry(action, &format!("user {nth}"))).await.unwrap();
        }
        (directory, store, audit)
    }

    #[tokio::test]
    async fn records_follow_each_other_whoever_writes_them() {
        let (_directory, store, audit) = audit_of(0).await;
        let writers = (0..20).map(|_| AuditLog::of(store.clone()));
        let written =
            writers.map(|audit| async move { audit.commit(Commit::new(), entry("reload", "a")).await });
        assert!(futures_util::future::join_all(written).await.iter().all(Result::is_ok));
        let verdict = audit.verify().unwrap();
        assert_eq!((verdict.records, verdict.head.number, verdict.broken), (20, 20, None));
        assert_eq!(audit.head().unwrap(), verdict.head);
    }

    #[test]
    fn records_follow_each_other_through_whichever_process_and_old_ones_go_once() {
        let Some((stores, _directory)) = crate::testing::two_nodes() else { return };
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        std::thread::scope(|scope| {
            for store in &stores {
                let audit = AuditLog::of(store.clone());
                scope.spawn(move || {
                    for _ in 0..15 {
                        runtime().block_on(audit.commit(Commit::new(), entry("reload", "a"))).unwrap();
                    }
                });
            }
        });
        let audit = AuditLog::of(stores[0].clone());
        let verdict = audit.verify().unwrap();
        assert_eq!((verdict.records, verdict.head.number, verdict.broken), (30, 30, None));
        let removed: u64 = std::thread::scope(|scope| {
            let pruned = |store: &Store| {
                let audit = AuditLog::of(store.clone());
                scope.spawn(move || runtime().block_on(audit.prune(i64::MAX)).unwrap())
            };
            stores.each_ref().map(pruned).into_iter().map(|pruned| pruned.join().unwrap()).sum()
        });
        assert_eq!(removed, 30);
        assert_eq!(audit.head().unwrap(), verdict.head);
    }

    #[tokio::test]
    async fn what_is_recorded_and_its_record_are_one_commit() {
        let (_directory, store, audit) = audit_of(1).await;
        let commit = || Commit::new().absent(Tree::Pauses, "p").put(Tree::Pauses, "p", "paused");
        audit.commit(commit(), entry("partner.pause", "a")).await.unwrap();
        let twice = audit.commit(commit(), entry("partner.pause", "a")).await;
        assert!(matches!(twice, Err(CommitError::Guard { index: 0, .. })), "{twice:?}");
        assert_eq!(audit.verify().unwrap().records, 2, "what did not happen is not recorded");
        assert!(store.get(Tree::Pauses, "p").unwrap().is_some());
    }

    type Change = fn(AuditRecord) -> Commit;

    #[tokio::test]
    async fn any_change_shows() {
        let changes: [(&str, Change); 3] = [
            ("record 5 does not match the one before it", |record| {
                let other = AuditRecord { who: "somebody else".to_owned(), ..record };
                Commit::new().put(Tree::Audit, key(4), codec::encode_json(&other))
            }),
            ("record 4 is missing", |_| Commit::new().remove(Tree::Audit, key(4))),
            ("record 1 is missing", |_| {
                (1..4).fold(Commit::new(), |commit, nth| commit.remove(Tree::Audit, key(nth)))
            }),
        ];
        for (told, change) in changes {
            let (_directory, store, audit) = audit_of(9).await;
            let (records, _) = audit.after(3, &AuditFilter::default(), 1, 10).unwrap();
            store.commit(change(records[0].clone())).await.unwrap();
            let broken = || AuditLog::of(store.clone()).verify().unwrap().broken.expect("it shows");
            assert!(broken().starts_with(told), "{}", broken());
            AuditLog::of(store.clone()).commit(Commit::new(), entry("reload", "a")).await.unwrap();
            assert!(broken().starts_with(told), "{}: what is done later hides it not", broken());
        }
    }

    #[tokio::test]
    async fn old_records_go_and_leave_a_chain_that_is_whole() {
        let (_directory, _store, audit) = audit_of(600).await;
        let cut = audit.after(300, &AuditFilter::default(), 1, 1).unwrap().0[0].at;
        let old = audit
            .after(0, &AuditFilter::default(), 600, 600)
            .unwrap()
            .0
            .iter()
            .filter(|record| record.at < cut)
            .count();
        assert_eq!(audit.prune(cut).await.unwrap(), old as u64);
        let verdict = audit.verify().unwrap();
        assert_eq!((verdict.records, verdict.head.number, verdict.broken), (600 - old as u64, 600, None));
        assert_eq!(audit.prune(i64::MAX).await.unwrap(), verdict.records);
        audit.commit(Commit::new(), entry("reload", "a")).await.unwrap();
        let verdict = audit.verify().unwrap();
        assert_eq!((verdict.records, verdict.head.number, verdict.broken), (1, 601, None));
    }

    #[tokio::test]
    async fn pages_from_either_end_have_each_record_that_is_wanted_once() {
        let (_directory, _store, audit) = audit_of(25).await;
        let wanted = AuditFilter { action: Some("token".to_owned()), ..AuditFilter::default() };
        let (mut forwards, mut next) = (Vec::new(), Some(0));
        while let Some(after) = next {
            let page = audit.after(after, &wanted, 4, 7).unwrap();
            forwards.extend(page.0.iter().map(|record| record.number));
            next = page.1;
        }
        let (mut backwards, mut next) = (Vec::new(), Some(None));
        while let Some(before) = next {
            let page = audit.before(before, &wanted, 4, 7).unwrap();
            backwards.extend(page.0.iter().map(|record| record.number));
            next = page.1.map(Some);
        }
        backwards.reverse();
        assert_eq!(forwards, (1..=25).step_by(2).collect::<Vec<u64>>(), "`token` is not `tokens`");
        assert_eq!(backwards, forwards);
        let whose = AuditFilter { who: Some("USER 2".to_owned()), ..AuditFilter::default() };
        assert_eq!(audit.after(0, &whose, 50, 50).unwrap().0.len(), 6);
    }
}
