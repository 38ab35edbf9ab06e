//! `POST /leads/rateTables`, `POST /blocking/leads/rateTables`, `POST /leads/{leadUuid}/rateTables`,
//! `GET /originator/rateTables/{uuid}`

use hyper::header::{CACHE_CONTROL, HeaderName};

use super::prefer::preferred_wait;
use super::submission::{
    RETRY_AFTER_OVERLOAD_S, answered, idempotency_key, read_lead_or_nothing, read_submission, refused,
    to_merge,
};
use crate::prelude::*;
use offerd_base::telemetry::traces::TraceContext;
use offerd_engine::matching::{Generation, Polled, TableSnapshot, Until, showing};
use offerd_model::Timestamp;
use offerd_web::{Edition, HeldTags, RenditionName, Renditions, SECRET};

/// Seconds between polls of a pending rate table.
const POLL_EVERY_S: u32 = 1;

const TABLE_DEADLINE: HeaderName = HeaderName::from_static("table-deadline");

const TABLE_EVENTS: HeaderName = HeaderName::from_static("table-events");

/// Accepts a lead; answers with the offers that are available at once or, with `Prefer: wait`, by then.
pub async fn submit(context: Context<ApiState>) -> Answer {
    let until = until(&context.request.headers);
    accept_lead(context, until).await
}

/// Accepts a lead; answers when all partners have answered.
pub async fn submit_blocking(context: Context<ApiState>) -> Answer {
    accept_lead(context, Until::Complete).await
}

/// Merges the body into a lead of the caller's company and builds a new table for it; with a publishable
/// token only for a limited time after the lead's creation.
pub async fn submit_again(mut context: Context<ApiState>) -> Answer {
    let lead = context.params.uuid("leadUuid")?;
    let attributes = read_lead_or_nothing(&mut context).await?;
    let key = idempotency_key(&context, &format!("submit {lead}"), &attributes)?;
    let merge = to_merge(&context, lead, &attributes)?;
    let headers = &context.request.headers;
    let (trace, until) = (TraceContext::of_request(headers), until(headers));
    let permit = std::mem::take(&mut context.request.permit);
    let matchmaker = &context.app.matchmaker;
    let since = matchmaker.engine().complete.generation();
    let submitted = matchmaker.submit_again(merge, key.as_ref(), trace.as_ref(), permit, until).await;
    let submitted = submitted.map_err(refused)?.ok_or_else(|| Failure::unknown_uuid("Lead", lead))?;
    answered(submitted, |snapshot| Ok(to_submit(&context, snapshot, since)))
}

/// Shows a rate table of the caller's company, or 304; with `Prefer: wait`, once it has changed.
pub async fn show(context: Context<ApiState>) -> Answer {
    show_for(context, "").await
}

/// Like [`show`], for an edition whose entity tags end in `mark`; the caller translates the body.
pub async fn show_for(context: Context<ApiState>, mark: &str) -> Answer {
    let uuid = context.params.uuid("uuid")?;
    let viewer = context.caller()?.viewer();
    let Context { app, request, .. } = context;
    let held = held_versions(&request.headers, &app.fingerprint, mark);
    let wait = preferred_wait(&request.headers).unwrap_or_default();
    let since = app.engine().complete.generation();
    let found = showing::poll(app.engine(), viewer, uuid, &held, wait).await;
    let found = found.map_err(|_| app.unread(RETRY_AFTER_OVERLOAD_S))?;
    match found.ok_or_else(|| Failure::unknown_uuid("RateTable", uuid))? {
        Polled::Shown(snapshot) => Ok(reply(&app, snapshot, since)),
        Polled::Unchanged(held) => {
            let reply = tagged(&app, Reply::not_modified(), held.version);
            Ok(if held.pending { pending(reply, held.deadline) } else { reply })
        }
    }
}

fn until(headers: &HeaderMap) -> Until {
    preferred_wait(headers).map_or(Until::Prompt, Until::Within)
}

