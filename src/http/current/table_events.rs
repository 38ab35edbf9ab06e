//! The changes of a rate table as a stream of events: `GET /originator/rateTables/{uuid}/events`.

use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};

use crate::prelude::*;
use offerd_engine::matching::{Polled, TableSnapshot, showing};
use offerd_engine::records::Records;
use offerd_web::SECRET;
use offerd_web::events::{EVENT_STREAM, shared_event};

/// Idle time of an event stream before a comment is sent, so that no proxy closes it.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long the secret of a stream is valid after its table's deadline, milliseconds.
const SECRET_LASTS_MS: i64 = 3_600_000;

/// The heartbeat comment.
pub const STILL_PENDING: Bytes = Bytes::from_static(b": still pending\n\n");

/// Streams a rate table: its current state, then every change, until it is complete. The id of an event is
/// the table's version: with `Last-Event-ID`, a client gets newer ones, or 204 after the last.
pub async fn events(context: Context<ApiState>) -> Answer {
    let table = context.params.uuid("uuid")?;
    let viewer = match context.request.query_value(SECRET) {
        Some(secret) => {
            context.app.click_rates.count_address(&context.request)?;
            viewer_by_secret(&context.app, table, secret)?
        }
        None => context.caller()?.viewer(),
    };
    let seen = last_seen(&context.request.headers);
    match follow(context.app, viewer, table, seen).await? {
        Followed::Unknown => Err(Failure::unknown_uuid("RateTable", table)),
        Followed::Seen => Ok(Reply::empty(StatusCode::NO_CONTENT)),
        Followed::Changes(changes) => {
            let events = changes.flat_map(|change| {
                let heartbeat = change.is_none().then_some(STILL_PENDING);
                let table = change.map(|table| shared_event("rateTable", table.version, table.json));
                stream::iter(heartbeat.into_iter().chain(table.into_iter().flatten()).map(Ok))
            });
            Ok(Reply::stream(EVENT_STREAM, events))
        }
    }
}

/// The viewer that a secret makes its holder, of its own table alone.
fn viewer_by_secret(app: &ApiState, table: Uuid, secret: &str) -> Result<Viewer, Failure> {
    let Records { store, templates, .. } = &app.engine().records;
    let secret = Uuid::try_parse(secret).ok();
    if !secret.is_some_and(|secret| templates.ids.opens_stream(table, secret)) {
        return Err(Failure::unauthorized("Query parameter secret is not that of the rate table"));
    }
    let head = reading::head(store, table).map_err(unreadable)?;
    let head = head.ok_or_else(|| Failure::unknown_uuid("RateTable", table))?;
    if app.engine().now_ms() > head.deadline.saturating_add(SECRET_LASTS_MS) {
        return Err(Failure::gone("Secret has expired"));
    }
    Ok(Viewer::of_all(head.company))
}

/// The version that a reconnecting client has seen.
pub fn last_seen(headers: &HeaderMap) -> Option<u32> {
    headers.get("last-event-id").and_then(|id| id.to_str().ok())?.parse().ok()
}

/// The changes of a table.
pub enum Followed<S> {
    /// The table does not exist.
    Unknown,
    /// The client has already seen the complete table.
    Seen,
    /// Its versions as they appear, until it is complete or gone; `None` for a heartbeat.
    Changes(S),
}

/// Follows a table after the version that the client has seen. Fails when the store cannot be read.
pub async fn follow(
    app: Arc<ApiState>,
    viewer: Viewer,
    table: Uuid,
    seen: Option<u32>,
) -> Result<Followed<impl Stream<Item = Option<TableSnapshot>> + Send + Sync>, Failure> {
    let now = showing::rate_table(app.engine(), viewer, table).await;
    let Some(now) = now.map_err(|_| app.unread(1))? else { return Ok(Followed::Unknown) };
    let start = match seen == Some(now.version) {
        true if !now.pending => return Ok(Followed::Seen),
        true => StreamStep::Wait(now.version),
        false => StreamStep::Show(now),
    };
    Ok(Followed::Changes(stream::unfold(start, move |next| step(Arc::clone(&app), viewer, table, next))))
}

enum StreamStep {
    Show(TableSnapshot),
    Wait(u32),
    End,
}

async fn step(
    app: Arc<ApiState>,
    viewer: Viewer,
    table: Uuid,
    next: StreamStep,
) -> Option<(Option<TableSnapshot>, StreamStep)> {
    let shown = match next {
        StreamStep::End => return None,
        StreamStep::Show(snapshot) => snapshot,
        StreamStep::Wait(version) => {
            match showing::poll(app.engine(), viewer, table, &[version], HEARTBEAT).await.ok()?? {
                Polled::Shown(snapshot) => snapshot,
                Polled::Unchanged(unchanged) if unchanged.pending => return Some((None, next)),
                Polled::Unchanged(_) => return None,
            }
        }
    };
    let after = if shown.pending { StreamStep::Wait(shown.version) } else { StreamStep::End };
    Some((Some(shown), after))
}
