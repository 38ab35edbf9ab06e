//! After a restart: every table that was pending goes on, under its original deadline, through the same machine.
//!
//! What was answered stays as it was recorded. Who had not answered is asked again, by the book of the day; who has left
//! it has failed.

use metrics::counter;
use tracing::{error, info};
use uuid::Uuid;

use super::matchmaker::{Matchmaker, Resumed};
use crate::planted::{Planted, planted};
use crate::store::Tree;
use crate::telemetry::metrics::TABLES_RECOVERED;

/// Resumes the pending tables; returns how many. Those past their deadline complete at once, with what they have.
pub async fn recover(matchmaker: &Matchmaker) -> usize {
    let store = &matchmaker.engine().store;
    let open: Vec<Uuid> = store
        .scan(Tree::OpenTables, [])
        .filter_map(Result::ok)
        .filter_map(|(key, _)| Uuid::from_slice(&key).ok())
        .filter(|_| !planted(Planted::ForgottenTables))
        .collect();

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
