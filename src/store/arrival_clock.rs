//! The arrival clock: the machine's clock, made monotonic and guarded against implausible jumps ahead.
//!
//! Feed order needs a time that never goes back, across restarts too. The machine's clock is stepped, and may
//! show any year at a start: one lead under a clock of 2030 would silence every feed until then.
//!
//! | the machine's clock | arrivals |
//! |---|---|
//! | runs, or is stepped ahead by at most [`jump`] | follow it |
//! | is further ahead | run on at the pace of real time; follow once it has stayed ahead for [`hold`] |
//! | is behind them | run on at half the pace of real time until it has caught up |
//!
//! At a start, and while the clock is behind, it is followed if it is ahead of the last arrival by at most
//! [`gap`](ClockLimits::gap). A feed measures the age of a record by it ([`ArrivalClock::aged_us`]).
//!
//! [`jump`]: ClockLimits::jump
//! [`hold`]: ClockLimits::hold

use std::collections::VecDeque;
use std::time::Duration;

use metrics::{counter, gauge};
use parking_lot::{Mutex, MutexGuard};
use tracing::{info, warn};

use super::clock::{Clock, FIRST_US};
use offerd_base::telemetry::metrics::{STORE_CLOCK_OFFSET, STORE_CLOCK_STEPS};

/// A step ahead of at most this length is ignored: it makes no record look older by more than this.
const STEP_US: u64 = 1_000_000;

/// How long steps are remembered: longer than any age given to [`aged_us`](ArrivalClock::aged_us).
const STEPS_KEPT_US: u64 = 2 * 3_600_000_000;

/// Upper bound on remembered steps. A clock that steps more often makes records look older than they are.
const STEPS_MAX: usize = 64;

/// Smallest change of the offset that updates the metric.
const SHOWN_US: u64 = 1_000_000;

/// Limits within which the machine's clock is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockLimits {
    /// The largest step ahead that is followed at once.
    pub jump: Duration,
    /// How long the clock must stay further ahead before it is followed.
    pub hold: Duration,
    /// How far it may be ahead of the last arrival at a start.
    pub gap: Duration,
}

impl Default for ClockLimits {
    fn default() -> Self {
        let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(24 * 3600));
        Self { jump: hour / 6, hold: day, gap: 30 * day }
    }
}

/// The machine's clock compared with arrivals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClockStatus {
    /// Arrivals follow the clock.
    #[default]
    Followed,
    /// The clock is this far ahead, so offerd uses a clock of its own for arrivals.
    Ahead(Duration),
    /// The clock is this far behind the last arrivals, which run on at half the pace.
    Behind(Duration),
    /// The clock shows a time before offerd existed.
    Unset,
}

/// The time for appending to feeds and reading them. Shared by writers and readers.
#[derive(Debug)]
pub(super) struct ArrivalClock {
    clock: Clock,
    limits: ClockLimits,
    state: Mutex<ClockState>,
}

#[derive(Debug, Default)]
struct ClockState {
    now_us: u64,
    /// The steady time up to which it has run.
    run_us: u64,
    /// Whether the machine's clock has agreed with it since it was last behind.
    agreed: bool,
    /// The steady time since which the machine's clock is doubted.
    doubted_us: Option<u64>,
    /// The steps ahead: the steady time of each, and the arrival time before it.
    steps: VecDeque<(u64, u64)>,
    status: ClockStatus,
    shown_us: i64,
}

impl ArrivalClock {
    /// A clock that continues after the last written arrival; 0 for none.
    pub(super) fn after(last_us: u64, clock: Clock, limits: ClockLimits) -> Self {
        gauge!(STORE_CLOCK_OFFSET).set(0.0);
        let wall_us = clock.now_us();
        // Time that passed while the store was closed is no step: earlier arrivals are that old.
        let believed = if limits.hold.is_zero() { u64::MAX } else { micros(limits.gap) };
        let agreed = last_us == 0 || (last_us..=last_us.saturating_add(believed)).contains(&wall_us);
        let (now_us, run_us) = (if agreed { wall_us } else { last_us }, clock.steady_us());
        let state = Mutex::new(ClockState { now_us, run_us, agreed, ..ClockState::default() });
        Self { clock, limits, state }
    }

    /// The arrival time, in microseconds since 1970: never earlier than a time returned before.
    pub(super) fn now_us(&self) -> u64 {
        self.read().0.now_us
    }

    /// A time ahead of neither clock: for expiry by age.
    pub(super) fn earlier_us(&self) -> u64 {
        let (state, wall_us) = self.read();
        state.now_us.min(wall_us)
    }

    /// The arrival time `age` ago: a record with an earlier arrival is at least that old.
    pub(super) fn aged_us(&self, age: Duration) -> u64 {
        let (state, _) = self.read();
        let age_us = micros(age);
        let since_step = |(at_us, before_us): &(u64, u64)| {
            let left_us = age_us.saturating_sub(state.run_us.saturating_sub(*at_us));
            if left_us == 0 { u64::MAX } else { before_us.saturating_sub(left_us) }
        };
        let before_steps = state.steps.iter().map(since_step).min().unwrap_or(u64::MAX);
        state.now_us.saturating_sub(age_us).min(before_steps)
    }

