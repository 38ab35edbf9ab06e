//! `DELETE /leads/{uuid}`, `GET /leads/{uuid}`, `GET /leads/{uuid}/explanation`: what `offerd lead erase`, `offerd lead export`
//! and `offerd explain UUID` call.

use std::sync::Arc;

use tokio::runtime::Handle;
use uuid::Uuid;

use super::App;
use super::audit::{Actor, Note, audit};
use super::command::{blocking, unavailable};
use crate::hindsight::explanation::explanation;
use crate::persons::{dossier, erasure};
use crate::records::{Unavailable, reading};
use crate::web::{Context, Failure, Reply};

const UNAVAILABLE: &str = "the store cannot be read or written; the log tells why";

pub(super) async fn erase(context: Context<App>) -> Result<Reply, Failure> {
    let lead = context.params.uuid("uuid")?;
    let engine = Arc::clone(&context.app.engine);
    let runtime = Handle::current();
    known(&context.app, lead)?;
    context.app.note(&Actor::of_command(&context), Note::of("lead.erase").about(lead)).await?;
    let erasure = found(lead, move || runtime.block_on(erasure::erase(&engine, lead))).await?;
    audit!(context, "lead.erase", %lead, "personal data of a lead erased");
    Reply::json(&erasure)
}

pub(super) async fn export(context: Context<App>) -> Result<Reply, Failure> {
    let lead = context.params.uuid("uuid")?;
    let engine = Arc::clone(&context.app.engine);
    let dossier = found(lead, move || dossier::dossier(&engine, lead)).await?;
    context.app.note(&Actor::of_command(&context), Note::of("lead.export").about(lead)).await?;
    audit!(context, "lead.export", %lead, "personal data of a lead exported");
    Reply::json(&dossier)
}

/// Explains a lead, or a rate table by its own uuid or an offer's: every rule of the book is walked.
pub(super) async fn explain(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let engine = Arc::clone(&context.app.engine);
    let explain = move || explanation(&engine.records, &engine.book(), uuid);
    Reply::json(&found(uuid, explain).await?)
}

/// That there is such a lead: what is not done is not recorded.
fn known(app: &App, lead: Uuid) -> Result<(), Failure> {
    let found = reading::lead(&app.store, lead);
    let found = found.map_err(|_| unavailable(UNAVAILABLE.to_owned()))?;
    found.map(drop).ok_or_else(|| Failure::unknown_uuid("Lead", lead))
}

/// What was found of a lead. It is looked for on a thread that may block: the feeds may be long.
async fn found<T: Send + 'static>(
    lead: Uuid,
    look: impl FnOnce() -> Result<Option<T>, Unavailable> + Send + 'static,
) -> Result<T, Failure> {
    let looked = blocking("what is held on a lead could not be read", look).await?;
    let found = looked.map_err(|_| unavailable(UNAVAILABLE.to_owned()))?;
    found.ok_or_else(|| Failure::unknown_uuid("Lead", lead))
}
