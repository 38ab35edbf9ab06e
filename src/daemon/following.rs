//! Follows changes by other processes, within a second, and the return of the suppression key.

use super::prelude::*;
use offerd_admin::ReadinessState;
use offerd_insight::persons::erasure;
use offerd_store::pauses::Pauses;
use offerd_store::{ReadError, Topic};

/// The topics followed here; tokens and users are followed where they are used.
const FOLLOWED: [Topic; 3] = [Topic::Pauses, Topic::Suppressions, Topic::Erasures];

const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The current change counter of each followed topic. Call it before reading the data.
pub(super) fn topic_counters(store: &Store) -> [u64; FOLLOWED.len()] {
    FOLLOWED.map(|topic| store.changes_of(topic))
}

pub(super) fn follow(
    engine: &Arc<MatchingEngine>,
    [pauses, suppressions, erasures]: [u64; FOLLOWED.len()],
) -> Vec<JoinHandle<()>> {
    let store = &engine.records.store;
    if !store.is_shared() {
        return Vec::new();
    }
    let read_pauses =
        |engine: &MatchingEngine| engine.limiter.take_in_pauses(&Pauses::of(engine.records.store.clone()));
    let read_suppressions = |engine: &MatchingEngine| engine.suppressions.load(&engine.records.store);
    let (erasing, following) = (Arc::clone(engine), store.clone());
    vec![
        tokio::spawn(read_again(Arc::clone(engine), Topic::Pauses, pauses, read_pauses)),
        tokio::spawn(read_again(Arc::clone(engine), Topic::Suppressions, suppressions, read_suppressions)),
        tokio::spawn(async move {
            following.follow(Topic::Erasures, erasures, || erasure::apply_erasures(&erasing)).await;
        }),
    ]
}

async fn read_again(
    engine: Arc<MatchingEngine>,
    topic: Topic,
    seen: u64,
    read: fn(&MatchingEngine) -> Result<(), ReadError>,
) {
    let take_in = async || {
        let engine = Arc::clone(&engine);
        let read = spawn_blocking(move || read(&engine)).await.map_err(|panic| panic.to_string());
        read.and_then(|read| read.map_err(|failure| failure.to_string()))
    };
    engine.records.store.follow(topic, seen, take_in).await;
}

/// Loads the suppression key again when it is gone or is back, until the task is dropped.
pub(super) async fn unlock_suppressions(engine: Arc<MatchingEngine>) {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        if engine.suppressions.locked().is_none() && engine.suppressions.has_key() {
            continue;
        }
        let engine = Arc::clone(&engine);
        let load = move || engine.suppressions.load(&engine.records.store);
        match spawn_blocking(load).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => error!(%failure, "could not reload the opt-out lists"),
            Err(failure) => error!(%failure, "reloading the opt-out lists failed"),
        }
    }
}

/// Notices that the settings and the store differ in the master key.
pub(super) async fn master_key(readiness: Arc<ReadinessState>) {
    loop {
        let readiness = Arc::clone(&readiness);
        if let Err(failure) = spawn_blocking(move || readiness.look_at_key()).await {
            error!(%failure, "looking at the master key failed");
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
