//! Better than polling: `Prefer: wait=N` on a rate table, and its changes as a stream of events.
//!
//! `GET /originator/rateTables/{uuid}/events`

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::HeaderMap;
use hyper::header::IF_NONE_MATCH;
use uuid::Uuid;

use crate::http::App;
use crate::matching::Snapshot;
use crate::model::Viewer;
use crate::web::{Context, Failure, Reply};

/// Longest wait that a client may ask for; a rate table is complete long before.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Silence on an event stream after which a comment is sent, so that nobody in between closes it.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The wait that a request prefers (RFC 7240, `wait`), capped; `None` when it prefers none.
pub fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let lists = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut preferences = lists.flat_map(|list| list.split([',', ';'])).map(str::trim);
    let seconds = preferences.find_map(|one| one.strip_prefix("wait=")?.trim_matches('"').parse().ok())?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

/// The version of the table that a client holds, by its entity tag.
pub fn held_version(headers: &HeaderMap, fingerprint: u32) -> Option<u32> {
    let tags = headers.get(IF_NONE_MATCH)?.to_str().ok()?;
    let tag = tags.split(',').next()?.trim().trim_matches('"');
    let (version, made_with) = tag.split_once('-')?;
    (made_with == format!("{fingerprint:08x}")).then(|| version.parse().ok())?
}

/// Streams a rate table, as it is and whenever it changes, until it is complete. An event's id is the table's version,
/// so a client that reconnects with `Last-Event-ID` gets only what it has not seen.
pub async fn events(context: Context<App>) -> Result<Reply, Failure> {
    let table = context.params.uuid("uuid")?;
    let viewer = context.caller()?.viewer();
    let app = Arc::clone(&context.app);
    let now = app.matchmaker.rate_table(viewer, table).await.map_err(|_| Failure::unreadable(1))?;
    let now = now.ok_or_else(|| Failure::unknown_uuid("RateTable", table))?;

    let last_seen = context.request.headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let seen = last_seen.and_then(|id| id.parse().ok());
    let start = Next::Show(now).unless_seen(seen);
    let events = stream::unfold(start, move |next| step(Arc::clone(&app), viewer, table, next));
    Ok(Reply::stream("text/event-stream", events))
}

/// What an event stream does next.
enum Next {
    /// Tells the table.
    Show(Snapshot),
    /// Waits for it to change.
    Wait(u32),
    /// Ends.
    End,
}

impl Next {
    fn unless_seen(self, seen: Option<u32>) -> Self {
        match self {
            Self::Show(table) if seen == Some(table.version) => {
                if table.pending {
                    Self::Wait(table.version)
                } else {
                    Self::End
                }
            }
            other => other,
        }
    }
}

async fn step(app: Arc<App>, viewer: Viewer, table: Uuid, next: Next) -> Option<(io::Result<Bytes>, Next)> {
    let shown = match next {
        Next::End => return None,
        Next::Show(snapshot) => snapshot,
        Next::Wait(version) => {
            let changed = app.matchmaker.changed_rate_table(viewer, table, version, HEARTBEAT).await;
            match changed.ok().flatten() {
                Some(snapshot) if snapshot.version != version => snapshot,
                Some(_) => {
                    return Some((Ok(Bytes::from_static(b": still pending\n\n")), Next::Wait(version)));
                }
                None => return None,
            }
        }
    };
    let after = if shown.pending { Next::Wait(shown.version) } else { Next::End };
    Some((Ok(event(&shown)), after))
}

/// One event. The JSON of a table has no line breaks.
fn event(table: &Snapshot) -> Bytes {
    let mut event = format!("event: rateTable\nid: {}\ndata: ", table.version).into_bytes();
    event.extend_from_slice(&table.json);
    event.extend_from_slice(b"\n\n");
    event.into()
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
    fn the_held_version_is_that_of_a_tag_of_ours() {
        let held = |value| held_version(&headers("if-none-match", value), 0xab);
        assert_eq!(held("\"3-000000ab\""), Some(3));
        assert_eq!(held("\"3-000000ac\""), None);
        assert_eq!(held("*"), None);
    }
}
