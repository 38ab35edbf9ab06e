//! Projections: views derived from the feeds in the background, with a bounded share of the CPU.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tokio::task::spawn_blocking;
use tracing::error;
use uuid::Uuid;

use offerd_store::entities::Happening;
use offerd_store::{Commit, CommitError, FeedKey, Store, Tree, codec};

/// The feeds of lead activity.
pub const FEEDS: [Tree; 2] = [Tree::LeadEvents, Tree::LeadPayouts];

/// Most feed records per step: a few milliseconds during which leads have one core less.
pub const STEP: usize = 64;

/// Poll interval once all feeds are read.
pub const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Queueing time above which projections make room, and their rest then, as a multiple of the step.
pub const BUSY: Duration = Duration::from_millis(1);
const REST_WHEN_BUSY: u32 = 19;

/// A view derived from the feeds: counts, an index, pushed events.
pub trait Projection: Send {
    /// Log message for a failure.
    const TROUBLE: &'static str;

    /// Waits until this process maintains the projection: the leader, where several share a store.
    fn begin(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Folds in the next records; returns whether there may be more. A failed fold is retried.
    fn fold(&mut self) -> impl Future<Output = Result<bool, CommitError>> + Send;
}

/// Runs a projection until the store closes. While it catches up, it rests as long as each step took, so it
/// uses at most half a core; while new work queues, it uses a twentieth, because current leads come first.
pub async fn run<P: Projection>(mut projection: P, queueing: impl Fn() -> Duration) {
    projection.begin().await;
    loop {
        let begun = Instant::now();
        let pause = match projection.fold().await {
            Ok(more) => rest(more, begun.elapsed(), queueing()),
            Err(CommitError::Busy | CommitError::Guard { .. }) => LOOK_AGAIN,
            Err(CommitError::Closed) => return,
            Err(failure) => {
                error!(%failure, "{}", P::TROUBLE);
                LOOK_AGAIN
            }
        };
        tokio::time::sleep(pause).await;
    }
}

fn rest(more: bool, took: Duration, queueing: Duration) -> Duration {
    match more {
        true if queueing > BUSY => (took * REST_WHEN_BUSY).min(LOOK_AGAIN),
        true => took,
        false => LOOK_AGAIN,
    }
}

/// Takes a step through each company's lead events, for a projection that stores its position under its name.
/// `fold` gets the next events, from at most `most` records, and a commit that moves the position, guarded
/// against concurrent moves. Returns whether there may be more.
///
/// # Errors
/// The failure of the store; what was folded before stays folded.
pub async fn step<F: Future<Output = Result<(), CommitError>>>(
    store: &Store,
    (name, most): (&'static str, usize),
    fold: impl Fn(Vec<Happening>, Commit) -> F,
) -> Result<bool, CommitError> {
    let mut more = false;
    let reads = store.clone();
    for company in blocking(move || companies(&reads)).await? {
        let reads = store.clone();
        let (next, moved) = blocking(move || read(&reads, name, company, most)).await??;
        if next.records > 0 {
            more |= next.records == most;
            fold(next.listed.into_iter().map(|(_, happening)| happening).collect(), moved).await?;
        }
    }
    Ok(more)
}

fn read(
    store: &Store,
    name: &str,
    company: Uuid,
    most: usize,
) -> Result<(FeedBatch<Happening>, Commit), CommitError> {
    let key = [name.as_bytes(), company.as_bytes()].concat();
    let found = store.get(Tree::Followers, &key).map_err(unreadable)?;
    let from_us = found.as_ref().map(|bytes| store.decode(Tree::Followers, &key, bytes)).transpose();
    let from_us = from_us.map_err(unreadable)?.unwrap_or(0);
    let next = next::<Happening>(store, (Tree::LeadEvents, company, from_us), most)?;
    let moved = Commit::new().as_found(Tree::Followers, &key, found);
    let moved = moved.put(Tree::Followers, key, codec::encode(&next.next_us));
    Ok((next, moved))
}

/// A batch of feed records.
#[derive(Debug)]
pub struct FeedBatch<T> {
    /// The entries of the readable records, each with its arrival in microseconds.
    pub listed: Vec<(u64, T)>,
    /// The number of records read.
    pub records: usize,
    /// The arrival to continue from, in microseconds.
    pub next_us: u64,
}

/// Up to `most` records of a company's feed, from an arrival on. Skips broken ones, which the store logs.
pub fn next<T: DeserializeOwned>(
    store: &Store,
    (feed, company, from_us): (Tree, Uuid, u64),
    most: usize,
) -> Result<FeedBatch<T>, CommitError> {
    let mut next = FeedBatch { listed: Vec::new(), records: 0, next_us: from_us };
    for record in store.feed_from::<T>(feed, company, from_us).take(most) {
        let (FeedKey { arrival_us, .. }, listed) = record.map_err(unreadable)?;
        next.records += 1;
        // Arrivals are unique.
        next.next_us = arrival_us + 1;
        next.listed.extend(listed.into_iter().map(|listed| (arrival_us, listed)));
    }
    Ok(next)
}

/// The companies that have a feed. Seeks from each company to the next.
pub fn companies(store: &Store) -> Vec<Uuid> {
    let mut found = BTreeSet::new();
    for feed in FEEDS {
        let mut start = Uuid::nil();
        while let Some(FeedKey { company, .. }) = first(store, feed, start, &[]) {
            found.insert(company);
            let Some(next) = company.as_u128().checked_add(1) else { break };
            start = Uuid::from_u128(next);
        }
    }
    found.into_iter().collect()
}

/// The first record of a feed at or after a key, within a prefix.
pub fn first(store: &Store, feed: Tree, start: impl AsRef<[u8]>, prefix: &[u8]) -> Option<FeedKey> {
    let (key, _) = store.scan_from(feed, start, prefix).next()?.ok()?;
    FeedKey::parse(&key)
}

/// Paces long work in steps. If it `rests`, it uses at most half a core.
pub struct Steps {
    rests: bool,
    took: Duration,
}

impl Steps {
    /// A pacer before its first step.
    pub fn new(rests: bool) -> Self {
        Self { rests, took: Duration::ZERO }
    }

    /// Runs one step on a blocking thread; fails when it panicked.
    pub async fn take<T: Send + 'static>(
        &mut self,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CommitError> {
        if self.rests {
            tokio::time::sleep(self.took).await;
        }
        let begun = Instant::now();
        let done = blocking(step).await;
        self.took = begun.elapsed();
        done
    }
}

/// Runs a function on a blocking thread; fails when it panicked.
pub async fn blocking<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<T, CommitError> {
    spawn_blocking(run).await.map_err(|error| CommitError::Failed(error.to_string()))
}

fn unreadable(reason: impl Display) -> CommitError {
    CommitError::Unread(format!("cannot read the feeds: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn it_catches_up_with_half_a_core_unless_the_process_is_late() {
        assert_eq!(rest(true, 7 * MS, BUSY), 7 * MS);
        assert_eq!(rest(true, 7 * MS, BUSY + MS), 133 * MS, "the leads of the moment come first");
        assert_eq!(rest(true, 70 * MS, BUSY + MS), LOOK_AGAIN, "but never is it put off for longer");
        assert_eq!(rest(false, 7 * MS, Duration::ZERO), LOOK_AGAIN);
    }
}
