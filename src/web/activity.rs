//! What is going on on a connection, and whether it may be closed to make room for another.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::sleep;

/// The bit of an idle state; the other bits are the time since when.
const IDLE: u64 = 1 << 63;

/// The state of a connection that takes no more requests.
const CLOSED: u64 = u64::MAX;

/// HTTP/2 needs the activity for timeouts: a silent client grants no window, so no write ever waits.
#[derive(Debug)]
pub(super) struct Activity {
    begun: Instant,
    /// The requests under way, each up to the last chunk of its answer; or idle, with since when; or closed.
    state: AtomicU64,
    /// When the client stopped taking what we write; 0 while it takes it.
    stalled_us: AtomicU64,
    requests: Mutex<Vec<Weak<ActiveRequest>>>,
    /// Whether a body may still be arriving. HTTP/1 only, which has one request at a time.
    receiving: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdleSince {
    /// Since when, in microseconds on the clock that all connections share.
    pub(super) since_us: u64,
    state: u64,
}

#[derive(Debug)]
pub(super) struct ActiveRequest {
    activity: Arc<Activity>,
    owed: AtomicUsize,
    /// When the client last took something of a chunk, or when the first of them became available.
    moved_us: AtomicU64,
}

const LOOK: Duration = Duration::from_millis(1);

impl Activity {
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

    /// Begins a request; `None` when the connection is being closed, where the work would get no answer.
    pub(super) fn begin(self: &Arc<Self>) -> Option<Arc<ActiveRequest>> {
        let one_more = |state| match state {
            CLOSED => None,
            idle if idle & IDLE != 0 => Some(1),
            others => Some(others + 1),
        };
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        let (owed, moved_us) = (AtomicUsize::new(0), AtomicU64::new(0));
        let request = Arc::new(ActiveRequest { activity: Arc::clone(self), owed, moved_us });
        let mut requests = self.requests.lock();
        requests.retain(|request| request.strong_count() > 0);
        requests.push(Arc::downgrade(&request));
        Some(request)
    }

    /// Since when the connection has been quiet; `None` while it is not.
    pub(super) fn quiet(&self) -> Option<IdleSince> {
        let state = self.state.load(Ordering::Acquire);
        match (self.stalled_us.load(Ordering::Acquire), state) {
            (_, CLOSED) => None,
            (0, idle) if idle & IDLE != 0 => Some(IdleSince { since_us: idle & !IDLE, state }),
            (0, _) => None,
            (stalled_us, _) => Some(IdleSince { since_us: stalled_us, state }),
        }
    }

    /// Identifies this idle period; `None` while a request is under way or its body still arrives.
    pub(super) fn idle_mark(&self) -> Option<u64> {
        let state = self.state.load(Ordering::Acquire);
        (state & IDLE != 0 && !self.is_receiving()).then_some(state)
    }

    pub(super) fn close(&self, seen: IdleSince) -> bool {
        self.quiet() == Some(seen)
            && self.state.compare_exchange(seen.state, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub(super) fn end(&self) {
        self.state.store(CLOSED, Ordering::Release);
    }

    pub(super) fn stalled(&self) {
        self.stalled_us.store(self.now_us().max(1), Ordering::Release);
    }

    pub(super) fn unstalled(&self) {
        self.stalled_us.store(0, Ordering::Release);
    }

    pub(super) fn receives(&self, receiving: bool) {
        self.receiving.store(receiving, Ordering::Release);
    }

    pub(super) fn is_receiving(&self) -> bool {
        self.receiving.load(Ordering::Acquire)
    }

    /// Returns once no request has been under way for `patience`.
    pub(super) async fn silence(&self, patience: Duration) {
        while let Some(left) = self.idle_for().map_or(Some(patience), |idle| patience.checked_sub(idle)) {
            sleep(left.max(LOOK)).await;
        }
    }

    /// Returns once the client has taken nothing of some available answer for `patience`.
    pub(super) async fn neglect(&self, patience: Duration) {
        loop {
            let (neglected, left) = self.neglected(patience);
            if neglected > 0 {
                return;
            }
            sleep(left).await;
        }
    }

    /// Returns once, for `grace`, no request was under way that the client does not [neglect](Self::neglect).
    pub(super) async fn desertion(&self, grace: Duration, patience: Duration) {
        let begun = Instant::now();
        loop {
            let left = match self.idle_for() {
                Some(idle) => grace.checked_sub(idle.min(begun.elapsed())),
                // Data that waits for the socket gets the usual write timeout.
                None if !self.is_stalled() && self.under_way() <= self.neglected(patience).0 => None,
                None => Some(grace),
            };
            let Some(left) = left else { return };
            sleep(left.max(LOOK)).await;
        }
    }

    /// How long no request has been under way; `None` while one is, or while a write is stalled.
    fn idle_for(&self) -> Option<Duration> {
        let quiet = self.quiet().filter(|quiet| quiet.state & IDLE != 0 && !self.is_stalled())?;
        Some(Duration::from_micros(self.now_us().saturating_sub(quiet.since_us)))
    }

    fn is_stalled(&self) -> bool {
        self.stalled_us.load(Ordering::Acquire) != 0
    }

    /// The number of requests under way; 0 for a connection that is being closed.
    fn under_way(&self) -> usize {
        let state = self.state.load(Ordering::Acquire);
        if state & IDLE != 0 { 0 } else { usize::try_from(state).unwrap_or(usize::MAX) }
    }

    /// The number of neglected answers, and the time until the next check.
    fn neglected(&self, patience: Duration) -> (usize, Duration) {
        let now_us = self.now_us();
        let (mut neglected, mut left) = (0, patience);
        for request in self.requests.lock().iter().filter_map(Weak::upgrade) {
            let waited = request.owed_since_us().map(|at| Duration::from_micros(now_us.saturating_sub(at)));
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

    /// Stays below [`IDLE`] for some hundred thousand years.
    fn now_us(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(0) & (IDLE - 1)
    }
}

impl ActiveRequest {
    pub(super) fn is_receiving(&self) -> bool {
        self.activity.is_receiving()
    }

    pub(super) fn owes(&self) {
        if self.owed.fetch_add(1, Ordering::Relaxed) == 0 {
            self.moved();
        }
    }

    pub(super) fn moved(&self) {
        self.moved_us.store(self.activity.now_us(), Ordering::Relaxed);
    }

    pub(super) fn gave(&self) {
        self.owed.fetch_sub(1, Ordering::Relaxed);
    }

    /// Since when the answer waits for the client; `None` while the client waits for the answer.
    fn owed_since_us(&self) -> Option<u64> {
        (self.owed.load(Ordering::Relaxed) > 0).then(|| self.moved_us.load(Ordering::Relaxed))
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let one_less = |state| match state {
            CLOSED => None,
            1 => Some(self.activity.idle_now()),
            others => Some(others - 1),
        };
        // A closed connection stays closed.
        let _ = self.activity.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
    }
}
