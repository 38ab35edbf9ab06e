//! Whether anything happens on a connection that many requests share.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// What happens on one connection. HTTP/2 has no time limit of its own for a client that is silent, or that lets its
/// answers lie.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Requests that wait for their answer.
    answering: AtomicUsize,
    /// Grows with each request, each answer, and each piece of one that is taken.
    progress: AtomicU64,
}

/// A request that waits for its answer.
pub(super) struct Answering(Arc<Activity>);

/// The body of an answer, whose pieces count as progress.
pub(super) struct Taken<B> {
    body: B,
    activity: Arc<Activity>,
}

impl Activity {
    /// A request begins.
    pub(super) fn begin(self: &Arc<Self>) -> Answering {
        self.answering.fetch_add(1, Ordering::Relaxed);
        self.moved();
        Answering(Arc::clone(self))
    }

    /// Ends when nobody has waited for an answer, and nothing has been taken, for at least `patience`.
    pub(super) async fn silence(&self, patience: Duration) {
        loop {
            let before = self.progress.load(Ordering::Relaxed);
            tokio::time::sleep(patience).await;
            let answering = self.answering.load(Ordering::Relaxed) > 0;
            if !answering && self.progress.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }

    fn moved(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }
}

impl Answering {
    /// The request has its answer.
    pub(super) fn answered<B>(self, answer: hyper::Response<B>) -> hyper::Response<Taken<B>> {
        let activity = Arc::clone(&self.0);
        answer.map(|body| Taken { body, activity })
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::Relaxed);
        self.0.moved();
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Taken<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if frame.is_ready() {
            this.activity.moved();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