async fn accept_lead(mut context: Context<ApiState>, until: Until) -> Answer {
    let submission = read_submission(&mut context).await?;
    let since = context.app.engine().complete.generation();
    let submitted = context.app.matchmaker.submit(submission, until).await.map_err(refused)?;
    answered(submitted, |snapshot| Ok(to_submit(&context, snapshot, since)))
}

/// The reply to a submit: while the table is pending, with the address of its stream for a browser's
/// `EventSource`.
fn to_submit(context: &Context<ApiState>, snapshot: TableSnapshot, since: Generation) -> Reply {
    let (app, table, is_pending) = (&context.app, snapshot.table, snapshot.pending);
    let reply = reply(app, snapshot, since);
    // v1 has no streams.
    if !is_pending || context.edition == Edition::V1 {
        return reply;
    }
    let secret = app.engine().records.templates.ids.stream(table);
    let events = format_args!("/originator/rateTables/{table}/events?{SECRET}={secret}");
    reply.header(TABLE_EVENTS, visible(app.engine().base_url.absolute(events)))
}

/// The reply for a rate table read after `since`, with its entity tag and, if pending, a time to retry.
fn reply(app: &Arc<ApiState>, snapshot: TableSnapshot, since: Generation) -> Reply {
    let TableSnapshot { table, json, version, deadline, .. } = snapshot;
    let reply = tagged(app, Reply::json_bytes(json), version);
    if snapshot.pending {
        return pending(reply, deadline);
    }
    reply.kept_in(TableCacheHandle { app: Arc::clone(app), table, since })
}

fn pending(reply: Reply, deadline: i64) -> Reply {
    reply.retry_after(POLL_EVERY_S).header(TABLE_DEADLINE, visible(Timestamp::at(deadline).to_string()))
}

fn visible(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("instants and addresses are visible ASCII")
}

fn tagged(app: &ApiState, reply: Reply, version: u32) -> Reply {
    let reply = reply.etag(format_args!("{version}-{}", app.fingerprint)).compressible();
    reply.header(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"))
}

struct TableCacheHandle {
    app: Arc<ApiState>,
    table: Uuid,
    since: Generation,
}

impl Renditions for TableCacheHandle {
    fn find(&self, rendition: RenditionName) -> Option<Bytes> {
        self.app.engine().complete.rendition(self.table, rendition)
    }

    fn keep(&self, rendition: RenditionName, bytes: &Bytes) {
        self.app.engine().complete.add(self.since, self.table, rendition, bytes);
    }
}

/// The table versions that a client holds, from its entity tags with this `mark`.
fn held_versions(headers: &HeaderMap, fingerprint: &str, mark: &str) -> Vec<u32> {
    let held = HeldTags::of(&Method::GET, headers);
    let versions = held.opaque().filter_map(|tag| {
        let (version, made_with) = tag.split_once('-')?;
        (made_with.strip_suffix(mark)? == fingerprint).then(|| version.parse().ok())?
    });
    versions.collect()
}

#[cfg(test)]
mod tests {
    use hyper::header::IF_NONE_MATCH;

    use super::*;

    #[test]
    fn the_held_versions_are_those_of_tags_of_ours() {
        let held_in = |words, value| {
            let tags = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(value))]);
            held_versions(&tags, "000000ab", words)
        };
        let held = |value| held_in("", value);
        assert_eq!(held("\"3-000000ab\""), [3]);
        assert_eq!(held("\"x\", W/\"3-000000ab\", \"4-000000ab-gzip\""), [3, 4]);
        assert!(held("\"3-000000ac\"").is_empty());
        assert!(held("*").is_empty());
        assert!(held("\"3-000000ab-v1\"").is_empty());
        assert_eq!(held_in("-v1", "\"3-000000ab-v1-gzip\", \"4-000000ab\""), [3]);
    }
}
