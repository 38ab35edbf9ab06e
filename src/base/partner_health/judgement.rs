//! The judgement: how asks end now, compared with how they usually end.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

use super::health::Health;
use super::history::{EndingCounts, EndingKind};

/// Probability that one look misjudges a partner in its usual state.
const SELDOM: f64 = 1e-6;

/// Prior share of asks that fail or time out.
const USUAL: f64 = 0.02;

const USUAL_OF: f64 = 50.0;

/// The share of asks that is always too much, and the asks required for it.
const TOO_MUCH: f64 = 0.4;
const ALWAYS_OF: f64 = 30.0;

const MATTERS: f64 = 0.05;

/// The multiple of the usual share that matters.
const TIMES: f64 = 2.0;

/// Fewest asks with an ending for its share to be judged.
const FEWEST: f64 = 4.0;

/// The smallest increase in declines that matters.
const DECLINES_MORE: f64 = 0.1;

/// Fewest answers for judging answer times or declines: now, and before.
const ANSWERS_NOW: f64 = 10.0;
const ANSWERS_BEFORE: f64 = 100.0;

/// The multiple of the usual answer time that counts as slow, for the typical answer.
const SLOWER: f64 = 1.5;

/// The shortest typical answer time that counts as slow, seconds.
const NOTICED: f64 = 0.25;

/// Standard errors of a significant difference; about the same probability as [`SELDOM`].
const ERRORS: f64 = 4.8;

/// Largest usual share of timeouts assumed when judging silence.
const SILENT_USUAL: f64 = 0.5;

/// The health of a seat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The state.
    pub health: Health,
    /// The deviation from the usual, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

