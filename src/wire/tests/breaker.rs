//! The breaker as a pure state machine.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use crate::breaker::{Breaker, BreakerChange};
use crate::{BreakerRules, BreakerState};

const RULES: BreakerRules = BreakerRules {
    window: Duration::from_secs(10),
    minimum_calls: 4,
    failure_percent: 50,
    failures_in_a_row: u32::MAX,
    open_for: Duration::from_secs(5),
    open_ceiling: Duration::from_secs(30),
    probes: 2,
    successes: 3,
};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn fail(breaker: &mut Breaker, now: Instant, times: u32) -> Option<BreakerChange> {
    (0..times).map(|_| breaker.judge(now, false, || true)).last().flatten()
}

#[test]
fn it_opens_at_the_share_but_not_before_the_minimum() {
    let now = Instant::now();
    let mut breaker = Breaker::new(RULES);
    assert_eq!(fail(&mut breaker, now, 3), None);
    assert_eq!(breaker.judge(now, true, || true), Some(BreakerChange::Opened(seconds(5))));
    assert_eq!(breaker.state(), BreakerState::Open);
    assert_eq!(breaker.ejected_since, Some(now));

    let mut healthy = Breaker::new(RULES);
    for ok in [true, true, true, false, false] {
        assert_eq!(healthy.judge(now, ok, || true), None);
    }
    // Three of six.
    assert_eq!(healthy.judge(now, false, || true), Some(BreakerChange::Opened(seconds(5))));
}

#[test]
fn failures_in_a_row_open_it_below_the_minimum() {
    let rules = BreakerRules { minimum_calls: 20, failures_in_a_row: 5, ..RULES };
    // The second at which each call ends, whether well, and whether it opens at the last one.
    let cases: [(&[(u64, bool)], bool); 6] = [
        (&[(0, false), (0, false), (0, false), (0, false)], false),
        (&[(0, false), (0, false), (0, false), (0, false), (0, false)], true),
        // One call in a minute is enough, since each failed.
        (&[(0, false), (60, false), (120, false), (180, false), (240, false)], true),
        (&[(0, false), (0, false), (0, true), (0, false), (0, false), (0, false)], false),
        (&[(0, true), (1, false), (1, false), (1, false), (1, false), (1, false)], false),
        // The success has left the window.
        (&[(0, true), (11, false), (11, false), (11, false), (11, false), (11, false)], true),
    ];
    for (calls, opens) in cases {
        let (now, mut breaker) = (Instant::now(), Breaker::new(rules));
        let turns = calls.iter().map(|(at, ok)| breaker.judge(now + seconds(*at), *ok, || true));
        let turns: Vec<_> = turns.collect();
        let (last, earlier) = turns.split_last().unwrap();
        assert_eq!(*last, opens.then_some(BreakerChange::Opened(seconds(5))), "{calls:?}");
        assert!(earlier.iter().all(Option::is_none), "{calls:?}: {turns:?}");
    }
    // The group's limit holds for it too, and a closed breaker counts anew.
    let (now, mut breaker) = (Instant::now(), Breaker::new(rules));
    fail(&mut breaker, now, 4);
    assert_eq!(breaker.judge(now, false, || false), Some(BreakerChange::NotEjected));
    assert_eq!(breaker.judge(now, false, || true), Some(BreakerChange::Opened(seconds(5))));
    for _ in 0..rules.successes {
        assert!(breaker.admits(now + seconds(5)));
        breaker.judge(now + seconds(5), true, || true);
    }
    assert_eq!((breaker.state(), fail(&mut breaker, now + seconds(6), 4)), (BreakerState::Closed, None));
}

