//! A submit that is sent again because nobody saw the answer: with the same `Idempotency-Key` it is done once.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::Duration;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use offerd_model::Viewer;
use offerd_store::{Commit, Store, Tree};

/// How long a key is remembered.
const REMEMBERED_HOURS: i64 = 24;

/// A client's key for one submit, with what it was sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Digests, as they are in memory; what is kept are keyed hashes of them.
    key: Vec<u8>,
    body: [u8; 32],
}

/// What is known of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Nothing: the submit is new.
    New,
    /// It made this table.
    Done(Uuid),
    /// It came with another body.
    OtherBody,
}

impl IdempotencyKey {
    /// A key of who sends it, as sent with `body`.
    pub fn new(viewer: Viewer, key: &str, body: &[u8]) -> Self {
        let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        // What a test has sent is no repeat of what was sent in earnest, nor the other way round.
        let kind: &[u8] = if viewer.test { b"test" } else { b"" };
        Self {
            key: [&viewer.company.as_bytes()[..], &digest, kind].concat(),
            body: Sha256::digest(body).into(),
        }
    }

    /// Looks the key up: eight bytes of time, the body's digest, the table.
    pub(super) fn look_up(&self, store: &Store) -> Known {
        self.known(store).unwrap_or(Known::New)
    }

    fn known(&self, store: &Store) -> Option<Known> {
        let record = store.get(Tree::Repeats, self.kept_key(store)).ok()??;
        let (at, body, table) = (record.get(..8)?, record.get(8..40)?, record.get(40..56)?);
        let (at, table) = (i64::from_be_bytes(at.try_into().ok()?), Uuid::from_slice(table).ok()?);
        let is_same = body == self.kept_body(store);
        let known = if is_same { Known::Done(table) } else { Known::OtherBody };
        (at >= forgotten_before(store)).then_some(known)
    }

    /// Adds to the commit of a submit that this key made `table`, unless it has made one.
    pub(super) fn remember(&self, store: &Store, commit: Commit, table: Uuid) -> Commit {
        let now = store.now_ms().to_be_bytes();
        let record = [&now[..], &self.kept_body(store), table.as_bytes()].concat();
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

/// The keys whose submits are under way here. Of two that another process on the store has under way too, one is taken in, and the other
/// finds what it made.
#[derive(Debug, Clone, Default)]
pub(super) struct UnderWay(Arc<Mutex<HashSet<Vec<u8>>>>);

/// Holds a key for as long as its submit is under way.
#[derive(Debug)]
pub struct Held {
    under_way: UnderWay,
    key: Vec<u8>,
}

impl UnderWay {
    /// Holds a key; `None` when it is held.
    pub(super) fn hold(&self, key: &IdempotencyKey) -> Option<Held> {
        let mut keys = self.0.lock();
        keys.insert(key.key.clone()).then(|| Held { under_way: self.clone(), key: key.key.clone() })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.under_way.0.lock().remove(&self.key);
    }
}