impl Judgement {
    /// Adds the last failure of a call to the cause, if the seat's asks fail or time out.
    pub fn add_last_failure(&mut self, last: Option<&str>) {
        let fails = matches!(self.health, Health::Failing | Health::Slow | Health::Silent);
        if let (true, Some(cause), Some(last)) = (fails, &mut self.cause, last) {
            cause.push_str("; last: ");
            cause.push_str(last);
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CountedPeriod {
    pub(super) counts: EndingCounts,
    pub(super) long: Duration,
}

/// `silences`: the timeouts since the last ask that ended otherwise.
pub(super) fn judge([now, lately]: [&CountedPeriod; 2], usual: &EndingCounts, silences: u64) -> Judgement {
    let failed = EndingShares::of([now, lately], EndingKind::Failed, usual);
    let timed_out = EndingShares::of([now, lately], EndingKind::TimedOut, usual);
    let found = silent(silences, timed_out.now.usual)
        .or_else(|| {
            failed.too_many().map(|told| (Health::Failing, told.words("asks failed") + &late(&timed_out.now)))
        })
        .or_else(|| timed_out.too_many().map(|told| (Health::Slow, told.words("asks ran out of time"))))
        .or_else(|| slower(&now.counts, usual))
        .or_else(|| declines_more(lately, usual));
    let (health, cause) = found.unzip();
    Judgement { health: health.unwrap_or(Health::Healthy), cause }
}

struct EndingShares {
    now: EndingShare,
    lately: EndingShare,
}

impl EndingShares {
    fn of([now, lately]: [&CountedPeriod; 2], ending: EndingKind, usual: &EndingCounts) -> Self {
        let usual = shrunk(usual.of(ending), usual.asks());
        let share = |CountedPeriod { counts, long }: &CountedPeriod| EndingShare {
            seen: counts.of(ending),
            of: counts.asks(),
            usual,
            long: *long,
        };
        Self { now: share(now), lately: share(lately) }
    }

    /// The share that is more than usual, or always too much. A past deviation counts only while it lasts.
    fn too_many(&self) -> Option<&EndingShare> {
        let Self { now, lately } = self;
        let is_always = lately.of >= ALWAYS_OF && lately.share() >= TOO_MUCH;
        match now.matters() {
            true if now.is_unusual() => Some(now),
            true if lately.is_unusual() => Some(lately),
            _ => (is_always && now.share() >= TOO_MUCH / 2.0).then_some(lately),
        }
    }
}

struct EndingShare {
    seen: f64,
    of: f64,
    usual: f64,
    long: Duration,
}

impl EndingShare {
    fn share(&self) -> f64 {
        self.seen / self.of
    }

    fn matters(&self) -> bool {
        self.share() >= MATTERS && self.share() >= self.usual * TIMES
    }

    fn is_unusual(&self) -> bool {
        let (seen, of) = (self.seen.round() as u64, self.of.round() as u64);
        self.seen >= FEWEST && at_least(seen, of, self.usual) < SELDOM
    }

    fn words(&self, what: &str) -> String {
        let (seen, of, usual) = (self.seen.round(), self.of.round(), self.usual * 100.0);
        let minutes = self.long.as_secs().div_ceil(60);
        format!("{seen} of {of} {what} in the last {minutes} min, usually {usual:.1} %")
    }
}

/// The usual share, shrunk towards the prior for partners with few asks.
fn shrunk(seen: f64, of: f64) -> f64 {
    (seen + USUAL * USUAL_OF) / (of + USUAL_OF)
}

fn late(timed_out: &EndingShare) -> String {
    match timed_out.seen.round() {
        0.0 => String::new(),
        late => format!("; {late} more timed out"),
    }
}

fn silent(silences: u64, usual: f64) -> Option<(Health, String)> {
    let chance = usual.min(SILENT_USUAL).powf(silences as f64);
    let is_silent = silences as f64 >= FEWEST && chance < SELDOM;
    is_silent.then(|| (Health::Silent, format!("the last {silences} asks timed out")))
}

fn slower(now: &EndingCounts, usual: &EndingCounts) -> Option<(Health, String)> {
    if now.answers() < ANSWERS_NOW || usual.answers() < ANSWERS_BEFORE {
        return None;
    }
    let (mean, before) = (now.sum_of_logs / now.answers(), usual.sum_of_logs / usual.answers());
    let variance = (usual.sum_of_squares / usual.answers() - before * before).max(0.0);
    let error = (variance / now.answers()).sqrt();
    let is_slower = mean - before >= SLOWER.ln() && mean - before >= ERRORS * error;
    let told = || format!("answers typically take {}, usually {}", seconds(mean), seconds(before));
    (is_slower && mean.exp() >= NOTICED).then(|| (Health::Slow, told()))
}

fn seconds(log: f64) -> String {
    format!("{:.2} s", log.exp())
}

fn declines_more(lately: &CountedPeriod, usual: &EndingCounts) -> Option<(Health, String)> {
    let CountedPeriod { counts, long } = lately;
    if counts.answers() < ANSWERS_NOW || usual.answers() < ANSWERS_BEFORE {
        return None;
    }
    let usual = shrunk(usual.of(EndingKind::Declined), usual.answers());
    let declined =
        EndingShare { seen: counts.of(EndingKind::Declined), of: counts.answers(), usual, long: *long };
    let more = declined.share() - declined.usual >= DECLINES_MORE && declined.is_unusual();
    more.then(|| (Health::DecliningMore, declined.words("answers held no offers")))
}

/// The probability of `seen` or more out of `of`, each with probability `share` (upper binomial tail).
fn at_least(seen: u64, of: u64, share: f64) -> f64 {
    let beyond = |before: u64| Binomial::new(share, of).map_or(1.0, |all| all.sf(before));
    seen.checked_sub(1).map_or(1.0, beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_tail_of_the_binomial() {
        let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 1e-6;
        assert!(near(at_least(1, 1, 0.25), 0.25));
        assert!(near(at_least(2, 3, 0.5), 0.5));
        assert!(near(at_least(5, 20, 0.005), 4.5511019e-08), "{}", at_least(5, 20, 0.005));
        assert!(near(at_least(3000, 6000, 0.5), 0.5051501), "{}", at_least(3000, 6000, 0.5));
        assert_eq!((at_least(0, 9, 0.1), at_least(3, 2, 0.1), at_least(1, 9, 0.0)), (1.0, 0.0, 0.0));
    }
}