#[test]
fn a_lower_ceiling_and_an_operator_let_calls_through_sooner() {
    let now = Instant::now();
    let mut breaker = Breaker::new(RULES);
    fail(&mut breaker, now, 4);
    assert_eq!(breaker.open_until(), Some(now + seconds(5)));
    breaker.set_open_ceiling(now, seconds(2));
    assert_eq!(breaker.open_until(), Some(now + seconds(2)));
    assert!(!breaker.admits(now + seconds(1)) && breaker.admits(now + seconds(2)));
    assert_eq!(breaker.judge(now + seconds(2), false, || true), Some(BreakerChange::Opened(seconds(2))));
    breaker.set_open_ceiling(now, seconds(30));
    assert_eq!(breaker.open_until(), Some(now + seconds(4)), "a higher one holds from the next time on");

    assert!(breaker.probe(now + seconds(3)));
    let later = now + seconds(3);
    assert!(breaker.admits(later) && breaker.admits(later) && !breaker.admits(later), "two probes");
    assert_eq!(breaker.judge(later, false, || true), Some(BreakerChange::Opened(seconds(5))));
    assert!(!Breaker::new(RULES).probe(now), "a closed one lets every call through");
}

#[test]
fn successes_alone_never_open_it() {
    let now = Instant::now();
    let mut breaker = Breaker::new(BreakerRules { failure_percent: 0, ..RULES });
    assert_eq!([(); 4].map(|()| breaker.judge(now, true, || true)), [None; 4]);
    assert_eq!(breaker.judge(now, false, || true), Some(BreakerChange::Opened(seconds(5))));
}

