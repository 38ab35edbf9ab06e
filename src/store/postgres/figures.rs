//! Checking a database without opening the store in it.

use std::sync::Arc;
use std::time::Instant;

use uuid::Uuid;

use super::client::{Client, Connection, DatabaseResult};
use super::keys::DatabaseKeys;
use super::schema;
use super::statements::{
    BEGIN, CHANGE_TOPICS, CLOCK, FOLLOW, FORGET_NODES, HUNG_TRANSACTIONS, JOIN, PUT, PUT_KEYS, REMOVE, RENEW,
    ROLLBACK, end_hung_transactions_after,
};
use crate::cluster::DatabaseStatus;
use crate::sealing::key_place::KeyPlace;

/// The result of probing a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFigures {
    /// The schema version of the tables.
    pub version: i32,
    /// The schema version that this build supports.
    pub known: i32,
    /// How it answered.
    pub status: DatabaseStatus,
    /// Whether each connection has a session of its own; false behind a pooler in transaction mode.
    pub keeps_sessions: bool,
    /// The id of the master key that seals the store's keys; `None` if there are no keys yet.
    pub sealed_with: Option<String>,
}

/// Tries every kind of write that a start needs and rolls it back; `None` if there are no tables yet.
pub(super) fn ask(client: &Arc<Client>) -> DatabaseResult<Option<DatabaseFigures>> {
    let version = schema::version(client)?;
    if version.is_none_or(|version| version == schema::KNOWN) {
        client.ask(move |connection| async move {
            connection.say(BEGIN).await?;
            let tried = match version {
                Some(_) => write(&connection).await,
                None => schema::make_on(&connection).await,
            };
            connection.say(ROLLBACK).await?;
            tried
        })?;
    }
    let Some(version) = version else { return Ok(None) };
    let begun = Instant::now();
    let theirs_ms = client.ask(|connection| async move { Ok(connection.one(CLOCK, &[]).await?.get(0)) })?;
    let status = DatabaseStatus::of(begun.elapsed(), theirs_ms);
    let keys = DatabaseKeys::of(Arc::clone(client), Arc::default());
    let pool = client.pool.clone();
    let keeps_sessions = client.wait_for(async move {
        keeps_sessions(Client::connection(&pool).await?, Client::connection(&pool).await?).await
    })?;
    let (known, sealed_with) = (schema::KNOWN, keys.sealed_with().ok());
    Ok(Some(DatabaseFigures { version, known, status, keeps_sessions, sealed_with }))
}

/// Whether two connections keep different settings. A pooler in transaction mode gives both the same session.
async fn keeps_sessions(one: Connection, two: Connection) -> DatabaseResult<bool> {
    one.say(&end_hung_transactions_after(60_001)).await?;
    two.say(&end_hung_transactions_after(60_002)).await?;
    let of_one: String = one.one(HUNG_TRANSACTIONS, &[]).await?.get(0);
    let of_two: String = two.one(HUNG_TRANSACTIONS, &[]).await?.get(0);
    Ok(of_one != of_two)
}

async fn write(connection: &Connection) -> DatabaseResult<()> {
    let (nobody, lease, told) = (Uuid::nil().as_bytes().to_vec(), 0.0_f64, "");
    let (keys, values, topics) = (Vec::<Vec<u8>>::new(), Vec::<Vec<u8>>::new(), Vec::<i16>::new());
    connection.change(JOIN, &[&nobody, &nobody, &lease, &told]).await?;
    connection.change(RENEW, &[&nobody, &lease, &told]).await?;
    connection.change(FORGET_NODES, &[]).await?;
    connection.change(FOLLOW, &[&nobody, &nobody]).await?;
    connection.change(CHANGE_TOPICS, &[&topics]).await?;
    connection.change(PUT, &[&keys, &values]).await?;
    connection.change(REMOVE, &[&keys]).await?;
    connection.change(PUT_KEYS, &[&nobody, &-1_i64]).await?;
    Ok(())
}