    pub(super) fn status(&self) -> ClockStatus {
        self.read().0.status
    }

    /// Reads the machine's clock, which may block in tests and so is not done under the lock.
    fn read(&self) -> (MutexGuard<'_, ClockState>, u64) {
        let (wall_us, steady_us) = (self.clock.now_us(), self.clock.steady_us());
        let mut state = self.state.lock();
        state.run(wall_us, steady_us, &self.limits);
        state.tell(wall_us, &self.limits);
        (state, wall_us)
    }
}

impl ClockState {
    /// Advances to a steady time, at which the machine's clock shows `wall_us`.
    fn run(&mut self, wall_us: u64, steady_us: u64, limits: &ClockLimits) {
        let passed_us = steady_us.saturating_sub(self.run_us);
        let expected_us = self.now_us.saturating_add(passed_us);
        if wall_us < expected_us {
            return self.wait_for(wall_us, passed_us, limits);
        }
        let ahead_us = wall_us - expected_us;
        let believed = if self.agreed { limits.jump } else { limits.gap };
        let held =
            self.doubted_us.is_some_and(|since| steady_us - since.min(steady_us) >= micros(limits.hold));
        self.run_us += passed_us;
        if ahead_us > micros(believed) && !held && !limits.hold.is_zero() {
            self.doubted_us.get_or_insert(steady_us);
            self.now_us = expected_us;
            return;
        }
        if ahead_us > STEP_US {
            self.steps.retain(|(at_us, _)| steady_us.saturating_sub(*at_us) < STEPS_KEPT_US);
            if self.steps.len() < STEPS_MAX {
                self.steps.push_back((steady_us, expected_us));
            }
        }
        self.doubted_us = None;
        self.agreed = true;
        self.now_us = wall_us;
    }

    /// For a machine's clock that is behind: runs at half pace, or meets the clock if it is that close.
    fn wait_for(&mut self, wall_us: u64, passed_us: u64, limits: &ClockLimits) {
        let slow_us = self.now_us + passed_us / 2;
        self.doubted_us = None;
        if wall_us >= slow_us {
            self.agreed = true;
            self.now_us = wall_us;
            self.run_us += passed_us;
        } else {
            self.agreed &= slow_us - wall_us <= micros(limits.jump);
            self.now_us = slow_us;
            // Keeps the odd microsecond, however often the clock is read.
            self.run_us += passed_us / 2 * 2;
        }
    }

    /// Updates the metric of the offset, and logs a change of status.
    fn tell(&mut self, wall_us: u64, limits: &ClockLimits) {
        let offset_us = wall_us.cast_signed().saturating_sub(self.now_us.cast_signed());
        if offset_us.abs_diff(self.shown_us) >= SHOWN_US || (offset_us == 0) != (self.shown_us == 0) {
            self.shown_us = offset_us;
            gauge!(STORE_CLOCK_OFFSET).set(offset_us as f64 / 1e6);
        }
        let off = Duration::from_micros(offset_us.unsigned_abs());
        let status = match offset_us {
            _ if self.doubted_us.is_some() => ClockStatus::Ahead(off),
            _ if wall_us <= FIRST_US => ClockStatus::Unset,
            behind if behind < 0 && off > limits.jump => ClockStatus::Behind(off),
            _ => ClockStatus::Followed,
        };
        if std::mem::discriminant(&status) != std::mem::discriminant(&self.status) {
            status.log(limits);
        }
        self.status = status;
    }
}

impl ClockStatus {
    fn log(self, limits: &ClockLimits) {
        let hold = limits.hold;
        match self {
            Self::Followed => info!("arrival times follow the system clock again"),
            Self::Ahead(off) => warn!(
                ahead_s = off.as_secs(),
                ?hold,
                "the system clock jumped ahead: offerd uses its own clock for arrivals, and follows the \
                    system clock once it has stayed ahead for `store.clock_hold`; set the clock if it is \
                    wrong"
            ),
            Self::Behind(off) => warn!(
                behind_s = off.as_secs(),
                "the system clock is behind the last arrivals: arrival times advance at half its pace until \
                    it has caught up; set the clock if it is wrong"
            ),
            Self::Unset => {
                warn!(
                    "the system clock is not set, so leads arrive with a wrong time; set it, then start offerd \
                        once with OFFERD__STORE__CLOCK_HOLD=0s"
                );
            }
        }
        counter!(STORE_CLOCK_STEPS, "to" => self.word()).increment(1);
    }

    fn word(self) -> &'static str {
        match self {
            Self::Followed => "followed",
            Self::Ahead(_) => "ahead",
            Self::Behind(_) | Self::Unset => "behind",
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
