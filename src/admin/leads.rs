//! `DELETE /leads/{uuid}`, `GET /leads/{uuid}`, `GET /leads/{uuid}/explanation`: what `offerd lead erase`, `offerd lead export`
//! and `offerd explain UUID` call on a running daemon.

use std::sync::Arc;

use tokio::runtime::Handle;
use tracing::error;
use uuid::Uuid;

use super::App;
use super::audit::{audit_by, operator};
use crate::matching::explanation::explanation;
use crate::matching::{Unavailable, dossier, erasure};
use crate::web::{Context, Failure, Reply};

/// Seconds after which the command may be given again when the store cannot be read or written.
const RETRY_AFTER_S: u32 = 5;

pub(super) async fn erase(context: Context<App>) -> Result<Reply, Failure> {
    let lead = context.params.uuid("uuid")?;
    let who = operator(&context.request.headers);
    let engine = Arc::clone(&context.app.engine);
    let runtime = Handle::current();
    let erasure = found(lead, move || runtime.block_on(erasure::erase(&engine, lead))).await?;
    told("lead.erase", lead, &who);
    Reply::json(&erasure)
}

pub(super) async fn export(context: Context<App>) -> Result<Reply, Failure> {
    let lead = context.params.uuid("uuid")?;
    let who = operator(&context.request.headers);
    let engine = Arc::clone(&context.app.engine);
    let dossier = found(lead, move || dossier::dossier(&engine, lead)).await?;
    told("lead.export", lead, &who);
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

/// Notes in the log who did what with a person's data.
pub fn told(action: &'static str, lead: Uuid, who: &str) {
    audit_by!(who, action, %lead, "personal data of a lead");
}
