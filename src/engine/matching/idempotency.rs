//! Idempotent submits: a request repeated with the same `Idempotency-Key` takes effect once.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::Duration;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use offerd_model::Viewer;
use offerd_store::{Commit, Store, Tree};

const REMEMBERED_HOURS: i64 = 24;

/// A client's idempotency key, with the body of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Digests in memory; the store keeps keyed hashes of them.
    key: Vec<u8>,
    body: [u8; 32],
}

/// The state of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyState {
    /// The key made this table.
    Done(Uuid),
    /// The key was used with another body.
    OtherBody,
}

impl IdempotencyKey {
    /// A viewer's key, sent with `body`.
    pub fn new(viewer: Viewer, key: &str, body: &[u8]) -> Self {
        let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        // Test and live requests have separate keys.
        let kind: &[u8] = if viewer.test { b"test" } else { b"" };
        let key = [&viewer.company.as_bytes()[..], &digest, kind].concat();
        Self { key, body: Sha256::digest(body).into() }
    }

    /// Looks the key up. The record is eight bytes of time, the body's digest, and the table.
    pub(super) fn look_up(&self, store: &Store) -> Option<IdempotencyState> {
        let record = store.get(Tree::Repeats, self.kept_key(store)).ok()??;
        let (at, body, table) = (record.get(..8)?, record.get(8..40)?, record.get(40..56)?);
        let (at, table) = (i64::from_be_bytes(at.try_into().ok()?), Uuid::from_slice(table).ok()?);
        let is_same = body == self.kept_body(store);
        let known = if is_same { IdempotencyState::Done(table) } else { IdempotencyState::OtherBody };
        (at >= forgotten_before(store)).then_some(known)
    }

    pub(super) fn remember(&self, store: &Store, commit: Commit, table: Uuid) -> Commit {
        let record = [&store.now_ms().to_be_bytes()[..], &self.kept_body(store), table.as_bytes()].concat();
        let key = self.kept_key(store);
        commit.unless_recent(Tree::Repeats, key, forgotten_before(store)).put(Tree::Repeats, key, record)
    }

    fn kept_key(&self, store: &Store) -> [u8; 32] {
        store.blind("repeat key", &self.key)
    }

    fn kept_body(&self, store: &Store) -> [u8; 32] {
        store.blind("repeat body", &self.body)
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
