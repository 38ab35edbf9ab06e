//! The clock of arrivals: the machine's, made so that it never goes back and never runs far ahead of what is likely.
//!
//! What orders the feeds has to grow for ever, over restarts too, and the machine's clock does not: it is stepped by whoever
//! keeps it, shows any year at a start, and comes back from it. Were arrivals the larger of the clock and the last arrival,
//! one lead under a clock of the year 2030 would silence every feed until then. So this one is read instead:
//!
//! | the machine's clock | arrivals |
//! |---|---|
//! | runs, or is stepped ahead by [`jump`](ClockLimits::jump) at most | follow it |
//! | is further ahead | run on without it, at the pace of real time; they follow when it has stayed ahead for [`hold`](ClockLimits::hold) |
//! | is behind them | run on at half the pace of real time until it has caught up |
//!
//! At a start, and while the clock is behind, there is nothing to hold it against but the last arrival: it is followed when it is
//! ahead of that by [`gap`](ClockLimits::gap) at most.
//!
//! So arrivals always run, and are off the machine's clock only while that is doubted or was wrong. A feed counts the age
//! of a record by this clock too ([`ArrivalClock::aged_us`]), so it goes on whatever the machine's shows.

use std::{collections::VecDeque, time::Duration};

use metrics::{counter, gauge};
use parking_lot::{Mutex, MutexGuard};
use tracing::{info, warn};

use super::clock::Clock;
use offerd_base::telemetry::metrics::{STORE_CLOCK_OFFSET, STORE_CLOCK_STEPS};

/// A step ahead that is shorter is none: it makes no record older than it is by more than this.
const STEP_US: u64 = 1_000_000;

/// How long steps are remembered: longer than anything that is asked to be [aged](ArrivalClock::aged_us).
const STEPS_KEPT_US: u64 = 2 * 3_600_000_000;

/// How many steps are remembered at most. A clock that steps more often makes records seem older than they are.
const STEPS_MAX: usize = 64;

/// By how much the offset has to change to be shown anew.
const SHOWN_US: u64 = 1_000_000;

/// What of the machine's clock is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockLimits {
    /// How far it may be stepped ahead at once.
    pub jump: Duration,
    /// How long it has to stay further ahead to be followed.
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

/// How the machine's clock and arrivals stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockStanding {
    /// Arrivals follow the clock.
    Followed,
    /// The clock is so far ahead that arrivals run on without it.
    Ahead(Duration),
    /// The clock is so far behind the last arrivals, which run on at half the pace.
    Behind(Duration),
}

/// Gives the time to whoever appends to a feed or reads one. Shared by both.
#[derive(Debug)]
pub(super) struct ArrivalClock {
    clock: Clock,
    limits: ClockLimits,
    face: Mutex<Face>,
}

/// What the clock shows, and what it has to know to go on.
#[derive(Debug)]
struct Face {
    now_us: u64,
    /// The steady time up to which it has run.
    run_us: u64,
    /// Whether the machine's clock has agreed with it since it was behind.
    agreed: bool,
    /// Since which steady time the machine's clock is doubted.
    doubted_us: Option<u64>,
    /// Steps ahead, the oldest first.
    steps: VecDeque<Step>,
    standing: ClockStanding,
    shown_us: i64,
}

/// A step ahead.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// The steady time of it.
    at_us: u64,
    /// What was shown before it.
    before_us: u64,
}

impl ArrivalClock {
    /// A clock that goes on after the last arrival that was written; 0 when there was none.
    pub(super) fn after(last_us: u64, clock: Clock, limits: ClockLimits) -> Self {
        gauge!(STORE_CLOCK_OFFSET).set(0.0);
        let wall_us = clock.now_us();
        // What has passed since is no step: what arrived before is that old.
        let believed = if limits.hold.is_zero() { u64::MAX } else { micros(limits.gap) };
        let agreed = last_us == 0 || (last_us..=last_us.saturating_add(believed)).contains(&wall_us);
        let face = Mutex::new(Face {
            now_us: if agreed { wall_us } else { last_us },
            run_us: clock.steady_us(),
            agreed,
            doubted_us: None,
            steps: VecDeque::new(),
            standing: ClockStanding::Followed,
            shown_us: 0,
        });
        Self { clock, limits, face }
    }

