//! `POST /leads/rateTables`, `POST /blocking/leads/rateTables`, `POST /leads/{leadUuid}/rateTables`,
//! `GET /originator/rateTables/{uuid}`

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue};

use super::submission::{RETRY_AFTER_OVERLOAD_S, read_lead_or_nothing, read_submission, refused};
use super::waiting::{held_version, preferred_wait};
use crate::http::App;
use crate::matching::{Growth, Snapshot, Until};
use crate::model::Timestamp;
use crate::telemetry::traces::TraceContext;
use crate::web::{Context, Failure, Reply};

/// Seconds between polls of a pending rate table (facts, How a real client behaves).
const POLL_EVERY_S: u32 = 1;

/// When a pending rate table will be complete at the latest.
const TABLE_DEADLINE: HeaderName = HeaderName::from_static("table-deadline");

/// Takes a lead; answers with the partners that answer at once.
pub async fn submit(context: Context<App>) -> Result<Reply, Failure> {
    take_in(context, Until::Prompt).await
}

/// Takes a lead; answers when all partners have.
pub async fn submit_blocking(context: Context<App>) -> Result<Reply, Failure> {
    take_in(context, Until::Settled).await
}

/// Builds a new table for a lead of the caller's company, into which the body is merged; by a publishable token only for a
/// while after the lead was made.
pub async fn submit_again(mut context: Context<App>) -> Result<Reply, Failure> {
    let lead = context.params.uuid("leadUuid")?;
    let later = read_lead_or_nothing(&mut context).await?;
    let caller = context.caller()?;
    let growth = Growth {
        viewer: caller.viewer(),
        lead,
        later: &later,
        made_since: context.app.mergeable_since(caller),
    };
    let trace = TraceContext::of_request(&context.request.headers);
    let (matchmaker, permit) = (&context.app.matchmaker, context.request.permit);
    let submitted = matchmaker.submit_again(growth, trace.as_ref(), permit, Until::Prompt).await;
    let snapshot = submitted.map_err(refused)?.ok_or_else(|| Failure::unknown_uuid("Lead", lead))?;
    Ok(reply(&context.app, snapshot))
}

/// Shows a rate table of the caller's company. Who holds it complete is told so without it being put together again.
pub async fn show(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let viewer = context.caller()?.viewer();
    let held = held_version(&context.request.headers, context.app.fingerprint);
    match held.filter(|version| context.app.matchmaker.is_complete_at(viewer, uuid, *version)) {
        // The tag is the one that the client sent, so it gets the tag and no body.
        Some(version) => Ok(tagged(&context.app, version, Bytes::new())),
        None => show_whole(context).await,
    }
}

/// Shows a rate table whatever the client holds of it. A client that prefers to wait gets it as soon as it is not what the
/// client holds any more; one that holds nothing is answered at once.
pub async fn show_whole(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let viewer = context.caller()?.viewer();
    let matchmaker = &context.app.matchmaker;
    let headers = &context.request.headers;
    let found = match (preferred_wait(headers), held_version(headers, context.app.fingerprint)) {
        (Some(wait), Some(version)) => matchmaker.changed_rate_table(viewer, uuid, version, wait).await,
        _ => matchmaker.rate_table(viewer, uuid).await,
    };
    let found = found.map_err(|_| Failure::unreadable(RETRY_AFTER_OVERLOAD_S))?;
    let snapshot = found.ok_or_else(|| Failure::unknown_uuid("RateTable", uuid))?;
    Ok(reply(&context.app, snapshot))
}

async fn take_in(mut context: Context<App>, until: Until) -> Result<Reply, Failure> {
    let submission = read_submission(&mut context).await?;
    let snapshot = context.app.matchmaker.submit(submission, until).await.map_err(refused)?;
    Ok(reply(&context.app, snapshot))
}

/// A rate table, with a tag that changes whenever it does, and while it is pending when to come again.
fn reply(app: &App, snapshot: Snapshot) -> Reply {
    let reply = tagged(app, snapshot.version, snapshot.json);
    if !snapshot.pending {
        return reply;
    }
    let deadline = Timestamp::from_millis(snapshot.deadline).unwrap_or_default().to_string();
    let deadline = HeaderValue::try_from(deadline).expect("an instant is visible ASCII");
    reply.retry_after(POLL_EVERY_S).header(TABLE_DEADLINE, deadline)
}

/// A rate table of a version, kept by the client alone and asked about each time.
fn tagged(app: &App, version: u32, json: Bytes) -> Reply {
    let tag = format!("{version}-{:08x}", app.fingerprint);
    Reply::json_bytes(json).etag(tag).header(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"))
}
