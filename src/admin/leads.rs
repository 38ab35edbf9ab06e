//! `DELETE /leads/{uuid}`, `GET /leads/{uuid}`, `GET /leads/{uuid}/explanation`: what `offerd lead erase`, `offerd lead export`
//! and `offerd explain UUID` call.
//!
//! As with [persons](super::erasing), the audit has a record before an erasure (`lead.erase`) and one behind it (`lead.erased`): where the
//! second is missing, the lead may not be erased.

use std::sync::Arc;

use tokio::runtime::Handle;
use uuid::Uuid;

use super::App;
use super::audit::{Actor, Note, audit_by};
use super::command::{blocking, seen_through, unavailable};
use super::reports;
use crate::hindsight::explanation::explanation;
use crate::persons::{dossier, erasure};
use crate::records::Unavailable;
use crate::records::reading::{self, Held};
use crate::web::{Context, Failure, Reply};

const UNAVAILABLE: &str = "the store cannot be read or written; the log tells why";

pub(super) async fn erase(context: Context<App>) -> Result<Reply, Failure> {
    let lead = context.params.uuid("uuid")?;
    let (app, by) = (Arc::clone(&context.app), Actor::of_command(&context));
    let erasure = seen_through(&context.app, "a lead could not be erased", async move {
        let (engine, runtime) = (Arc::clone(&app.engine), Handle::current());
        known(&app, lead)?;
        reports::settle(&app).await;
        app.note(&by, Note::of("lead.erase").about(lead)).await?;
        let erasure = found(lead, move || runtime.block_on(erasure::erase(&engine, lead))).await?;
        app.note_if_can(&by, Note::of("lead.erased").about(lead)).await;
        audit_by!(&by.who, "lead.erase", %lead, "personal data of a lead erased");
        Ok(erasure)
    });
    Reply::json(&erasure.await?)
}

pub(super) async fn export(context: Context<App>) -> Result<Reply, Failure> {
    let lead = context.params.uuid("uuid")?;
    let (app, by) = (Arc::clone(&context.app), Actor::of_command(&context));
    let dossier = seen_through(&context.app, "what is held on a lead could not be read", async move {
        let engine = Arc::clone(&app.engine);
        let dossier = found(lead, move || dossier::dossier(&engine, lead)).await?;
        app.note(&by, Note::of("lead.export").about(lead)).await?;
        audit_by!(&by.who, "lead.export", %lead, "personal data of a lead exported");
        Ok(dossier)
    });
    Reply::json(&dossier.await?)
}

/// Explains a lead, or a rate table by its own uuid or an offer's: every rule of the book is walked.
pub(super) async fn explain(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let engine = Arc::clone(&context.app.engine);
    let explain = move || explanation(&engine.records, &engine.book(), uuid);
    Reply::json(&found(uuid, explain).await?)
}

/// That there is such a lead, or its key: what is not done is not recorded.
fn known(app: &App, lead: Uuid) -> Result<(), Failure> {
    match reading::held(&app.store, lead) {
        Ok(Held::Whole(_) | Held::Damaged) => Ok(()),
        Ok(Held::Nothing) => Err(Failure::unknown_uuid("Lead", lead)),
        Err(Unavailable) => Err(unavailable(UNAVAILABLE.to_owned())),
    }
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
