//! `POST /reload` for `offerd reload` on a running daemon, and reloads by the console.

use super::console::history;
use super::prelude::*;
use crate::reload_report::ReloadOutcome;

/// 200 with the changes, 422 with the faults of the files, 500 when valid files could not be applied.
pub(super) async fn reload(context: Context) -> Result<Reply> {
    let outcome = reload_files(&context.app, &by(&context)).await?;
    let status = match &outcome {
        ReloadOutcome::Reloaded(_) => StatusCode::OK,
        ReloadOutcome::Refused { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        ReloadOutcome::Failed { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Ok(Reply::json(&outcome)?.status(status))
}

/// Reloads settings and partner files. Fails when it cannot be audited, or the daemon is stopping.
pub(super) async fn reload_files(app: &Arc<AdminState>, actor: &AuditActor) -> Result<ReloadOutcome> {
    app.note(actor, note!("reload", "reload asked for")).await?;
    let outcome = app.reloader.reload().await.ok_or_else(|| Failure::overloaded(1))?;
    app.note_if_can(actor, note!("reload.outcome").about(outcome.summary())).await;
    history::read(app).await;
    Ok(outcome)
}