#[test]
fn failures_that_have_left_the_window_do_not_count() {
    let now = Instant::now();
    let mut breaker = Breaker::new(RULES);
    assert_eq!(fail(&mut breaker, now, 3), None);
    assert_eq!(fail(&mut breaker, now + seconds(10), 3), None);
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[test]
fn probes_close_it_or_open_it_for_twice_as_long() {
    let mut now = Instant::now();
    let mut breaker = Breaker::new(RULES);
    fail(&mut breaker, now, 4);
    for open_for in [5, 10, 20, 30, 30].map(seconds) {
        assert!(!breaker.admits(now + open_for - Duration::from_millis(1)), "{open_for:?}");
        now += open_for;
        assert!(breaker.admits(now) && breaker.admits(now));
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        assert!(!breaker.admits(now), "two probes at a time");
        let again = (2 * open_for).min(RULES.open_ceiling);
        assert_eq!(
            breaker.judge(now, false, || false),
            Some(BreakerChange::Opened(again)),
            "no room is asked for"
        );
        assert_eq!(breaker.judge(now, true, || true), None, "the other probe comes too late");
    }
    now += seconds(30);
    assert!(breaker.admits(now) && breaker.admits(now));
    assert_eq!(breaker.judge(now, true, || true), None);
    assert!(breaker.admits(now), "a place is free again");
    assert_eq!(breaker.judge(now, true, || true), None);
    assert_eq!(breaker.judge(now, true, || true), Some(BreakerChange::Closed));
    assert_eq!((breaker.state(), breaker.ejected_since), (BreakerState::Closed, None));
    assert_eq!(fail(&mut breaker, now, 3), None, "what was before is forgotten");
}

#[test]
fn it_starts_from_the_beginning_once_it_has_been_well() {
    for (well_for, open_for) in [(9, 10), (10, 5)] {
        let mut now = Instant::now();
        let mut breaker = Breaker::new(RULES);
        fail(&mut breaker, now, 4);
        now += seconds(5);
        for _ in 0..3 {
            assert!(breaker.admits(now));
            breaker.judge(now, true, || true);
        }
        assert_eq!(
            fail(&mut breaker, now + seconds(well_for), 4),
            Some(BreakerChange::Opened(seconds(open_for)))
        );
    }
}

#[test]
fn without_room_it_stays_closed_and_says_so_once() {
    let now = Instant::now();
    let mut breaker = Breaker::new(RULES);
    fail(&mut breaker, now, 3);
    assert_eq!(breaker.judge(now, false, || false), Some(BreakerChange::NotEjected));
    assert_eq!(breaker.judge(now, false, || false), None);
    assert!(breaker.admits(now));
    // After a healthy period it is reported anew; and it opens when there is room.
    let later = now + seconds(20);
    assert_eq!(breaker.judge(later, true, || false), None);
    assert_eq!(
        [(); 3].map(|()| breaker.judge(later, false, || false)),
        [None, None, Some(BreakerChange::NotEjected)]
    );
    assert_eq!(breaker.judge(later, false, || true), Some(BreakerChange::Opened(seconds(5))));
}

#[test]
fn probes_that_nobody_judges_do_not_hold_their_places_for_ever() {
    let mut now = Instant::now();
    let mut breaker = Breaker::new(RULES);
    fail(&mut breaker, now, 4);
    now += seconds(5);
    assert!(breaker.admits(now) && breaker.admits(now) && !breaker.admits(now));
    let later = now + seconds(10);
    assert!(breaker.admits(later) && breaker.admits(later) && !breaker.admits(later));
    let mut given_up = Breaker::new(RULES);
    fail(&mut given_up, now, 4);
    now += seconds(5);
    assert!(given_up.admits(now) && given_up.admits(now) && !given_up.admits(now));
    given_up.forget();
    assert!(given_up.admits(now) && !given_up.admits(now));
}

proptest! {
    /// Under any sequence of events it opens only on enough failures, blocks calls for the announced time,
    /// and never admits more probes than allowed.
    #[test]
    fn it_keeps_its_rules(steps in prop::collection::vec((0_u64..4_000, 0_u8..4, any::<bool>()), 1..400)) {
        let rules = BreakerRules { minimum_calls: 6, failures_in_a_row: 3, ..RULES };
        let mut now = Instant::now();
        let mut breaker = Breaker::new(rules);
        let (mut judged_while_closed, mut in_a_row) = (0_u32, 0_u32);
        let mut kept_until = None;
        let (mut half_open_since, mut probes, mut judged) = (now, 0_u32, 0_u32);
        for (millis, step, room) in steps {
            now += Duration::from_millis(millis);
            let before = breaker.state();
            if step == 0 {
                let admitted = breaker.admits(now);
                prop_assert!(admitted || before != BreakerState::Closed);
                prop_assert!(!(admitted && kept_until.is_some_and(|until| now < until)));
                if before == BreakerState::Open && admitted {
                    (half_open_since, probes, judged) = (now, 0, 0);
                }
                if breaker.state() == BreakerState::HalfOpen && admitted {
                    probes += 1;
                    // Probes without a verdict are forgotten after a while, but no sooner.
                    let whiles = (now - half_open_since).as_millis() / RULES.open_for.as_millis();
                    prop_assert!(probes <= judged + RULES.probes * (1 + whiles as u32));
                }
                continue;
            }
            let ok = step == 1;
            let turn = breaker.judge(now, ok, || room);
            if before == BreakerState::Closed {
                in_a_row = if ok { 0 } else { in_a_row + 1 };
                let tally = breaker.tally(now);
                let mostly = tally.calls >= rules.minimum_calls && tally.failed * 2 >= tally.calls;
                let failing = mostly || (in_a_row >= 3 && tally.failed == tally.calls);
                prop_assert_eq!(breaker.state() == BreakerState::Open, failing && room);
            }
            judged += 1;
            judged_while_closed += u32::from(before == BreakerState::Closed);
            match turn {
                Some(BreakerChange::Opened(open_for)) => {
                    let least = rules.failures_in_a_row;
                    prop_assert!(before == BreakerState::HalfOpen || judged_while_closed >= least);
                    prop_assert!(before == BreakerState::HalfOpen || room);
                    prop_assert!(open_for >= RULES.open_for && open_for <= RULES.open_ceiling);
                    kept_until = Some(now + open_for);
                    judged_while_closed = 0;
                    prop_assert_eq!(breaker.state(), BreakerState::Open);
                }
                Some(BreakerChange::Closed) => {
                    in_a_row = 0;
                    prop_assert!(ok && before == BreakerState::HalfOpen);
                    prop_assert_eq!(breaker.state(), BreakerState::Closed);
                }
                Some(BreakerChange::NotEjected) => prop_assert!(!room && breaker.state() == BreakerState::Closed),
                None => prop_assert_eq!(breaker.state(), before),
            }
            prop_assert_eq!(breaker.ejected_since.is_none(), breaker.state() == BreakerState::Closed);
        }
    }
}
