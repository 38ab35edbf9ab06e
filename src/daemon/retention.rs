//! Background retention: drops or removes records past their retention while the daemon runs.

use std::time::Instant;

use tokio::runtime::Handle;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::prelude::*;
use offerd_base::config::{AuditSettings, StoreSettings};
use offerd_base::telemetry::metrics::{STORE_BYTES, STORE_VOLUMES_DROPPED, TRANSCRIPTS};
use offerd_engine::records::transcripts;
use offerd_store::audit::AuditLog;
use offerd_store::{Dropped, Expired};

/// Longest interval between two passes.
const SELDOM: Duration = Duration::from_secs(60);

/// How long one pass removes old records from a database before other work has its turn.
const AT_A_STRETCH: Duration = Duration::from_secs(20);

/// Drops old volumes, or removes old records from a database, for ever, while this process is the leader.
pub(super) async fn retain(engine: Arc<MatchingEngine>, settings: StoreSettings, audit: AuditSettings) {
    let store = &engine.records.store;
    let mut ticks = interval(settings.volume_age.min(SELDOM));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // Without leads there are no commits; this empty one lets the store begin a due volume.
        let _ = store.commit(Commit::new()).await;
        if store.is_leader() {
            remove_old(&engine, &settings, &audit).await;
        }
        metrics::gauge!(STORE_BYTES).set(store.bytes() as f64);
    }
}

/// The removals that only one of the processes sharing a store makes.
async fn remove_old(engine: &Arc<MatchingEngine>, settings: &StoreSettings, audit: &AuditSettings) {
    let store = &engine.records.store;
    match store.forget_passed_identities(store.now_ms()).await {
        Ok(0) => {}
        Ok(keys) => info!(keys, "destroyed keys of identities older than every look-back"),
        Err(failure) => error!(%failure, "could not destroy keys of identities; will retry"),
    }
    forget_transcripts(engine).await;
    prune_audit(engine, audit.keep).await;
    match settings.retention {
        Duration::ZERO => {}
        retention if store.is_shared() => expire_old(engine, retention, settings.volume_age).await,
        retention => drop_old(engine, retention).await,
    }
}

async fn forget_transcripts(engine: &MatchingEngine) {
    let kept = engine.configuration().rules.transcripts.kept;
    match transcripts::forget(&engine.records.store, kept).await {
        Ok(0) => {}
        Ok(removed) => {
            metrics::counter!(TRANSCRIPTS, "event" => "removed").increment(removed);
            info!(removed, "removed transcripts older than `transcripts.kept`");
        }
        Err(failure) => error!(%failure, "could not remove transcripts; will retry"),
    }
}

async fn prune_audit(engine: &MatchingEngine, keep: Duration) {
    let store = &engine.records.store;
    // The store's clock: a machine's clock set into the future makes no record old.
    let before_ms = store.now_ms().saturating_sub_unsigned(keep.as_millis() as u64);
    match AuditLog::of(store.clone()).prune(before_ms).await {
        Ok(0) => {}
        Ok(removed) => info!(removed, "removed audit records older than `audit.keep`"),
        Err(failure) => error!(%failure, "could not remove old audit records; will retry"),
    }
}

/// The limit before which records are too old, and the current time, in Unix milliseconds.
fn too_old(engine: &MatchingEngine, retention: Duration) -> (u64, i64) {
    let now_ms = engine.records.store.now_ms();
    (now_ms.cast_unsigned().saturating_sub(u64::try_from(retention.as_millis()).unwrap_or(u64::MAX)), now_ms)
}

/// Removes old records from a database for a while, and rests for half of that time.
async fn expire_old(engine: &Arc<MatchingEngine>, retention: Duration, every: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < AT_A_STRETCH {
        let step_begun = Instant::now();
        let (before_ms, now_ms) = too_old(engine, retention);
        let (store, runtime) = (engine.records.store.clone(), Handle::current());
        let step = move || runtime.block_on(store.expire_before(before_ms, every, now_ms));
        let step = spawn_blocking(step).await.map_err(|failure| failure.to_string());
        match step.and_then(|expired| expired.map_err(|failure| failure.to_string())) {
            Ok(Some(Expired { leads, records, is_all: true })) => {
                engine.complete.forget_all();
                info!(leads, records, "removed data older than `store.retention`");
            }
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(failure) => {
                error!(%failure, "could not remove data older than `store.retention`; will retry");
                return;
            }
        }
        sleep(step_begun.elapsed()).await;
    }
}

async fn drop_old(engine: &MatchingEngine, retention: Duration) {
    let store = &engine.records.store;
    loop {
        let (before_ms, now_ms) = too_old(engine, retention);
        let dropped = store.drop_before(before_ms, now_ms).await;
        if !matches!(dropped, Ok(None)) {
            engine.complete.forget_all();
        }
        match dropped {
            Ok(Some(Dropped { volume, leads, records, bytes })) => {
                metrics::counter!(STORE_VOLUMES_DROPPED).increment(1);
                info!(volume, leads, records, bytes, "dropped volumes older than `store.retention`");
            }
            Ok(None) => return,
            Err(failure) => {
                error!(%failure, "could not drop volumes older than `store.retention`; will retry");
                return;
            }
        }
    }
}
