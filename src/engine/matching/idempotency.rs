//! Idempotent calls: a request repeated with the same `Idempotency-Key` takes effect once.
//!
//! What a call makes for a lead is remembered with the lead. A session or a prefill belongs to none: the key
//! itself [names](IdempotencyKey::name) it.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::Duration;
use parking_lot::Mutex;
use serde::Serialize;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use offerd_model::Viewer;
use offerd_store::{Commit, Store, Tree, codec};

const REMEMBERED_HOURS: i64 = 24;

/// A client's idempotency key, with the content of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Digests in memory; the store keeps keyed hashes of them.
    key: Vec<u8>,
    content: [u8; 32],
}

/// The state of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyState {
    /// The key made this: a table, a lead or a display.
    Done(Uuid),
    /// The key was used with other content, or for another call.
    OtherContent,
}

/// The answer to a call.
#[derive(Debug, Clone)]
pub struct Answered<T> {
    /// The answer.
    pub answer: T,
    /// Whether the call repeats an earlier one, and the answer is of what that made.
    pub replayed: bool,
}

impl<T> Answered<T> {
    /// The answer to a new call.
    pub fn anew(answer: T) -> Self {
        Self { answer, replayed: false }
    }

    /// The answer to a repeated call.
    pub fn again(answer: T) -> Self {
        Self { answer, replayed: true }
    }
}

impl IdempotencyKey {
    /// A viewer's key, sent to `call` with this content.
    pub fn new(viewer: Viewer, key: &str, call: &str, content: &impl Serialize) -> Self {
        let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        // Test and live requests have separate keys.
        let kind: &[u8] = if viewer.test { b"test" } else { b"" };
        let key = [&viewer.company.as_bytes()[..], &digest, kind].concat();
        let content = codec::encode_json(&(call, content));
        Self { key, content: Sha256::digest(content).into() }
    }

    /// The name that the key gives to what it makes on a day, or whenever: nobody can guess it.
    pub fn name(&self, store: &Store, day: Option<i64>) -> Uuid {
        let day = day.map_or_else(Vec::new, |day| day.to_be_bytes().to_vec());
        let [name @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
            store.blind("repeat name", &[self.key.clone(), day].concat());
        Builder::from_random_bytes(name).into_uuid()
    }

    /// Looks the key up. The record is eight bytes of time, the content's digest, and what was made.
    pub fn look_up(&self, store: &Store) -> Option<IdempotencyState> {
        let record = store.get(Tree::Repeats, self.kept_key(store)).ok()??;
        let (at, content, made) = (record.get(..8)?, record.get(8..40)?, record.get(40..56)?);
        let (at, made) = (i64::from_be_bytes(at.try_into().ok()?), Uuid::from_slice(made).ok()?);
        let is_same = content == self.kept_content(store);
        let known = if is_same { IdempotencyState::Done(made) } else { IdempotencyState::OtherContent };
        (at >= forgotten_before(store)).then_some(known)
    }

    /// Has the commit, which is about a lead, remember what the key made; guarded against a concurrent repeat.
    pub fn remember(&self, store: &Store, commit: Commit, made: Uuid) -> Commit {
        let record = [&store.now_ms().to_be_bytes()[..], &self.kept_content(store), made.as_bytes()].concat();
        let key = self.kept_key(store);
        commit.unless_recent(Tree::Repeats, key, forgotten_before(store)).put(Tree::Repeats, key, record)
    }

    fn kept_key(&self, store: &Store) -> [u8; 32] {
        store.blind("repeat key", &self.key)
    }

    fn kept_content(&self, store: &Store) -> [u8; 32] {
        store.blind("repeat body", &self.content)
    }
}

fn forgotten_before(store: &Store) -> i64 {
    store.now_ms() - Duration::hours(REMEMBERED_HOURS).num_milliseconds()
}

/// Keys in flight on this node. Of two nodes with the same key, the store accepts one request.
#[derive(Debug, Clone, Default)]
pub(super) struct KeysInFlight(Arc<Mutex<HashSet<Vec<u8>>>>);

/// Locks a key while its request is in flight.
#[derive(Debug)]
pub struct IdempotencyLock {
    under_way: KeysInFlight,
    key: Vec<u8>,
}

impl KeysInFlight {
    pub(super) fn lock(&self, IdempotencyKey { key, .. }: &IdempotencyKey) -> Option<IdempotencyLock> {
        let is_free = self.0.lock().insert(key.clone());
        is_free.then(|| IdempotencyLock { under_way: self.clone(), key: key.clone() })
    }
}

impl Drop for IdempotencyLock {
    fn drop(&mut self) {
        self.under_way.0.lock().remove(&self.key);
    }
}
