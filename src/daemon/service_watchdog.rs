//! The service manager's watchdog: fed only after a small durable write, so a daemon whose disk hangs or has
//! failed is restarted.

use tokio::time::{MissedTickBehavior, interval, timeout};

use super::prelude::*;
use offerd_store::{CommitError, Tree};

/// Writes within the watchdog's time limit.
const BEATS: u32 = 3;

/// Key of the time of the last write, of each process that shares the store.
const HEARTBEAT: &[u8] = b"heartbeat";

/// Calls `alive` after each write that was durable in time, until the store is closed.
pub async fn watch(store: Store, within: Duration, mut alive: impl FnMut()) {
    let mut beats = interval(within / BEATS);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beats.tick().await;
        match timeout(within, beat(&store)).await {
            Ok(Ok(())) => alive(),
            Ok(Err(CommitError::Closed)) => return,
            Ok(Err(error)) => {
                error!(%error, "a write failed, so offerd no longer pings the service manager's watchdog");
            }
            Err(_) => {
                let within_ms = within.as_millis();
                error!(within_ms, "a write was not durable in time, so offerd no longer pings the watchdog");
            }
        }
    }
}

async fn beat(store: &Store) -> Result<(), CommitError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    store.commit(Commit::new().put(Tree::Meta, store.own_key(HEARTBEAT), now_ms.to_be_bytes())).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use offerd_store::StoreOptions;

    const WITHIN: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn it_is_told_as_long_as_the_store_writes() {
        let directory = tempfile::tempdir().unwrap();
        let options = StoreOptions::new(directory.path());
        let store = Store::open_inline_with(&options).unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&told);
        let watching = tokio::spawn(watch(store.clone(), WITHIN, move || {
            counted.fetch_add(1, Ordering::SeqCst);
        }));

        tokio::time::sleep(2 * WITHIN).await;
        assert_eq!(told.load(Ordering::SeqCst), 6, "at once, and three times in each period");
        assert!(store.get(Tree::Meta, HEARTBEAT).unwrap().is_some());

        options.sync_fault.set(true);
        tokio::time::sleep(2 * WITHIN).await;
        assert_eq!(told.load(Ordering::SeqCst), 6, "silent, since nothing becomes durable");
        options.sync_fault.set(false);
        tokio::time::sleep(2 * WITHIN).await;
        assert_eq!(told.load(Ordering::SeqCst), 6, "a store that has failed stays failed");

        // Writes after a failure may not be on the disk, so closing reports it.
        assert!(store.close().is_err());
        watching.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_hangs_is_late() {
        let directory = tempfile::tempdir().unwrap();
        let options = StoreOptions::new(directory.path());
        let store = Store::open(options.clone()).unwrap();
        options.sync_fault.hang(true);
        assert!(timeout(WITHIN, beat(&store)).await.is_err(), "it is late");

        options.sync_fault.hang(false);
        // The writer uses real time.
        tokio::time::resume();
        assert_eq!(timeout(WITHIN, beat(&store)).await, Ok(Ok(())));
        store.close().unwrap();
    }
}
