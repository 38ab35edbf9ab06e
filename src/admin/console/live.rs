//! Streams of open pages: the content of `<main>` as server-sent events, re-rendered while it changes, and
//! heartbeats. The script updates the page, and reports missing heartbeats.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use tokio::sync::mpsc;

use super::prelude::*;
use super::view::BEAT;
use offerd_web::events::{self, EVENT_STREAM};

/// Maximum page streams; further pages stay as loaded.
pub(super) const STREAMS: usize = 32;

const RETRY_AFTER_S: u32 = 30;

/// Renders a page; `page!` makes one from an `async fn`.
pub(super) type PageRenderer = for<'v> fn(&'v ConsoleRequest) -> BoxFuture<'v, Result<View>>;

pub(super) async fn stream(request: Arc<ConsoleRequest>, show: PageRenderer) -> Result<Reply> {
    let first = show(&request).await?;
    if first.instead.is_some() {
        return first.reply(&request);
    }
    let permit = Arc::clone(&request.app.console.streams).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    let mut stopping = request.app.console.stop.subscribe();
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _permit = permit;
        tokio::select! {
            () = keep(request, show, first, &sender) => {}
            () = sender.closed() => {}
            _ = stopping.wait_for(|stop| *stop) => {}
        }
    });
    let events = stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|event| (Ok(event), receiver))
    });
    Ok(sealed(Reply::stream(EVENT_STREAM, events)))
}

/// Sends a page, then the readiness, with the page while it still changes and may be seen.
async fn keep(request: Arc<ConsoleRequest>, show: PageRenderer, first: View, sender: &mpsc::Sender<Bytes>) {
    let mut view = Some(first);
    while request.may_stay() {
        let fresh = view.as_ref().and_then(|view| view.fresh);
        let Ok(standing) = request.standing() else { return };
        let main = view.map(|view| view.main).unwrap_or_default();
        if sender.send(event(&format!("{standing}\n{main}"))).await.is_err() {
            return;
        }
        tokio::time::sleep(fresh.unwrap_or(BEAT)).await;
        view = None;
        if fresh.is_some() {
            let Ok(next) = show(&request).await else { return };
            view = Some(next);
        }
    }
}

fn event(main: &str) -> Bytes {
    events::event("page", None, main.lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_one_event() {
        assert_eq!(event("<p>\r\n\n</p>"), "event: page\ndata: <p>\ndata: \ndata: </p>\n\n");
    }
}
