//! `GET /leads/{uuid}/explanation`: what `offerd explain UUID` calls on a running daemon.

use std::sync::Arc;

use tracing::error;

use super::App;
use crate::matching::explanation::explanation;
use crate::web::{Context, Failure, Reply};

/// Seconds after which it may be tried again when the store cannot be read.
const RETRY_AFTER_S: u32 = 5;

/// Explains a lead, or a rate table by its own uuid or an offer's. On a thread that may block: every rule of the book is
/// walked.
pub(super) async fn explain(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let engine = Arc::clone(&context.app.engine);
    let explaining =
        tokio::task::spawn_blocking(move || explanation(&engine.store, &engine.texts, &engine.book(), uuid));
    let explained = explaining.await.map_err(|error| {
        error!(%error, "a lead could not be explained");
        Failure::internal()
    })?;
    let explained = explained.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    Reply::json(&explained.ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?)
}
