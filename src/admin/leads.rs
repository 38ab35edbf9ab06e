//! `DELETE /leads/{uuid}`, `GET /leads/{uuid}`, `GET /leads/{uuid}/explanation`: what `offerd lead erase`, `offerd lead export`
//! and `offerd explain UUID` call on a running daemon.

use std::sync::Arc;

use tokio::runtime::Handle;
use tracing::{error, info};
use uuid::Uuid;

use super::App;
use crate::matching::explanation::explanation;
use crate::matching::{Unavailable, dossier, erasure};
use crate::telemetry::logging::AUDIT;
use crate::web::{Context, Failure, Reply, query};

/// Seconds after which the command may be given again when the store cannot be read or written.
const RETRY_AFTER_S: u32 = 5;

/// Longest name of who gives a command.
const BY_BYTES: usize = 100;

pub(super) async fn erase(context: Context<App>) -> Result<Reply, Failure> {
    let lead = context.params.uuid("uuid")?;
    let by = by(&context)?;
    let engine = Arc::clone(&context.app.engine);
    let runtime = Handle::current();
    let erasure = found(lead, move || runtime.block_on(erasure::erase(&engine, lead))).await?;
    told("lead erased", lead, &by);
    Reply::json(&erasure)
}

pub(super) async fn export(context: Context<App>) -> Result<Reply, Failure> {
    let lead = context.params.uuid("uuid")?;
    let by = by(&context)?;
    let engine = Arc::clone(&context.app.engine);
    let dossier = found(lead, move || dossier::dossier(&engine, lead)).await?;
    told("lead exported", lead, &by);
    Reply::json(&dossier)
}

/// Explains a lead, or a rate table by its own uuid or an offer's: every rule of the book is walked.
pub(super) async fn explain(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let engine = Arc::clone(&context.app.engine);
    let explain = move || explanation(&engine.store, &engine.texts, &engine.book(), uuid);
    Reply::json(&found(uuid, explain).await?)
}

/// What was found of a lead. It is looked for on a thread that may block: the feeds may be long.
async fn found<T: Send + 'static>(
    lead: Uuid,
    look: impl FnOnce() -> Result<Option<T>, Unavailable> + Send + 'static,
) -> Result<T, Failure> {
    let looked = tokio::task::spawn_blocking(look).await.map_err(|error| {
        error!(%error, "what is held on a lead could not be read");
        Failure::internal()
    })?;
    let found = looked.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    found.ok_or_else(|| Failure::unknown_uuid("Lead", lead))
}

/// Who gives the command.
pub(super) fn by(context: &Context<App>) -> Result<String, Failure> {
    let by = query::read(&context.request, |query| query.required("by", query::text))?;
    Ok(by.chars().filter(|letter| !letter.is_control()).take(BY_BYTES).collect())
}

/// Notes in the log who did what with a person's data.
pub fn told(action: &'static str, lead: Uuid, by: &str) {
    info!(target: AUDIT, action, %lead, by, "audit");
}
