//! What becomes of a partner's call: taken by the ask that waits for it, told when it cannot be read, or late.

use uuid::Uuid;

use super::callbacks::{Called, Delivery};
use super::engine::Engine;
use super::failure_log::Failed;
use super::late_callback;
use crate::rate_table::cause::Cause;
use crate::records::{Unavailable, reading};

/// The word of the log for a call that cannot be read.
const UNREADABLE: &str = "unreadable_callback";

/// What became of a call.
#[derive(Debug)]
pub enum Received {
    /// It was taken in.
    Taken,
    /// It cannot be read, and the partner may call again: what is wrong with it, without what it says.
    Unreadable(String),
    /// It is not signed as the partner's file wants it.
    Unsigned,
    /// One was taken before.
    Again,
    /// Its ask has ended.
    Late,
    /// No ask ever had its address.
    Unknown,
}

/// Gives a call to the ask that its address is of. Once it is taken it is on the disk.
///
/// # Errors
/// [`Unavailable`], once reported, when it cannot be read whose address it was.
pub async fn receive(engine: &Engine, id: Uuid, called: Called) -> Result<Received, Unavailable> {
    Ok(match engine.callbacks.deliver(id, called.clone()).await {
        Delivery::Taken => Received::Taken,
        Delivery::Unsigned => Received::Unsigned,
        Delivery::Again => Received::Again,
        Delivery::Unreadable { seat, told, located } => {
            engine.statistics.failures.note(&Failed {
                partner: &seat.identity.key,
                product_type: seat.product_type,
                rate_table: reading::table_of_callback(&engine.records, id)?.unwrap_or_default(),
                word: UNREADABLE,
                cause: Some(&Cause::new(located)),
            });
            Received::Unreadable(told)
        }
        Delivery::Nobody => match reading::table_of_callback(&engine.records, id)? {
            Some(table) => {
                late_callback::note(engine, table, id, &called).await?;
                Received::Late
            }
            None => Received::Unknown,
        },
    })
}
