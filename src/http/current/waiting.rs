//! Alternatives to polling: `Prefer: wait=N` on a rate table, and its changes as a stream of events.
//!
//! `GET /originator/rateTables/{uuid}/events`

use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};

use crate::prelude::*;
use offerd_engine::matching::{Polled, TableSnapshot, showing};
use offerd_web::events::{EVENT_STREAM, shared_event};
use offerd_web::{HeldTags, list};

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// Longest wait that a client may request; a rate table is complete long before.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Idle time of an event stream before a comment is sent, so that no proxy closes it.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The heartbeat comment.
pub const STILL_PENDING: Bytes = Bytes::from_static(b": still pending\n\n");

/// The wait that a request prefers (RFC 7240, `wait`), capped; `None` if it has none.
pub fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let wait = |one: &str| one.strip_prefix("wait=")?.trim_matches('"').parse().ok();
    Some(Duration::from_secs(preferences(headers).find_map(wait)?).min(LONGEST_WAIT))
}

fn preferences(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    list::items(headers, &PREFER).flat_map(|one| one.split(';')).map(str::trim)
}

/// Whether a request prefers strict handling, which refuses unknown input (RFC 7240, `handling`).
pub(super) fn is_strict(headers: &HeaderMap) -> bool {
    preferences(headers).any(|one| one.replace('"', "").eq_ignore_ascii_case("handling=strict"))
}

/// The table versions that a client holds, from its entity tags with this `mark`.
pub fn held_versions(headers: &HeaderMap, fingerprint: &str, mark: &str) -> Vec<u32> {
    let held = HeldTags::of(&Method::GET, headers);
    let versions = held.opaque().filter_map(|tag| {
        let (version, made_with) = tag.split_once('-')?;
        (made_with.strip_suffix(mark)? == fingerprint).then(|| version.parse().ok())?
    });
    versions.collect()
}

/// Streams a rate table: its current state, then every change, until it is complete. The id of an event is
/// the table's version: with `Last-Event-ID`, a client gets newer ones, or 204 after the last.
pub async fn events(context: Context<ApiState>) -> Answer {
    let table = context.params.uuid("uuid")?;
    let viewer = context.caller()?.viewer();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn a_preferred_wait_is_read_and_capped() {
        let wait = |value| preferred_wait(&headers("prefer", value));
        assert_eq!(wait("wait=5"), Some(Duration::from_secs(5)));
        assert_eq!(wait("respond-async, wait=10"), Some(Duration::from_secs(10)));
        assert_eq!(wait("wait=100000"), Some(LONGEST_WAIT));
        assert_eq!(wait("wait=soon"), None);
        assert_eq!(wait("return=minimal"), None);
    }

    #[test]
    fn the_held_versions_are_those_of_tags_of_ours() {
        let held_in = |words, value| held_versions(&headers("if-none-match", value), "000000ab", words);
        let held = |value| held_in("", value);
        assert_eq!(held("\"3-000000ab\""), [3]);
        assert_eq!(held("\"x\", W/\"3-000000ab\", \"4-000000ab-gzip\""), [3, 4]);
        assert!(held("\"3-000000ac\"").is_empty());
        assert!(held("*").is_empty());
        assert!(held("\"3-000000ab-v1\"").is_empty());
        assert_eq!(held_in("-v1", "\"3-000000ab-v1-gzip\", \"4-000000ab\""), [3]);
    }
}
