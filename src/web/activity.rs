//! Whether anything happens on a connection, and whether it may be closed for another one.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// Marks a state as idle; the rest of it says since when.
const IDLE: u64 = 1 << 63;

/// The state of a connection that takes no request any more.
const CLOSED: u64 = u64::MAX;

/// What happens on one connection. HTTP/2 has no time limit of its own for a client that is silent, or that lets its
/// answers lie.
#[derive(Debug)]
pub(super) struct Activity {
    begun: Instant,
    /// How many requests are under way, from their head to the last piece of their answer; or that none is, and since when; or
    /// that none may begin any more.
    state: AtomicU64,
    /// Since when the client takes nothing of what we write; 0 while it does.
    stalled_us: AtomicU64,
    /// Requests that wait for their answer.
    answering: AtomicUsize,
    /// Grows with each request, each answer, and each piece of one that is taken.
    progress: AtomicU64,
    /// Whether a body may still be coming. Known of HTTP/1 only, where there is one at a time.
    receiving: AtomicBool,
}

/// That nothing has happened since some moment, as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quiet {
    /// Since when, on the clock of all connections.
    pub(super) since_us: u64,
    state: u64,
}

/// A request that waits for its answer.
pub(super) struct Answering {
    under_way: UnderWay,
    _waiting: Waiting,
}

/// A request until the last piece of its answer is taken.
struct UnderWay(Arc<Activity>);

/// A request until its answer begins.
struct Waiting(Arc<Activity>);

/// The body of an answer, whose pieces count as progress.
pub(super) struct Taken<B> {
    body: B,
    under_way: UnderWay,
}

impl Activity {
    /// That of a new connection; `begun` is when the clock of all of them began.
    pub(super) fn since(begun: Instant) -> Self {
        let activity = Self {
            begun,
            state: AtomicU64::new(0),
            stalled_us: AtomicU64::new(0),
            answering: AtomicUsize::new(0),
            progress: AtomicU64::new(0),
            receiving: AtomicBool::new(false),
        };
        activity.state.store(activity.idle_now(), Ordering::Relaxed);
        activity
    }

    /// A request begins; `None` when the connection is being closed, so that nothing is done that nobody would hear of.
    pub(super) fn begin(self: &Arc<Self>) -> Option<Answering> {
        let one_more = |state| match state {
            CLOSED => None,
            idle if idle & IDLE != 0 => Some(1),
            others => Some(others + 1),
        };
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        self.answering.fetch_add(1, Ordering::Relaxed);
        self.moved();
        Some(Answering { under_way: UnderWay(Arc::clone(self)), _waiting: Waiting(Arc::clone(self)) })
    }

    /// Since when nothing happens; `None` while something does.
    pub(super) fn quiet(&self) -> Option<Quiet> {
        let state = self.state.load(Ordering::Acquire);
        match (self.stalled_us.load(Ordering::Acquire), state) {
            (_, CLOSED) => None,
            (0, idle) if idle & IDLE != 0 => Some(Quiet { since_us: idle & !IDLE, state }),
            (0, _) => None,
            (stalled_us, _) => Some(Quiet { since_us: stalled_us, state }),
        }
    }

    /// Has no request begin any more, if nothing has happened since it was seen to be quiet.
    pub(super) fn close(&self, seen: Quiet) -> bool {
        self.quiet() == Some(seen)
            && self.state.compare_exchange(seen.state, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The connection is gone.
    pub(super) fn end(&self) {
        self.state.store(CLOSED, Ordering::Release);
    }

    /// The client takes nothing of what we write.
    pub(super) fn stalled(&self) {
        self.stalled_us.store(self.now_us().max(1), Ordering::Release);
    }

    /// It takes something again.
    pub(super) fn unstalled(&self) {
        self.stalled_us.store(0, Ordering::Release);
    }

    /// A body comes, or has come to its end.
    pub(super) fn receives(&self, receiving: bool) {
        self.receiving.store(receiving, Ordering::Release);
    }

    /// Whether a body may still be coming, which nobody reads once its request is answered.
    pub(super) fn is_receiving(&self) -> bool {
        self.receiving.load(Ordering::Acquire)
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

    fn idle_now(&self) -> u64 {
        IDLE | self.now_us()
    }

    /// Below [`IDLE`] for some hundred thousand years.
    fn now_us(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(0) & (IDLE - 1)
    }
}

impl Answering {
    /// Whether the body of the request may still be coming.
    pub(super) fn is_receiving(&self) -> bool {
        self.under_way.0.is_receiving()
    }

    /// The request has its answer.
    pub(super) fn answered<B>(self, answer: hyper::Response<B>) -> hyper::Response<Taken<B>> {
        answer.map(|body| Taken { body, under_way: self.under_way })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let one_less = |state| match state {
            CLOSED => None,
            1 => Some(self.0.idle_now()),
            others => Some(others - 1),
        };
        // Who is being closed stays so.
        let _ = self.0.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
    }
}

impl Drop for Waiting {
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
            this.under_way.0.moved();
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
