//! The tables: the first start makes them on a database without them. Those of another version than [`KNOWN`] are refused.

use super::client::{Client, Connection, Failure};
use super::statements::{MAKE, VERSION};
use crate::error::StoreError;

/// The version that this build reads and writes.
pub(super) const KNOWN: i32 = 1;

/// How often making the tables is tried, where another node makes them too.
const TRIES: usize = 5;

/// The version of the tables in a database; nothing where there are none.
pub(super) fn version(client: &Client) -> Result<Option<i32>, Failure> {
    let read =
        client.ask(|connection| async move { Ok(connection.row(VERSION, &[]).await?.map(|row| row.get(0))) });
    match read {
        Err(failure) if failure.is_no_table() => Ok(None),
        read => read,
    }
}

/// Whether there are tables.
///
/// # Errors
/// That those are of another version.
pub(super) fn is_known(client: &Client) -> Result<bool, StoreError> {
    match version(client)? {
        Some(found) if found != KNOWN => Err(StoreError::Tables { found, known: KNOWN }),
        version => Ok(version.is_some()),
    }
}

/// Makes the tables.
pub(super) fn make(client: &Client) -> Result<(), Failure> {
    let mut made = Err(Failure::Conflict);
    for _ in 0..TRIES {
        made = client.ask(|connection| async move { make_on(&connection).await });
        if !matches!(made, Err(Failure::Conflict)) {
            break;
        }
    }
    made
}

/// Makes them on a connection, in the transaction that it is in.
pub(super) async fn make_on(connection: &Connection) -> Result<(), Failure> {
    for statement in MAKE {
        connection.say(statement).await?;
    }
    Ok(())
}
