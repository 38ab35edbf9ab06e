//! A circuit breaker: stops calls to a remote system that mostly fails; some probes find out when it recovered.
//!
//! ```text
//! closed ── failure share over window ──► open ── its time is over ──► half-open ── successes ──► closed
//!                                           ▲                             │
//!                                           └─── a failure; twice as long ┘
//! ```
//!
//! A pure state machine: the caller passes the time, and a closure that reserves an ejection in the group.

use std::time::Duration;

use tokio::time::Instant;

use super::window::{CallTally, CallWindow};
use offerd_base::worded;

/// When a breaker opens, for how long, and how it closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerRules {
    /// Length of the sliding window.
    pub window: Duration,
    /// Minimum number of calls in the window before it opens by their share of failures.
    pub minimum_calls: u32,
    /// Percentage of failed calls from which it opens.
    pub failure_percent: u8,
    /// Number of failures in a row, without a success in the window, from which it opens in any case.
    pub failures_in_a_row: u32,
    /// Initial open time; doubled each time it opens again.
    pub open_for: Duration,
    /// Maximum open time.
    pub open_ceiling: Duration,
    /// Maximum concurrent calls while half-open.
    pub probes: u32,
    /// Number of successes that close it.
    pub successes: u32,
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(30),
            minimum_calls: 20,
            failure_percent: 50,
            failures_in_a_row: 5,
            open_for: Duration::from_secs(5),
            open_ceiling: Duration::from_secs(300),
            probes: 2,
            successes: 4,
        }
    }
}

worded! {
    /// The state of a breaker, in the order of its metric.
    pub enum BreakerState;
    /// The state in words.
    fn word;
    /// Calls pass.
    Closed "closed";
    /// A few probes pass.
    HalfOpen "half open";
    /// No call passes until its time is over.
    Open "open";
}

/// A state change caused by a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerChange {
    /// Opened for this long.
    Opened(Duration),
    /// Should have opened, but the group had no room. Reported once until the failures end.
    NotEjected,
    /// Closed.
    Closed,
}

/// A circuit breaker.
#[derive(Debug, Clone)]
pub struct Breaker {
    rules: BreakerRules,
    window: CallWindow,
    /// Number of failures since the last success.
    failed_in_a_row: u32,
    stage: BreakerStage,
    /// Duration of the next open period, unless it has been closed for that long.
    next_open: Duration,
    closed_at: Option<Instant>,
    /// When it last left the closed state; `None` once it closes.
    pub ejected_since: Option<Instant>,
    held: bool,
}

#[derive(Debug, Clone, Copy)]
enum BreakerStage {
    Closed,
    Open { until: Instant },
    HalfOpen { under_way: u32, successes: u32, anew_at: Instant },
}

impl Breaker {
    /// Creates a closed breaker.
    pub fn new(rules: BreakerRules) -> Self {
        let (window, next_open) = (CallWindow::new(rules.window), rules.open_for.min(rules.open_ceiling));
        let (failed_in_a_row, closed_at, ejected_since, held) = Default::default();
        let stage = BreakerStage::Closed;
        Self { rules, window, failed_in_a_row, stage, next_open, closed_at, ejected_since, held }
    }

    /// Changes the maximum open time, also of a breaker that is open.
    pub fn set_open_ceiling(&mut self, now: Instant, open_ceiling: Duration) {
        self.rules.open_ceiling = open_ceiling;
        self.next_open = self.next_open.min(open_ceiling);
        if let BreakerStage::Open { until } = &mut self.stage {
            *until = (*until).min(now + open_ceiling);
        }
    }

    /// Lets the next calls through as probes and starts the backoff over. Returns whether it was not closed.
    pub fn probe(&mut self, now: Instant) -> bool {
        match &mut self.stage {
            BreakerStage::Closed => return false,
            BreakerStage::Open { until: at } | BreakerStage::HalfOpen { anew_at: at, .. } => *at = now,
        }
        self.next_open = self.rules.open_for.min(self.rules.open_ceiling);
        true
    }

