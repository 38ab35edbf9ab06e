//! The schema: the first start creates the tables. Tables of another version than [`KNOWN`] are refused.

use super::client::{Client, Connection, DatabaseFailure, DatabaseResult};
use super::statements::{MAKE, VERSION};
use crate::error::StoreError;

/// The schema version that this build reads and writes.
pub(super) const KNOWN: i32 = 1;

/// Attempts to create the tables, in case another node does so at the same time.
const TRIES: usize = 5;

pub(super) fn version(client: &Client) -> DatabaseResult<Option<i32>> {
    let read =
        client.ask(|connection| async move { Ok(connection.row(VERSION, &[]).await?.map(|row| row.get(0))) });
    match read {
        Err(failure) if failure.is_no_table() => Ok(None),
        read => read,
    }
}

pub(super) fn is_known(client: &Client) -> Result<bool, StoreError> {
    match version(client)? {
        Some(found) if found != KNOWN => Err(StoreError::Tables { found, known: KNOWN }),
        version => Ok(version.is_some()),
    }
}

pub(super) fn make(client: &Client) -> DatabaseResult<()> {
    let mut made = Err(DatabaseFailure::Conflict);
    for _ in 0..TRIES {
        made = client.ask(|connection| async move { make_on(&connection).await });
        if !matches!(made, Err(DatabaseFailure::Conflict)) {
            break;
        }
    }
    made
}

pub(super) async fn make_on(connection: &Connection) -> DatabaseResult<()> {
    for statement in MAKE {
        connection.say(statement).await?;
    }
    Ok(())
}
