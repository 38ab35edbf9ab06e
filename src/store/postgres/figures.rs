//! What can be said of a database without opening the store in it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::client::{Client, Failure};
use super::keys::DatabaseKeys;
use super::schema;
use super::statements::CLOCK;
use crate::store::sealing::key_place::KeyPlace;

/// How a database answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFigures {
    /// The version of the tables.
    pub version: i32,
    /// The version that this build reads.
    pub known: i32,
    /// How long one answer took.
    pub round_trip: Duration,
    /// How far this machine's clock is ahead of the database's, in ms, as exactly as half of that.
    pub clock_ahead_ms: i64,
    /// The id of the master key that the keys of the store are sealed with; nothing where there are none yet.
    pub sealed_with: Option<String>,
}

/// Asks a database; nothing where it has no tables yet.
pub(super) fn ask(client: &Arc<Client>) -> Result<Option<DatabaseFigures>, Failure> {
    let Some(version) = schema::version(client)? else { return Ok(None) };
    let begun = Instant::now();
    let theirs_ms: i64 = client.ask(|pool| async move {
        let connection = Client::connection(&pool).await?;
        Ok(connection.query_one(CLOCK, &[]).await?.get(0))
    })?;
    let round_trip = begun.elapsed();
    let ours = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() - round_trip / 2;
    let ours_ms = i64::try_from(ours.as_millis()).unwrap_or(i64::MAX);
    let keys = DatabaseKeys::of(Arc::clone(client), Arc::default());
    Ok(Some(DatabaseFigures {
        sealed_with: keys.sealed_with().ok(),
        version,
        known: schema::KNOWN,
        round_trip,
        clock_ahead_ms: ours_ms - theirs_ms,
    }))
}
