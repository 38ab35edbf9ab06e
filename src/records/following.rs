//! Following the feeds in the background: how far somebody has read them, and at which pace.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::store::codec;
use crate::store::{Commit, CommitError, FeedKey, Store, Tree};

/// Between two looks at the feeds when everything is read.
pub const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long new work may queue before who follows makes room, and how often as long as a step took it rests then.
const BUSY: Duration = Duration::from_millis(1);
const REST_WHEN_BUSY: u32 = 19;

/// What a step has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Nothing was to be done, until something arrives.
    Nothing,
    /// It has read all that there was.
    CaughtUp,
    /// There may be more.
    More,
}

/// How long to rest after a step that took so long: for as long, so that half a core is used at most, or while new work queues so
/// that a twentieth is, since the leads of the moment come first.
pub fn rest(step: Step, took: Duration, queueing: Duration) -> Duration {
    match step {
        Step::More if queueing > BUSY => (took * REST_WHEN_BUSY).min(LOOK_AGAIN),
        Step::More => took,
        Step::CaughtUp | Step::Nothing => LOOK_AGAIN,
    }
}

/// The next records of a feed.
#[derive(Debug)]
pub struct Next<T> {
    /// The entries of the records that can be read.
    pub listed: Vec<T>,
    /// How many records there are.
    pub records: usize,
    /// Where to go on behind them, in microseconds.
    pub next_us: u64,
}

/// The next records of a company's feed from an arrival on, as many as a step takes. A broken one is reported by the store, and
/// left out.
pub fn next<T: DeserializeOwned>(
    store: &Store,
    (feed, company, from_us): (Tree, Uuid, u64),
    most: usize,
) -> Next<T> {
    let mut next = Next { listed: Vec::new(), records: 0, next_us: from_us };
    let start = FeedKey::first_at(company, from_us).to_bytes();
    for record in store.scan_from(feed, start, company).take(most) {
        let Ok((key, bytes)) = record else { break };
        next.records += 1;
        // No two records share an arrival.
        next.next_us = FeedKey::parse(&key).map_or(next.next_us, |key| key.arrival_us + 1);
        next.listed.extend(store.decode::<Vec<T>>(feed, &key, &bytes).unwrap_or_default());
    }
    next
}

/// The companies that have a feed, each found by one look behind the one before.
pub fn companies(store: &Store) -> Vec<Uuid> {
    let mut found = BTreeSet::new();
    for feed in [Tree::LeadEvents, Tree::LeadPayouts] {
        let mut start = Uuid::nil();
        while let Some(company) = first_company(store, feed, start) {
            found.insert(company);
            let Some(next) = company.as_u128().checked_add(1) else { break };
            start = Uuid::from_u128(next);
        }
    }
    found.into_iter().collect()
}

fn first_company(store: &Store, feed: Tree, start: Uuid) -> Option<Uuid> {
    let (key, _) = store.scan_from(feed, start, []).next()?.ok()?;
    FeedKey::parse(&key).map(|key| key.company)
}

/// How far a follower has read the lead events of a company: the arrival of the first record that it has not, in microseconds.
///
/// # Errors
/// That it cannot be read, which is never taken for nothing.
pub fn cursor(store: &Store, follower: &str, company: Uuid) -> Result<u64, CommitError> {
    let unread =
        |reason: String| CommitError::Failed(format!("how far `{follower}` has read is not known: {reason}"));
    let found = store.read(Tree::Followers, cursor_key(follower, company));
    Ok(found.map_err(|error| unread(error.to_string()))?.unwrap_or(0))
}

/// Has a follower have read so far.
pub fn with_cursor(commit: Commit, follower: &str, company: Uuid, next_us: u64) -> Commit {
    commit.put(Tree::Followers, cursor_key(follower, company), codec::encode(&next_us))
}

fn cursor_key(follower: &str, company: Uuid) -> Vec<u8> {
    [follower.as_bytes(), company.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn it_catches_up_with_half_a_core_unless_the_process_is_late() {
        assert_eq!(rest(Step::More, 7 * MS, BUSY), 7 * MS);
        assert_eq!(rest(Step::More, 7 * MS, BUSY + MS), 133 * MS, "the leads of the moment come first");
        assert_eq!(rest(Step::More, 70 * MS, BUSY + MS), LOOK_AGAIN, "but never is it put off for longer");
        for step in [Step::CaughtUp, Step::Nothing] {
            assert_eq!(rest(step, 7 * MS, Duration::ZERO), LOOK_AGAIN);
        }
    }
}
