//! `POST /reload`: what `offerd reload` calls on a running daemon.

use std::sync::Arc;

use hyper::StatusCode;

use super::App;
use super::audit::{Actor, Note, audit};
use super::console::history;
use crate::reload::Outcome;
use crate::web::{Context, Failure, Reply};

/// 200 with what has changed, 422 with what is wrong in the files, 500 when good files could not be taken in.
pub(super) async fn reload(context: Context<App>) -> Result<Reply, Failure> {
    context.app.note(&Actor::of_command(&context), Note::of("reload")).await?;
    audit!(context, "reload", "reload asked for");
    // A daemon that is stopping takes nothing in any more.
    let outcome = context.app.reloader.reload().await.ok_or_else(|| Failure::overloaded(1))?;
    history::read(Arc::clone(&context.app)).await;
    let status = match &outcome {
        Outcome::Reloaded(_) => StatusCode::OK,
        Outcome::Refused { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Outcome::Failed { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Ok(Reply::json(&outcome)?.status(status))
}
