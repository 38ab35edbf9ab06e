//! A page that is kept open: the inside of its `<main>` as server-sent events, rendered anew every few seconds. The script
//! puts what has changed in place.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use hyper::StatusCode;
use tokio::sync::mpsc;

use super::view::sealed;
use super::visit::{Show, Visit};
use crate::web::{Failure, Reply};

/// Pages that are kept open at once; more are whole as they were loaded.
pub(super) const STREAMS: usize = 32;

/// Seconds after which a stream that was turned away may be asked for again.
const RETRY_AFTER_S: u32 = 30;

/// Keeps a page fresh until its reader leaves or the daemon stops.
pub(super) async fn stream(visit: Arc<Visit>, show: Show) -> Result<Reply, Failure> {
    let first = show(Arc::clone(&visit)).await?;
    // Nothing to come: 204 tells the browser not to ask again.
    let Some(fresh) = first.fresh() else { return Ok(sealed(Reply::empty(StatusCode::NO_CONTENT))) };
    let permit = Arc::clone(&visit.app.console.streams).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    let mut stopping = visit.app.console.stopping();
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _permit = permit;
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + fresh, fresh);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut view = first;
        loop {
            let sent = sender.send(event(&view.into_main()));
            tokio::select! {
                sent = sent => if sent.is_err() { return },
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            tokio::select! {
                _ = ticks.tick() => {}
                () = sender.closed() => return,
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            if !visit.may_stay() {
                return;
            }
            match show(Arc::clone(&visit)).await {
                Ok(next) => view = next,
                Err(_) => return,
            }
        }
    });
    let events = stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|event| (Ok(event), receiver))
    });
    Ok(sealed(Reply::stream("text/event-stream", events)))
}

/// A message of the name `page`, line by line as the format wants it.
fn event(main: &str) -> Bytes {
    let mut event = String::with_capacity(main.len() + main.len() / 8 + 16);
    event.push_str("event: page\n");
    for line in main.lines() {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_one_event() {
        assert_eq!(event("<p>\r\n\n</p>"), "event: page\ndata: <p>\ndata: \ndata: </p>\n\n");
    }
}
