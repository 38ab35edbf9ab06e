//! `POST /reload`: what `offerd reload` calls on a running daemon; and what the console does of it.

use hyper::StatusCode;

use super::console::history;
use super::prelude::*;
use crate::reload_report::Outcome;

/// 200 with what has changed, 422 with what is wrong in the files, 500 when good files could not be taken in.
pub(super) async fn reload(context: Context<App>) -> Result<Reply, Failure> {
    let outcome = reloaded(&context.app, &Actor::of_command(&context)).await?;
    let status = match &outcome {
        Outcome::Reloaded(_) => StatusCode::OK,
        Outcome::Refused { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Outcome::Failed { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Ok(Reply::json(&outcome)?.status(status))
}

/// Takes in settings and partner files anew.
///
/// # Errors
/// That it could not be recorded, or that the daemon stops: it takes nothing in any more.
pub(super) async fn reloaded(app: &Arc<App>, actor: &Actor) -> Result<Outcome, Failure> {
    app.note(actor, note!("reload", "reload asked for")).await?;
    let outcome = app.reloader.reload().await.ok_or_else(|| Failure::overloaded(1))?;
    history::read(app).await;
    Ok(outcome)
}
