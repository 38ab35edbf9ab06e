//! Callbacks that come when their ask has ended.

use metrics::counter;
use tracing::info;
use uuid::Uuid;

use super::engine::Engine;
use crate::records::{Unavailable, reading};
use crate::telemetry::metrics::LATE_ANSWERS;

/// Whether an id was that of an ask of ours, which has ended; it is counted as a late answer then.
///
/// # Errors
/// [`Unavailable`], once reported, when that cannot be read.
pub fn is_late(engine: &Engine, id: Uuid) -> Result<bool, Unavailable> {
    let Some(table) = reading::table_of_callback(&engine.records, id)? else { return Ok(false) };
    counter!(LATE_ANSWERS).increment(1);
    info!(rate_table = %table, "a partner called back when its ask had ended");
    Ok(true)
}
