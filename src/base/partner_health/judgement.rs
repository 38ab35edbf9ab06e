//! The judgement: how asks end now, against how they usually end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::health::Health;
use super::history::{Counts, Ending};
use super::tail::at_least;

/// How seldom a look at a partner that is as usual takes it for worse.
const SELDOM: f64 = 1e-6;

/// The share of asks that fail, or run out of time, of a partner of which nothing is known.
const USUAL: f64 = 0.02;

/// Asks that this stands for.
const USUAL_OF: f64 = 50.0;

/// The share of asks that is too much, whatever is usual, and of how many at least.
const TOO_MUCH: f64 = 0.4;
const ALWAYS_OF: f64 = 30.0;

/// The least share that matters.
const MATTERS: f64 = 0.05;

/// How many times as much as usual matters.
const TIMES: f64 = 2.0;

/// Asks below which no share is looked at.
const FEWEST: f64 = 4.0;

/// By how much more than usual it must decline.
const DECLINES_MORE: f64 = 0.1;

/// Answers that are enough to tell how long they take, or how many hold no offers: now, and before.
const ANSWERS_NOW: f64 = 10.0;
const ANSWERS_BEFORE: f64 = 100.0;

/// How many times as long as usual an answer must take, typically.
const SLOWER: f64 = 1.5;

/// Seconds that an answer must take, typically, before it is slow.
const NOTICED: f64 = 0.25;

/// Standard errors by which it must differ, which is about as seldom.
const ERRORS: f64 = 4.8;

/// Most of the asks that are taken for running out of time as usual, where silence is judged.
const SILENT_USUAL: f64 = 0.5;

/// How well a seat is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The word for it.
    pub health: Health,
    /// What is not as usual, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// Asks, and since when they are counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Span {
    pub(super) counts: Counts,
    pub(super) long: Duration,
}

/// Judges how asks end `now`, and how they have ended `lately`, by how they end usually. `silences` ran out of time since the last that
/// did not.
pub(super) fn judge(now: &Span, lately: &Span, usual: &Counts, silences: u64) -> Judgement {
    let failed = Ends::of(now, lately, Ending::Failed, usual);
    let timed_out = Ends::of(now, lately, Ending::TimedOut, usual);
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

/// The asks that end in one way, now and lately.
struct Ends {
    now: Share,
    lately: Share,
}

impl Ends {
    fn of(now: &Span, lately: &Span, ending: Ending, usual: &Counts) -> Self {
        let usual = shrunk(usual.of(ending), usual.asks());
        let share = |Span { counts, long }: &Span| Share {
            seen: counts.of(ending),
            of: counts.asks(),
            usual,
            long: *long,
        };
        Self { now: share(now), lately: share(lately) }
    }

    /// The share that is more than usual, or too much whatever is usual. What was lately is over when it is not so now.
    fn too_many(&self) -> Option<&Share> {
        let Self { now, lately } = self;
        let is_always = lately.of >= ALWAYS_OF && lately.share() >= TOO_MUCH;
        match now.matters() {
            true if now.is_unusual() => Some(now),
            true if lately.is_unusual() => Some(lately),
            _ => (is_always && now.share() >= TOO_MUCH / 2.0).then_some(lately),
        }
    }
}

/// So much of so many.
struct Share {
    seen: f64,
    of: f64,
    /// The usual share.
    usual: f64,
    long: Duration,
}

impl Share {
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

/// The usual share, drawn to that of a partner of which nothing is known where it has been asked little.
fn shrunk(seen: f64, of: f64) -> f64 {
    (seen + USUAL * USUAL_OF) / (of + USUAL_OF)
}

/// How many ran out of time beside.
fn late(timed_out: &Share) -> String {
    match timed_out.seen.round() {
        0.0 => String::new(),
        late => format!("; {late} more ran out of time"),
    }
}

fn silent(silences: u64, usual: f64) -> Option<(Health, String)> {
    let chance = usual.min(SILENT_USUAL).powf(silences as f64);
    let is_silent = silences as f64 >= FEWEST && chance < SELDOM;
    is_silent.then(|| (Health::Silent, format!("the last {silences} asks ran out of time")))
}

/// Whether its answers take longer, by the logarithms of their times.
fn slower(now: &Counts, usual: &Counts) -> Option<(Health, String)> {
    if now.answers() < ANSWERS_NOW || usual.answers() < ANSWERS_BEFORE {
        return None;
    }
    let (mean, before) = (now.logs / now.answers(), usual.logs / usual.answers());
    let variance = (usual.squares / usual.answers() - before * before).max(0.0);
    let error = (variance / now.answers()).sqrt();
    let is_slower = mean - before >= SLOWER.ln() && mean - before >= ERRORS * error;
    let told = || format!("answers typically take {}, usually {}", seconds(mean), seconds(before));
    (is_slower && mean.exp() >= NOTICED).then(|| (Health::Slow, told()))
}

fn seconds(log: f64) -> String {
    format!("{:.2} s", log.exp())
}

fn declines_more(lately: &Span, usual: &Counts) -> Option<(Health, String)> {
    let Span { counts, long } = lately;
    if counts.answers() < ANSWERS_NOW || usual.answers() < ANSWERS_BEFORE {
        return None;
    }
    let usual = shrunk(usual.of(Ending::Declined), usual.answers());
    let declined = Share { seen: counts.of(Ending::Declined), of: counts.answers(), usual, long: *long };
    let more = declined.share() - declined.usual >= DECLINES_MORE && declined.is_unusual();
    more.then(|| (Health::DecliningMore, declined.words("answers held no offers")))
}
