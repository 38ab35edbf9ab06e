//! `DELETE /leads/{uuid}`, `GET /leads/{uuid}`, `GET /leads/{uuid}/explanation` for `offerd lead erase`,
//! `offerd lead export` and `offerd explain UUID`.
//!
//! As with [persons](super::erasing), the audit has a record before an erasure (`lead.erase`) and one after
//! it (`lead.erased`): without the second, the lead may not be erased.

use tokio::runtime::Handle;

use super::persons::{begun, failed};
use super::prelude::*;
use super::reports;
use offerd_engine::records::reading::{self, LeadState};
use offerd_insight::hindsight::explanation::explanation;
use offerd_insight::persons::request::PersonRequestError;
use offerd_insight::persons::{dossier, erasure};

pub(super) async fn erase(context: Context) -> Result<Reply> {
    let lead = context.params.uuid("uuid")?;
    let by = by(&context);
    let erasure = seen_through(&context.app, "a lead could not be erased", async move |app| {
        let runtime = Handle::current();
        known(&app, lead)?;
        reports::settle(&app).await;
        app.note(&by, note!("lead.erase").about(lead)).await?;
        let tags = app.settings().reports.tags.clone();
        let erasure = found(&app, lead, move |engine| runtime.block_on(erasure::erase(engine, lead, &tags)));
        let erasure = erasure.await.map_err(begun)?;
        app.note_if_can(&by, note!("lead.erased").about(lead)).await;
        audit_by!(&by.who, "lead.erase", %lead, "personal data of a lead erased");
        Ok(erasure)
    });
    Reply::json(&erasure.await?)
}

pub(super) async fn export(context: Context) -> Result<Reply> {
    let lead = context.params.uuid("uuid")?;
    let by = by(&context);
    let dossier = seen_through(&context.app, "the data of a lead could not be read", async move |app| {
        let dossier = found(&app, lead, move |engine| dossier::dossier(engine, lead)).await?;
        app.note(&by, note!("lead.export", %lead, "personal data of a lead exported").about(lead)).await?;
        Ok(dossier)
    });
    Reply::json(&dossier.await?)
}

/// Explains a lead, or a rate table by its UUID or an offer's; evaluates every rule of the book.
pub(super) async fn explain(context: Context) -> Result<Reply> {
    let uuid = context.params.uuid("uuid")?;
    let explain = move |engine: &MatchingEngine| explanation(&engine.records, &engine.book(), uuid);
    Reply::json(&found(&context.app, uuid, explain).await?)
}

/// Checks that the lead or its key exists: nothing is recorded for an erasure that does not happen.
fn known(app: &AdminState, lead: Uuid) -> Result<()> {
    match reading::lead_state(&app.store, lead) {
        Ok(LeadState::Whole(_) | LeadState::Damaged) => Ok(()),
        Ok(LeadState::Nothing) => Err(Failure::unknown_uuid("Lead", lead)),
        Err(unread) => Err(failed(app, unread.into())),
    }
}

async fn found<T: Send + 'static, E: Into<PersonRequestError> + Send + 'static>(
    app: &Arc<AdminState>,
    lead: Uuid,
    look: impl FnOnce(&MatchingEngine) -> Result<Option<T>, E> + Send + 'static,
) -> Result<T> {
    let looked = app.reading("the data of a lead could not be read", |app| look(&app.engine)).await?;
    let looked = looked.map_err(|failure| failed(app, failure.into()))?;
    looked.ok_or_else(|| Failure::unknown_uuid("Lead", lead))
}
