//! A page that is kept open: the inside of its `<main>` as server-sent events, rendered anew every few seconds while it changes,
//! and with each of them a sign of life. The script puts what has changed in place, and says so when the signs stay out.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use tokio::sync::mpsc;

use super::prelude::*;
use super::view::BEAT;
use offerd_web::events::{self, EVENT_STREAM};

/// Pages that are kept open at once; more are whole as they were loaded.
pub(super) const STREAMS: usize = 32;

/// Seconds after which a stream that was turned away may be asked for again.
const RETRY_AFTER_S: u32 = 30;

/// Shows a page; `page!` makes one of an `async fn`.
pub(super) type Show = for<'v> fn(&'v Visit) -> BoxFuture<'v, Result<View, Failure>>;

/// Keeps a page fresh until its reader leaves or the daemon stops.
pub(super) async fn stream(visit: Arc<Visit>, show: Show) -> Result<Reply, Failure> {
    let first = show(&visit).await?;
    if first.instead.is_some() {
        return first.reply(&visit);
    }
    let permit = Arc::clone(&visit.app.console.streams).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    let mut stopping = visit.app.console.stopping();
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _permit = permit;
        tokio::select! {
            () = keep(visit, show, first, &sender) => {}
            () = sender.closed() => {}
            _ = stopping.wait_for(|stop| *stop) => {}
        }
    });
    let events = stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|event| (Ok(event), receiver))
    });
    Ok(sealed(Reply::stream(EVENT_STREAM, events)))
}

/// Sends a page, and then again and again whether leads are taken, with the page anew while it still changes. Ends when the
/// page may not be seen any more, or cannot be made.
async fn keep(visit: Arc<Visit>, show: Show, first: View, sender: &mpsc::Sender<Bytes>) {
    let mut view = Some(first);
    while visit.may_stay() {
        let fresh = view.as_ref().and_then(|view| view.fresh);
        let Ok(standing) = visit.standing() else { return };
        let main = view.map(|view| view.main).unwrap_or_default();
        if sender.send(event(&format!("{standing}\n{main}"))).await.is_err() {
            return;
        }
        tokio::time::sleep(fresh.unwrap_or(BEAT)).await;
        view = match fresh {
            Some(_) => match show(&visit).await {
                Ok(next) => Some(next),
                Err(_) => return,
            },
            None => None,
        };
    }
}

/// A message of the name `page`.
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
