//! Partners with known behaviour, on a simulated clock.

use std::time::Duration;

use super::*;

/// Reproducible random draws (splitmix64).
struct Draws(u64);

impl Draws {
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A partner's behaviour: shares of failures, timeouts and empty answers, and the typical answer time.
#[derive(Debug, Clone, Copy)]
struct Manner {
    fails: f64,
    times_out: f64,
    declines: f64,
    takes: f64,
}

const WELL: Manner = Manner { fails: 0.005, times_out: 0.005, declines: 0.4, takes: 0.8 };

/// A seat that is asked again and again, and when its last ask ended.
struct Seat {
    history: AskHistory,
    at: f64,
    draws: Draws,
}

impl Seat {
    fn new(seed: u64) -> Self {
        Self { history: AskHistory::default(), at: 0.0, draws: Draws(seed) }
    }

    /// Asks at a rate for some minutes; returns a judgement every fifteen seconds.
    fn asked(&mut self, per_minute: f64, minutes: f64, manner: Manner) -> Vec<(f64, Health)> {
        let (begun, mut seen, mut next_look) = (self.at, Vec::new(), self.at + 15.0);
        while self.at < begun + minutes * 60.0 {
            // Arrivals of a Poisson process.
            self.at -= (1.0 - self.draws.fraction()).ln() * 60.0 / per_minute;
            while next_look <= self.at {
                seen.push((next_look - begun, self.judgement(next_look).health));
                next_look += 15.0;
            }
            let (ending, elapsed) = self.ending(manner);
            self.history.note(Duration::from_secs_f64(self.at), ending, Duration::from_secs_f64(elapsed));
        }
        seen
    }

    fn ending(&mut self, manner: Manner) -> (EndingKind, f64) {
        let draw = self.draws.fraction();
        if draw < manner.fails {
            return (EndingKind::Failed, 0.1);
        }
        if draw < manner.fails + manner.times_out {
            return (EndingKind::TimedOut, 5.0);
        }
        let took = manner.takes * (self.draws.fraction() + self.draws.fraction()).exp() / std::f64::consts::E;
        (
            if self.draws.fraction() < manner.declines { EndingKind::Declined } else { EndingKind::Offered },
            took,
        )
    }

    fn judgement(&self, at: f64) -> Judgement {
        self.history.judgement(Duration::from_secs_f64(at))
    }

