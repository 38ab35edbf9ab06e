//! `GET /partners`, `GET /partners/timing`, `POST /partners/pause`, `POST /partners/resume`: what `offerd partners` calls on a running daemon.

use std::sync::Arc;
use std::time::Duration;

use tracing::error;

use super::audit::operator;
use super::{App, pausing};
use crate::matching::pausing::Pausable;
use crate::matching::timing::{adapted, timings};
use crate::web::{Context, Failure, Reply, query};

/// Longest body of a command.
const MAX_BODY_BYTES: usize = 4096;

/// Longest time that its arrival may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    Reply::json(&context.app.engine.standings())
}

/// Reads on a thread that may block: there may be many tables.
pub(super) async fn timing(context: Context<App>) -> Result<Reply, Failure> {
    let since = query::read(&context.request, |query| query.required("since", query::integer(0..=i64::MAX)))?;
    let engine = Arc::clone(&context.app.engine);
    let reading = tokio::task::spawn_blocking(move || {
        let book = engine.book();
        adapted(timings(&engine.store, &engine.texts, &book, since), &book, &engine.paces)
    });
    Reply::json(&reading.await.map_err(|error| {
        error!(%error, "timings could not be read");
        Failure::internal()
    })?)
}

pub(super) async fn pause(mut context: Context<App>) -> Result<Reply, Failure> {
    let what = read(&mut context).await?;
    let who = operator(&context.request.headers);
    Reply::json(&pausing::pause(&context.app, &what, &who).await?)
}

pub(super) async fn resume(mut context: Context<App>) -> Result<Reply, Failure> {
    let what = read(&mut context).await?;
    let who = operator(&context.request.headers);
    Reply::json(&pausing::resume(&context.app, &what, &who).await?)
}

async fn read(context: &mut Context<App>) -> Result<Pausable, Failure> {
    let body = context.request.read_body(MAX_BODY_BYTES, BODY_TIMEOUT).await?;
    serde_json::from_slice(&body).map_err(|error| Failure::bad_request(format!("body does not fit: {error}")))
}
