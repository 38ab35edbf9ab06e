//! Waiting for the key of who asked to be left alone, where it cannot be used.

use std::sync::Arc;
use std::time::Duration;

use crate::matching::Engine;

/// Between two looks for a key that could not be used.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Takes the key of who asked to be left alone in again when it is back, until the task is dropped.
pub async fn unlock_when_back(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        if engine.suppressions.locked().is_none() {
            continue;
        }
        let engine = Arc::clone(&engine);
        let load = move || engine.suppressions.load(&engine.records.store);
        match tokio::task::spawn_blocking(load).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => {
                tracing::error!(%failure, "the lists of who is left alone could not be read again");
            }
            Err(failure) => {
                tracing::error!(%failure, "reading the lists of who is left alone again has failed");
            }
        }
    }
}