    fn health(&self) -> Health {
        self.judgement(self.at).health
    }
}

/// Eight asks take longer at a low rate.
#[test]
fn of_a_seat_that_is_hardly_asked_half_the_asks_failing_is_seen_within_two_minutes_nearly_always() {
    let after = |seed| {
        let mut seat = Seat::new(seed);
        seat.asked(10.0, 12.0 * 60.0, WELL);
        let seen = seat.asked(10.0, 10.0, Manner { fails: 0.5, ..WELL });
        seen.iter().find(|(_, health)| *health == Health::Failing).expect("it fails").0
    };
    let in_time = (0..100).filter(|seed| after(*seed) <= 120.0).count();
    assert!(in_time >= 95, "{in_time} of 100");
}

#[test]
fn half_the_asks_failing_is_seen_within_a_hundred_seconds() {
    for per_minute in [30.0, 60.0, 600.0, 3000.0] {
        for seed in 0..20 {
            let mut seat = Seat::new(seed);
            seat.asked(per_minute, 60.0, WELL);
            let seen = seat.asked(per_minute, 5.0, Manner { fails: 0.5, ..WELL });
            let first = seen.iter().find(|(_, health)| *health == Health::Failing).expect("it fails");
            assert!(first.0 <= 100.0, "{per_minute} a minute, {seed}: after {} s", first.0);
            let cause = seat.judgement(seat.at).cause.expect("what is not as usual");
            assert!(cause.contains("asks failed in the last") && cause.contains("usually"), "{cause}");
        }
    }
}

#[test]
fn what_fails_is_told_with_its_last_failure() {
    let judged = |health, cause: Option<&str>| {
        let mut judged = Judgement { health, cause: cause.map(str::to_owned) };
        judged.add_last_failure(Some("the answer has status 401"));
        judged.cause
    };
    let told = Some("9 of 10 asks failed; last: the answer has status 401".to_owned());
    assert_eq!(judged(Health::Failing, Some("9 of 10 asks failed")), told);
    assert_eq!(judged(Health::DecliningMore, Some("declines")).as_deref(), Some("declines"));
    assert_eq!(judged(Health::Healthy, None), None);
}

#[test]
fn a_seat_that_has_just_begun_and_fails_half_its_asks_is_seen_too() {
    for seed in 0..10 {
        let seen = Seat::new(seed).asked(30.0, 3.0, Manner { fails: 0.5, ..WELL });
        let first = seen.iter().find(|(_, health)| *health == Health::Failing).expect("it fails");
        assert!(first.0 <= 60.0, "{seed}: after {} s", first.0);
    }
}

#[test]
fn one_that_is_as_always_is_healthy_all_day() {
    for (seed, manner) in [(1, WELL), (2, Manner { fails: 0.08, times_out: 0.1, declines: 0.9, takes: 3.0 })]
    {
        for per_minute in [3.0, 60.0] {
            let mut seat = Seat::new(seed);
            seat.asked(per_minute, 6.0 * 60.0, manner);
            let seen = seat.asked(per_minute, 24.0 * 60.0, manner);
            let unwell: Vec<_> = seen.iter().filter(|(_, health)| health.badness() > 0).collect();
            assert!(unwell.is_empty(), "{per_minute} a minute: {unwell:?}");
        }
    }
}

#[test]
fn each_way_of_being_unwell_has_its_word() {
    let silent = Manner { times_out: 1.0, fails: 0.0, ..WELL };
    for (manner, health) in [
        (Manner { fails: 0.15, ..WELL }, Health::Failing),
        (Manner { fails: 1.0, ..WELL }, Health::Failing),
        (Manner { times_out: 0.3, ..WELL }, Health::Slow),
        (Manner { takes: 2.0, ..WELL }, Health::Slow),
        (Manner { declines: 0.6, ..WELL }, Health::DecliningMore),
        (silent, Health::Silent),
        (WELL, Health::Healthy),
    ] {
        let mut seat = Seat::new(7);
        seat.asked(60.0, 12.0 * 60.0, WELL);
        seat.asked(60.0, 10.0, manner);
        assert_eq!(seat.health(), health, "{manner:?}: {:?}", seat.judgement(seat.at));
    }
}

/// Of concurrent asks, those that time out end last.
#[test]
fn a_burst_does_not_end_in_silence() {
    let mut history = AskHistory::default();
    let [second, minute] = [1, 60].map(Duration::from_secs);
    for burst in 1..=5 {
        (0..40).for_each(|_| history.note(minute * burst + second, EndingKind::Offered, second));
        (0..8).for_each(|_| history.note(minute * burst + 5 * second, EndingKind::TimedOut, 5 * second));
    }
    assert_eq!(history.judgement(minute * 5 + 5 * second).health, Health::Slow);
    (0..8).for_each(|_| history.note(minute * 6 + 5 * second, EndingKind::TimedOut, 5 * second));
    assert_eq!(history.judgement(minute * 6 + 5 * second).health, Health::Silent);
}

#[test]
fn the_worst_word_is_the_one() {
    let mut seat = Seat::new(7);
    seat.asked(60.0, 12.0 * 60.0, WELL);
    seat.asked(60.0, 3.0, Manner { fails: 0.3, times_out: 0.3, declines: 0.9, takes: 3.0 });
    assert_eq!(seat.health(), Health::Failing);
}

#[test]
fn who_answers_again_is_well_again() {
    let mut seat = Seat::new(3);
    seat.asked(60.0, 6.0 * 60.0, WELL);
    seat.asked(60.0, 30.0, Manner { fails: 1.0, ..WELL });
    let seen = seat.asked(60.0, 5.0, WELL);
    let (_, last) = seen.last().expect("it was looked at");
    assert_eq!(*last, Health::Healthy);
}

/// An hour of failures does not become usual; slowness over days does.
#[test]
fn what_is_usual_follows_slowly() {
    let mut seat = Seat::new(3);
    seat.asked(60.0, 12.0 * 60.0, WELL);
    seat.asked(60.0, 60.0, Manner { takes: 2.0, ..WELL });
    assert_eq!(seat.health(), Health::Slow);
    seat.asked(60.0, 5.0 * 24.0 * 60.0, Manner { takes: 2.0, ..WELL });
    assert_eq!(seat.health(), Health::Healthy);
    seat.asked(60.0, 10.0, Manner { takes: 2.0, fails: 0.5, ..WELL });
    seat.asked(60.0, 24.0 * 60.0, Manner { takes: 2.0, fails: 0.5, ..WELL });
    assert_eq!(seat.health(), Health::Failing, "half of all asks is too much, whatever is usual");
}

#[test]
fn little_says_nothing() {
    let mut history = AskHistory::default();
    assert_eq!(history.judgement(Duration::ZERO), Judgement { health: Health::Unknown, cause: None });
    assert_eq!(Health::Unknown.words(), "too few calls");
    let second = Duration::from_secs(1);
    (0..4).for_each(|_| history.note(second, EndingKind::Failed, second));
    assert_eq!(history.judgement(second).health, Health::Unknown);
    history.note(second, EndingKind::Failed, second);
    assert_eq!(history.judgement(second).health, Health::Failing);
    assert_eq!(history.judgement(3600 * second).health, Health::Unknown, "an hour without asks");
}

#[test]
fn the_worse_the_higher() {
    let words = [Health::DecliningMore, Health::Slow, Health::Failing, Health::Silent];
    assert_eq!(words.map(Health::badness), [1, 2, 3, 4]);
    assert!([Health::Healthy, Health::Unknown, Health::NotAsked].iter().all(|health| health.badness() == 0));
    assert_eq!(
        [0.0, 1.0, 4.0].map(Health::unwell),
        [None, Some(Health::DecliningMore), Some(Health::Silent)]
    );
    assert_eq!(serde_json::to_value(Health::DecliningMore).unwrap(), Health::DecliningMore.word());
}
