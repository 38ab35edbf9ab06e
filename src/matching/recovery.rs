//! After a restart, or when a failed disk works again: every table that was pending goes on, under its original deadline,
//! through the same machine.
//!
//! What was answered stays as it was recorded. Who had not answered is asked again, by the book of the day; who has left
//! it has failed.

use std::collections::HashSet;
use std::time::Duration;

use metrics::counter;
use tracing::{error, info};
use uuid::Uuid;

use super::matchmaker::{Matchmaker, Resumed};
use crate::planted::{Planted, planted};
use crate::store::Tree;
use crate::telemetry::metrics::TABLES_RECOVERED;

/// How long a table may be without an actor because it is only now being taken in.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Resumes the pending tables that nobody sees to; returns how many. Those past their deadline complete at once, with what
/// they have.
pub async fn recover(matchmaker: &Matchmaker) -> usize {
    resume_all(matchmaker, pending(matchmaker)).await
}

/// Does that whenever the store's disk works again after a failure, for ever: an actor whose answers could not be written
/// has left its table.
pub async fn recover_when_mended(matchmaker: &Matchmaker) {
    let store = &matchmaker.engine().records.store;
    let mut waiting: HashSet<Uuid> = HashSet::new();
    loop {
        if waiting.is_empty() {
            store.until_mended().await;
        } else {
            // Whoever is not seen to now either has been left, or its actor was just being started.
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let found = pending(matchmaker);
        let (left, new) = found.into_iter().partition(|table| waiting.contains(table));
        resume_all(matchmaker, left).await;
        waiting = if waiting.is_empty() { new } else { HashSet::new() };
    }
}

fn pending(matchmaker: &Matchmaker) -> HashSet<Uuid> {
    let engine = matchmaker.engine();
    let open = engine.records.store.scan(Tree::OpenTables, []).filter_map(Result::ok);
    open.filter_map(|(key, _)| Uuid::from_slice(&key).ok())
        .filter(|table| !engine.live.has(*table) && !planted(Planted::ForgottenTables))
        .collect()
}

async fn resume_all(matchmaker: &Matchmaker, open: HashSet<Uuid>) -> usize {
    let mut recovered = 0;
    for table in open {
        match matchmaker.resume(table).await {
            Ok(Resumed::GoesOn) => recovered += 1,
            Ok(Resumed::Erased) => {}
            Err(_) => {
                error!(rate_table = %table, "a pending rate table cannot be recovered; it stays in the store as it is")
            }
        }
    }
    if recovered > 0 {
        counter!(TABLES_RECOVERED).increment(recovered as u64);
        info!(rate_tables = recovered, "pending rate tables go on");
    }
    recovered
}