    /// The time of arrivals, in microseconds since 1970: never earlier than it was before.
    pub(super) fn now_us(&self) -> u64 {
        self.read().0.now_us
    }

    /// A time that is ahead of neither clock: of what is kept or forgotten by its age.
    pub(super) fn earlier_us(&self) -> u64 {
        let (face, wall_us) = self.read();
        face.now_us.min(wall_us)
    }

    /// The time of arrivals that now is so old: what arrived before it did so at least that long ago.
    pub(super) fn aged_us(&self, age: Duration) -> u64 {
        let (face, _) = self.read();
        let age_us = micros(age);
        let since_step = |step: &Step| {
            let left_us = age_us.saturating_sub(face.run_us.saturating_sub(step.at_us));
            if left_us == 0 { u64::MAX } else { step.before_us.saturating_sub(left_us) }
        };
        let before_steps = face.steps.iter().map(since_step).min().unwrap_or(u64::MAX);
        face.now_us.saturating_sub(age_us).min(before_steps)
    }

    /// How the machine's clock stands to it.
    pub(super) fn standing(&self) -> ClockStanding {
        self.read().0.standing
    }

    /// Looks at the machine's clock, which may block in tests and so is not done under the lock.
    fn read(&self) -> (MutexGuard<'_, Face>, u64) {
        let (wall_us, steady_us) = (self.clock.now_us(), self.clock.steady_us());
        let mut face = self.face.lock();
        face.run(wall_us, steady_us, &self.limits);
        face.tell(wall_us, &self.limits);
        (face, wall_us)
    }
}

impl Face {
    /// Runs on to a steady time, at which the machine's clock shows `wall_us`.
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
            self.note_step(Step { at_us: steady_us, before_us: expected_us });
        }
        self.doubted_us = None;
        self.agreed = true;
        self.now_us = wall_us;
    }

    /// The machine's clock is behind: half of what has passed, so that it comes up, unless it is that close already.
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
            // The odd microsecond is not lost, however often it is read.
            self.run_us += passed_us / 2 * 2;
        }
    }

    fn note_step(&mut self, step: Step) {
        self.steps.retain(|earlier| step.at_us - earlier.at_us.min(step.at_us) < STEPS_KEPT_US);
        if self.steps.len() < STEPS_MAX {
            self.steps.push_back(step);
        }
    }

    /// Shows how the clocks stand to each other, and logs it when that has changed.
    fn tell(&mut self, wall_us: u64, limits: &ClockLimits) {
        let offset_us = wall_us.cast_signed().saturating_sub(self.now_us.cast_signed());
        if offset_us.abs_diff(self.shown_us) >= SHOWN_US || (offset_us == 0) != (self.shown_us == 0) {
            self.shown_us = offset_us;
            gauge!(STORE_CLOCK_OFFSET).set(offset_us as f64 / 1e6);
        }
        let off = Duration::from_micros(offset_us.unsigned_abs());
        let standing = match offset_us {
            _ if self.doubted_us.is_some() => ClockStanding::Ahead(off),
            behind if behind < 0 && off > limits.jump => ClockStanding::Behind(off),
            _ => ClockStanding::Followed,
        };
        if std::mem::discriminant(&standing) != std::mem::discriminant(&self.standing) {
            standing.log(limits);
        }
        self.standing = standing;
    }
}

impl ClockStanding {
    fn log(self, limits: &ClockLimits) {
        let hold = limits.hold;
        match self {
            Self::Followed => info!("arrivals follow the clock of this machine again"),
            Self::Ahead(off) => warn!(
                ahead_s = off.as_secs(),
                ?hold,
                "the clock of this machine is ahead of what has passed since the last arrival: arrivals run on without it, and \
                 follow when it has stayed there for `store.clock_hold`; set the clock if it is wrong"
            ),
            Self::Behind(off) => warn!(
                behind_s = off.as_secs(),
                "the clock of this machine is behind the last arrivals: they run on at half its pace until it has caught up; set \
                 the clock if it is wrong"
            ),
        }
        counter!(STORE_CLOCK_STEPS, "to" => self.word()).increment(1);
    }

    /// The word for it in metrics.
    fn word(self) -> &'static str {
        match self {
            Self::Followed => "followed",
            Self::Ahead(_) => "ahead",
            Self::Behind(_) => "behind",
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
