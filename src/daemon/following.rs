//! Taking in what other processes on the store have changed: what is kept here in memory is what the store says, within a second. Where the
//! store is this process's alone there is nobody to follow.

use std::sync::Arc;

use tokio::task::{JoinHandle, spawn_blocking};

use crate::matching::Engine;
use crate::persons::erasure;
use crate::store::pauses::Pauses;
use crate::store::{ReadError, Store, Topic};

/// What is followed here; tokens and users are where they are asked for.
const FOLLOWED: [Topic; 3] = [Topic::Pauses, Topic::Suppressions, Topic::Erasures];

/// How often something of what is followed had been changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen([u64; FOLLOWED.len()]);

impl Seen {
    /// As of now: to be asked for before anything is read.
    pub(super) fn of(store: &Store) -> Self {
        Self(FOLLOWED.map(|topic| store.changes_of(topic)))
    }
}

/// Follows what is changed after it was seen, until the tasks are dropped.
pub(super) fn follow(
    engine: &Arc<Engine>,
    Seen([pauses, suppressions, erasures]): Seen,
) -> Vec<JoinHandle<()>> {
    let store = &engine.records.store;
    if !store.is_shared() {
        return Vec::new();
    }
    let read_pauses =
        |engine: &Engine| engine.limiter.take_in_pauses(&Pauses::of(engine.records.store.clone()));
    let read_suppressions = |engine: &Engine| engine.suppressions.load(&engine.records.store);
    let (erasing, following) = (Arc::clone(engine), store.clone());
    vec![
        tokio::spawn(read_again(Arc::clone(engine), Topic::Pauses, pauses, read_pauses)),
        tokio::spawn(read_again(Arc::clone(engine), Topic::Suppressions, suppressions, read_suppressions)),
        tokio::spawn(async move {
            following.follow(Topic::Erasures, erasures, || erasure::take_in(&erasing)).await;
        }),
    ]
}

/// Reads something again each time that it was changed, where waiting for the store harms nobody.
async fn read_again(
    engine: Arc<Engine>,
    topic: Topic,
    seen: u64,
    read: fn(&Engine) -> Result<(), ReadError>,
) {
    let take_in = async || {
        let engine = Arc::clone(&engine);
        let read = spawn_blocking(move || read(&engine)).await.map_err(|panic| panic.to_string());
        read.and_then(|read| read.map_err(|failure| failure.to_string()))
    };
    engine.records.store.follow(topic, seen, take_in).await;
}
