//! The history of how a seat's asks have ended.

use std::collections::VecDeque;
use std::time::Duration;

use super::health::Health;
use super::judgement::{CountedPeriod, Judgement, judge};

const STEP: Duration = Duration::from_secs(10);

const STEPS_KEPT: Duration = Duration::from_secs(30 * 60);

const NOW: Duration = Duration::from_secs(60);

/// Asks to which "now" is extended, if there are steps.
const ASKS_NOW: f64 = 10.0;

/// The span of "lately", for judgements that need more asks and are less urgent.
const LATELY: Duration = Duration::from_secs(10 * 60);

const ASKS_LEAST: f64 = 5.0;

/// Asks before the last half hour that are enough to know what is usual.
const ASKS_USUAL: f64 = 100.0;

const HALF_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The kind of an ask's ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndingKind {
    /// With offers.
    Offered,
    /// With an answer without offers.
    Declined,
    /// With an error.
    Failed,
    /// Without an answer in time.
    TimedOut,
}

/// Asks by [`EndingKind`]; fractional after decay.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EndingCounts {
    ends: [f64; 4],
    /// Of the answer times in seconds, natural logarithms.
    pub(super) sum_of_logs: f64,
    /// Of these logarithms.
    pub(super) sum_of_squares: f64,
}

/// How the asks of one seat have ended.
#[derive(Debug, Clone, Default)]
pub struct AskHistory {
    steps: VecDeque<(u64, EndingCounts)>,
    past: EndingCounts,
    past_as_of: u64,
    /// When an ask last ended other than by a timeout.
    heard_at: Duration,
    /// Timeouts of asks that began after that. Earlier asks do not count: slow concurrent ones end last.
    silences: u64,
}

impl AskHistory {
    /// Notes an ask that ended at a time, and how long it took.
    pub fn note(&mut self, at: Duration, ending: EndingKind, elapsed: Duration) {
        let step = step_of(at);
        if ending != EndingKind::TimedOut {
            (self.heard_at, self.silences) = (at, 0);
        } else if at.saturating_sub(elapsed) >= self.heard_at {
            self.silences += 1;
        }
        match self.steps.back_mut() {
            // Threads may read the clock in one order and note in another.
            Some((last, counts)) if *last >= step => counts.count(ending, elapsed),
            _ => {
                self.fade(step);
                let mut counts = EndingCounts::default();
                counts.count(ending, elapsed);
                self.steps.push_back((step, counts));
            }
        }
    }

    /// Counts an ask from long before the first noted one.
    pub fn recall(&mut self, ending: EndingKind, elapsed: Duration) {
        self.past.count(ending, elapsed);
    }

    /// The judgement of the seat at a time.
    pub fn judgement(&self, at: Duration) -> Judgement {
        let now_step = step_of(at);
        let within = |step: u64, span: Duration| step + span.as_secs() / STEP.as_secs() > now_step;
        let (mut now, mut lately, mut before) =
            (CountedPeriod::default(), CountedPeriod::default(), EndingCounts::default());
        for (step, counts) in self.steps.iter().rev().filter(|(step, _)| within(*step, STEPS_KEPT)) {
            let since = at.saturating_sub(STEP * u32::try_from(*step).unwrap_or(u32::MAX));
            let is_now = within(*step, NOW) || now.counts.asks() < ASKS_NOW;
            if is_now {
                now.counts.add(counts, 1.0);
                now.long = since.max(NOW);
            }
            if is_now || within(*step, LATELY) {
                lately.counts.add(counts, 1.0);
                lately.long = since.max(LATELY);
            } else {
                before.add(counts, 1.0);
            }
        }
        if now.counts.asks() < ASKS_LEAST {
            return Judgement { health: Health::Unknown, cause: None };
        }
        let mut usual = self.past;
        if usual.asks() < ASKS_USUAL {
            usual.add(&before, 1.0);
        }
        judge([&now, &lately], &usual, self.silences)
    }

    fn fade(&mut self, step: u64) {
        let kept = STEPS_KEPT.as_secs() / STEP.as_secs();
        while let Some((old, counts)) = self.steps.front().copied() {
            if old + kept > step {
                break;
            }
            let passed = (old.saturating_sub(self.past_as_of) * STEP.as_secs()) as f64;
            let rest = 0.5_f64.powf(passed / HALF_LIFE.as_secs_f64());
            let mut past = counts;
            past.add(&self.past, rest);
            (self.past, self.past_as_of) = (past, old);
            self.steps.pop_front();
        }
    }
}

fn step_of(at: Duration) -> u64 {
    at.as_secs() / STEP.as_secs()
}

impl EndingCounts {
    pub(super) fn of(&self, ending: EndingKind) -> f64 {
        self.ends[ending as usize]
    }

    pub(super) fn asks(&self) -> f64 {
        self.ends.iter().sum()
    }

    pub(super) fn answers(&self) -> f64 {
        self.of(EndingKind::Offered) + self.of(EndingKind::Declined)
    }

    fn count(&mut self, ending: EndingKind, elapsed: Duration) {
        self.ends[ending as usize] += 1.0;
        if let EndingKind::Offered | EndingKind::Declined = ending {
            // A zero duration has no logarithm.
            let log = elapsed.as_secs_f64().max(1e-6).ln();
            self.sum_of_logs += log;
            self.sum_of_squares += log * log;
        }
    }

    fn add(&mut self, other: &Self, weight: f64) {
        self.ends.iter_mut().zip(other.ends).for_each(|(ends, more)| *ends += more * weight);
        self.sum_of_logs += other.sum_of_logs * weight;
        self.sum_of_squares += other.sum_of_squares * weight;
    }
}
