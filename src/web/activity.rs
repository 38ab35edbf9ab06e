//! Whether anything happens on a connection, and whether it may be closed for another one.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::sleep;

/// Marks a state as idle; the rest of it says since when.
const IDLE: u64 = 1 << 63;

/// The state of a connection that takes no request any more.
const CLOSED: u64 = u64::MAX;

/// What happens on one connection. HTTP/2 has no time limit of its own for a client that is silent, or that lets its
/// answers lie: it gives us no leave to write them, so that no write ever waits.
#[derive(Debug)]
pub(super) struct Activity {
    begun: Instant,
    /// How many requests are under way, from their head to the last piece of their answer; or that none is, and since when; or
    /// that none may begin any more.
    state: AtomicU64,
    /// Since when the client takes nothing of what we write; 0 while it does.
    stalled_us: AtomicU64,
    /// Requests under way, among them some that may be over.
    requests: Mutex<Vec<Weak<UnderWay>>>,
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

/// A request, until the client has taken the last piece of its answer.
#[derive(Debug)]
pub(super) struct UnderWay {
    activity: Arc<Activity>,
    /// Pieces of the answer that the client has not taken to their end.
    owed: AtomicUsize,
    /// When it last took something of one, or the first of them was there to be taken.
    moved_us: AtomicU64,
}

/// The least that is slept between two looks.
const LOOK: Duration = Duration::from_millis(1);

impl Activity {
    /// That of a new connection; `begun` is when the clock of all of them began.
    pub(super) fn since(begun: Instant) -> Self {
        let activity = Self {
            begun,
            state: AtomicU64::new(0),
            stalled_us: AtomicU64::new(0),
            requests: Mutex::default(),
            receiving: AtomicBool::new(false),
        };
        activity.state.store(activity.idle_now(), Ordering::Relaxed);
        activity
    }

    /// A request begins; `None` when the connection is being closed, so that nothing is done that nobody would hear of.
    pub(super) fn begin(self: &Arc<Self>) -> Option<Arc<UnderWay>> {
        let one_more = |state| match state {
            CLOSED => None,
            idle if idle & IDLE != 0 => Some(1),
            others => Some(others + 1),
        };
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        let (owed, moved_us) = (AtomicUsize::new(0), AtomicU64::new(0));
        let request = Arc::new(UnderWay { activity: Arc::clone(self), owed, moved_us });
        let mut requests = self.requests.lock();
        requests.retain(|request| request.strong_count() > 0);
        requests.push(Arc::downgrade(&request));
        Some(request)
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

    /// What marks this time without a request; `None` while one is under way, or its body still comes.
    pub(super) fn idle_mark(&self) -> Option<u64> {
        let state = self.state.load(Ordering::Acquire);
        (state & IDLE != 0 && !self.is_receiving()).then_some(state)
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

    /// Ends when no request has been under way for `patience`.
    pub(super) async fn silence(&self, patience: Duration) {
        while let Some(left) = self.idle_for().map_or(Some(patience), |idle| patience.checked_sub(idle)) {
            sleep(left.max(LOOK)).await;
        }
    }

    /// Ends when the client has taken nothing of an answer for `patience`. What an answer has not yet to give is not waited for.
    pub(super) async fn neglect(&self, patience: Duration) {
        loop {
            let (neglected, left) = self.neglected(patience);
            if neglected > 0 {
                return;
            }
            sleep(left).await;
        }
    }

    /// Ends when, from now on, no request has been under way for `grace`, or none but those whose answers the client
    /// [neglects](Self::neglect).
    pub(super) async fn desertion(&self, grace: Duration, patience: Duration) {
        let begun = Instant::now();
        loop {
            let left = match self.idle_for() {
                Some(idle) => grace.checked_sub(idle.min(begun.elapsed())),
                // What is written and waits for the socket is waited for as long as any write is.
                None if !self.is_stalled() && self.under_way() <= self.neglected(patience).0 => None,
                None => Some(grace),
            };
            let Some(left) = left else { return };
            sleep(left.max(LOOK)).await;
        }
    }

    /// How long no request has been under way; `None` while one is, or the client takes nothing of what we have written.
    fn idle_for(&self) -> Option<Duration> {
        let quiet = self.quiet().filter(|quiet| quiet.state & IDLE != 0 && !self.is_stalled())?;
        Some(Duration::from_micros(self.now_us().saturating_sub(quiet.since_us)))
    }

    fn is_stalled(&self) -> bool {
        self.stalled_us.load(Ordering::Acquire) != 0
    }

    /// How many requests are under way. Of who is being closed none is.
    fn under_way(&self) -> usize {
        let state = self.state.load(Ordering::Acquire);
        if state & IDLE != 0 { 0 } else { usize::try_from(state).unwrap_or(usize::MAX) }
    }

    /// Of how many answers the client has taken nothing for `patience`, and when to look again for more.
    fn neglected(&self, patience: Duration) -> (usize, Duration) {
        let now_us = self.now_us();
        let (mut neglected, mut left) = (0, patience);
        for request in self.requests.lock().iter().filter_map(Weak::upgrade) {
            let waited =
                request.owed_since_us().map(|since| Duration::from_micros(now_us.saturating_sub(since)));
            match waited.map(|waited| patience.saturating_sub(waited)) {
                Some(Duration::ZERO) => neglected += 1,
                Some(of_it) => left = left.min(of_it),
                None => {}
            }
        }
        (neglected, left.max(LOOK))
    }

    fn idle_now(&self) -> u64 {
        IDLE | self.now_us()
    }

    /// Below [`IDLE`] for some hundred thousand years.
    fn now_us(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(0) & (IDLE - 1)
    }
}

impl UnderWay {
    /// Whether the body of the request may still be coming.
    pub(super) fn is_receiving(&self) -> bool {
        self.activity.is_receiving()
    }

    /// There is one more piece to be taken.
    pub(super) fn owes(&self) {
        if self.owed.fetch_add(1, Ordering::Relaxed) == 0 {
            self.moved();
        }
    }

    /// The client has taken something.
    pub(super) fn moved(&self) {
        self.moved_us.store(self.activity.now_us(), Ordering::Relaxed);
    }

    /// A piece is taken to its end, or given up.
    pub(super) fn gave(&self) {
        self.owed.fetch_sub(1, Ordering::Relaxed);
    }

    /// Since when it waits for the client; `None` while the client waits for it.
    fn owed_since_us(&self) -> Option<u64> {
        (self.owed.load(Ordering::Relaxed) > 0).then(|| self.moved_us.load(Ordering::Relaxed))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let one_less = |state| match state {
            CLOSED => None,
            1 => Some(self.activity.idle_now()),
            others => Some(others - 1),
        };
        // Who is being closed stays so.
        let _ = self.activity.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
    }
}
