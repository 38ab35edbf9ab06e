//! A circuit breaker: calls are kept back from a far side that mostly fails, and a few probes find out when it is well.
//!
//! ```text
//! closed ── failure share over the window ──► open ── its time has passed ──► half-open ── successes ──► closed
//!                                               ▲                                │
//!                                               └────── a failure; twice as long ┘
//! ```
//!
//! A pure machine: the time is handed in, and whether there is room in the panel is asked for.

use std::time::Duration;

use tokio::time::Instant;

use super::window::{CallTally, Window};

/// When a breaker opens, for how long, and how it closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerRules {
    /// How far back verdicts count.
    pub window: Duration,
    /// Fewest calls within the window that say anything.
    pub minimum_calls: u32,
    /// Share of failed ones from which on it opens.
    pub failure_percent: u8,
    /// How long it stays open at first; twice as long each time that it opens again.
    pub open_for: Duration,
    /// How long it stays open at most.
    pub open_ceiling: Duration,
    /// How many calls it lets through at a time while it is half-open.
    pub probes: u32,
    /// How many of them must succeed before it closes.
    pub successes: u32,
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(30),
            minimum_calls: 20,
            failure_percent: 50,
            open_for: Duration::from_secs(5),
            open_ceiling: Duration::from_secs(300),
            probes: 2,
            successes: 4,
        }
    }
}

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls pass.
    Closed,
    /// A few calls pass, to see how they end.
    HalfOpen,
    /// No call passes until its time has passed.
    Open,
}

/// What a verdict has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It opened, for this long.
    Opened(Duration),
    /// It would have opened, and the panel had no room. Said once until the failures end.
    Held,
    /// It closed.
    Closed,
}

/// A circuit breaker.
#[derive(Debug, Clone)]
pub struct Breaker {
    rules: BreakerRules,
    window: Window,
    stage: Stage,
    /// How long it stays open when it opens next, unless it has been well for that long.
    next_open: Duration,
    /// When it last closed.
    closed_at: Option<Instant>,
    /// When it last left the closed state; kept until it closes.
    pub ejected_since: Option<Instant>,
    /// Whether [`Turn::Held`] has been said.
    held: bool,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Closed,
    Open { until: Instant },
    HalfOpen { under_way: u32, successes: u32, anew_at: Instant },
}

impl Breaker {
    /// A closed one.
    pub fn new(rules: BreakerRules) -> Self {
        Self {
            rules,
            window: Window::new(rules.window),
            stage: Stage::Closed,
            next_open: rules.open_for.min(rules.open_ceiling),
            closed_at: None,
            ejected_since: None,
            held: false,
        }
    }

    /// Whether a call may pass now. One that passes must end in [`Self::judge`] or [`Self::forget`].
    pub fn admits(&mut self, now: Instant) -> bool {
        match &mut self.stage {
            Stage::Closed => true,
            Stage::Open { until } if now < *until => false,
            Stage::Open { until } => {
                let anew_at = now + self.next_open.max(now.saturating_duration_since(*until));
                self.stage = Stage::HalfOpen { under_way: 1, successes: 0, anew_at };
                true
            }
            Stage::HalfOpen { under_way, anew_at, .. } => {
                // Probes on which nobody ever passed judgement do not hold their places for ever.
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

    /// A call has ended well or not. `room` is asked whether the panel can do without this endpoint.
    pub fn judge(&mut self, now: Instant, ok: bool, room: impl FnOnce() -> bool) -> Option<Turn> {
        match &mut self.stage {
            Stage::Closed => {
                self.window.add(now, ok);
                self.trip(now, room)
            }
            // The end of a call that was begun before.
            Stage::Open { .. } => None,
            Stage::HalfOpen { under_way, successes, .. } => {
                *under_way = under_way.saturating_sub(1);
                if !ok {
                    return Some(self.open(now));
                }
                *successes += 1;
                (*successes >= self.rules.successes).then(|| self.close(now))
            }
        }
    }

    /// A call was given up for reasons that say nothing of the far side.
    pub fn forget(&mut self) {
        if let Stage::HalfOpen { under_way, .. } = &mut self.stage {
            *under_way = under_way.saturating_sub(1);
        }
    }

    /// Where it stands.
    pub fn state(&self) -> BreakerState {
        match self.stage {
            Stage::Closed => BreakerState::Closed,
            Stage::Open { .. } => BreakerState::Open,
            Stage::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Calls and failures within the window.
    pub(super) fn tally(&self, now: Instant) -> CallTally {
        self.window.tally(now)
    }

    fn trip(&mut self, now: Instant, room: impl FnOnce() -> bool) -> Option<Turn> {
        let tally = self.window.tally(now);
        let failing = tally.calls >= self.rules.minimum_calls.max(1)
            && tally.failed > 0
            && tally.failed_percent(self.rules.failure_percent);
        if !failing {
            self.held = false;
            return None;
        }
        if !room() {
            let said = std::mem::replace(&mut self.held, true);
            return (!said).then_some(Turn::Held);
        }
        // What was well for as long as it would now be kept out starts from the beginning.
        if self.closed_at.is_none_or(|at| now.saturating_duration_since(at) >= self.next_open) {
            self.next_open = self.rules.open_for.min(self.rules.open_ceiling);
        }
        Some(self.open(now))
    }

    fn open(&mut self, now: Instant) -> Turn {
        let open_for = self.next_open;
        self.stage = Stage::Open { until: now + open_for };
        self.next_open = open_for.saturating_mul(2).min(self.rules.open_ceiling);
        self.ejected_since.get_or_insert(now);
        self.held = false;
        Turn::Opened(open_for)
    }

    fn close(&mut self, now: Instant) -> Turn {
        self.stage = Stage::Closed;
        self.window.clear();
        self.closed_at = Some(now);
        self.ejected_since = None;
        Turn::Closed
    }
}