    /// When an open breaker lets calls through again.
    pub fn open_until(&self) -> Option<Instant> {
        if let BreakerStage::Open { until } = self.stage { Some(until) } else { None }
    }

    /// Whether a call may pass now; end it with [`Self::judge`] or [`Self::forget`].
    pub fn admits(&mut self, now: Instant) -> bool {
        match &mut self.stage {
            BreakerStage::Closed => true,
            BreakerStage::Open { until } if now < *until => false,
            BreakerStage::Open { until } => {
                let anew_at = now + self.next_open.max(now.saturating_duration_since(*until));
                self.stage = BreakerStage::HalfOpen { under_way: 1, successes: 0, anew_at };
                true
            }
            BreakerStage::HalfOpen { under_way, anew_at, .. } => {
                // Probes without a verdict do not occupy their places forever.
                if now >= *anew_at {
                    *under_way = 0;
                    *anew_at = now + self.next_open;
                }
                let room = *under_way < self.rules.probes.max(1);
                *under_way += u32::from(room);
                room
            }
        }
    }

    /// Records the verdict on a call. `try_eject` reserves a place among the ejected, if the group
    /// can spare this endpoint.
    pub fn judge(
        &mut self,
        now: Instant,
        ok: bool,
        try_eject: impl FnOnce() -> bool,
    ) -> Option<BreakerChange> {
        match &mut self.stage {
            BreakerStage::Closed => {
                self.window.add(now, ok);
                self.failed_in_a_row = if ok { 0 } else { self.failed_in_a_row.saturating_add(1) };
                self.trip(now, try_eject)
            }
            // The verdict on a call that started earlier.
            BreakerStage::Open { .. } => None,
            BreakerStage::HalfOpen { under_way, successes, .. } => {
                *under_way = under_way.saturating_sub(1);
                if !ok {
                    return Some(self.open(now));
                }
                *successes += 1;
                (*successes >= self.rules.successes).then(|| self.close(now))
            }
        }
    }

    /// Ends a call without a verdict on the remote system.
    pub fn forget(&mut self) {
        if let BreakerStage::HalfOpen { under_way, .. } = &mut self.stage {
            *under_way = under_way.saturating_sub(1);
        }
    }

    /// The current state.
    pub fn state(&self) -> BreakerState {
        match self.stage {
            BreakerStage::Closed => BreakerState::Closed,
            BreakerStage::Open { .. } => BreakerState::Open,
            BreakerStage::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    pub(super) fn tally(&self, now: Instant) -> CallTally {
        self.window.tally(now)
    }

    fn trip(&mut self, now: Instant, try_eject: impl FnOnce() -> bool) -> Option<BreakerChange> {
        let tally = self.window.tally(now);
        let mostly =
            tally.calls >= self.rules.minimum_calls && tally.failed_percent(self.rules.failure_percent);
        let always = tally.failed == tally.calls && self.failed_in_a_row >= self.rules.failures_in_a_row;
        let failing = tally.failed > 0 && (mostly || always);
        if !failing {
            self.held = false;
            return None;
        }
        if !try_eject() {
            let said = std::mem::replace(&mut self.held, true);
            return (!said).then_some(BreakerChange::NotEjected);
        }
        // After a closed period at least as long as the next open time, the backoff starts over.
        if self.closed_at.is_none_or(|at| now.saturating_duration_since(at) >= self.next_open) {
            self.next_open = self.rules.open_for.min(self.rules.open_ceiling);
        }
        Some(self.open(now))
    }

    fn open(&mut self, now: Instant) -> BreakerChange {
        let open_for = self.next_open;
        self.stage = BreakerStage::Open { until: now + open_for };
        self.next_open = open_for.saturating_mul(2).min(self.rules.open_ceiling);
        self.ejected_since.get_or_insert(now);
        self.held = false;
        BreakerChange::Opened(open_for)
    }

    fn close(&mut self, now: Instant) -> BreakerChange {
        self.stage = BreakerStage::Closed;
        self.window.clear();
        self.failed_in_a_row = 0;
        self.closed_at = Some(now);
        self.ejected_since = None;
        BreakerChange::Closed
    }
}
