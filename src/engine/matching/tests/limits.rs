//! Limits under submits, refusals, interruptions and restarts, on a clock that the test moves.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Datelike, Utc};
use futures_util::future::join_all;

use super::*;
use crate::matching::limiter::{SeatStatus, State};
use crate::matching::pausing;
use crate::matching::preview::{self, Preview};
use crate::rate_table::reason::{Denied, Reason};
use crate::rate_table::seating::Verdict;
use offerd_base::telemetry::metrics::{LIMIT_USED, METRICS, SEATS_DENIED};
use offerd_partners::limits::declared::Period;
use offerd_store::pauses::Pause;

/// A clock in the past, so that moving it never overtakes the UUIDs of tables.
#[derive(Clone)]
pub(super) struct Hand(Arc<AtomicI64>);

impl Hand {
    fn at(moment: &str) -> Self {
        Self(Arc::new(AtomicI64::new(moment.parse::<DateTime<Utc>>().unwrap().timestamp_millis())))
    }

    /// This time of day, some days ago.
    pub(super) fn days_ago(days: i64, time: &str) -> Self {
        let day = Utc::now().date_naive() - chrono::Days::new(days.unsigned_abs());
        Self::at(&format!("{day}T{time}Z"))
    }

    /// A day of last month.
    fn last_month(day: u32, time: &str) -> Self {
        let today = Utc::now().date_naive();
        let month = today.with_day(1).unwrap() - chrono::Months::new(1);
        Self::at(&format!("{}T{time}Z", month.with_day(day).unwrap()))
    }

    fn advance_days(&self, days: u64) {
        self.advance(Duration::from_secs(days * 24 * 3600));
    }

    pub(super) fn clock(&self) -> Clock {
        let hand = self.clone();
        Clock::new(move || (hand.0.load(Ordering::SeqCst) * 1000).cast_unsigned())
    }

    pub(super) fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl World {
    fn statuses(&self) -> Vec<SeatStatus> {
        let engine = self.matchmaker.engine();
        engine.limiter.statuses(&engine.book())
    }

    fn status(&self, nth: usize) -> SeatStatus {
        self.statuses().swap_remove(nth)
    }
}

fn limited(partner: PartnerFile, product: &str, limits: &str) -> PartnerFile {
    partner.and(&format!("\n[products.{product}.limits]\n{limits}\n"))
}

fn special_offers(snapshot: &TableSnapshot) -> usize {
    json(snapshot)["specialOffers"].as_array().unwrap().len()
}

#[test]
fn a_minute_and_a_day_end_when_the_clock_says_so() {
    paused(async {
        let hand = Hand::days_ago(3, "10:00:30");
        let caps = "per_minute = 1\nper_day = 2\ntime_zone = 'Asia/Tokyo'";
        let partners = [limited(partner("capped").loan(""), "loan", caps)];
        let world = World::with_clock(&partners, rules(), hand.clock()).await;
        let asked = async || loan_offers(&world.submit(Until::Complete).await);
        assert_eq!((asked().await, asked().await), (1, 0));
        hand.advance(Duration::from_secs(30));
        assert_eq!((asked().await, asked().await), (1, 0));
        hand.advance(Duration::from_secs(600));
        assert_eq!(asked().await, 0);
        // In Tokyo the day ends at 15:00 UTC.
        let day_ends = world.status(0).until.unwrap();
        assert_eq!(day_ends.format("%H:%M").to_string(), "15:00");
        hand.advance(Duration::from_millis((day_ends.timestamp_millis() - hand.now()).unsigned_abs()));
        assert_eq!(asked().await, 1);
    });
}

#[test]
fn the_metrics_name_every_cap_and_every_denial() {
    let help = |name| METRICS.iter().find(|metric| metric.name == name).unwrap().help;
    let caps = Period::ALL.map(|period| (LIMIT_USED, period.key()));
    // An experiment leaves a seat out before the limiter is asked.
    let denials = Denied::ALL.iter().filter(|denied| **denied != Denied::Experiment);
    let denials = denials.map(|denied| (SEATS_DENIED, Reason::from(*denied).word()));
    for (name, word) in caps.into_iter().chain(denials) {
        assert!(help(name).contains(word), "the help of {name} in base/telemetry/metrics.rs lacks {word}");
    }
}

#[test]
fn a_month_ends_when_the_clock_says_so_and_is_counted_again_after_a_crash() {
    paused(async {
        let hand = Hand::last_month(2, "10:00:00");
        let partners = [limited(partner("month").loan(""), "loan", "per_month = 2")];
        let world = World::with_clock(&partners, rules(), hand.clock()).await;
        let asked = async |world: &World| loan_offers(&world.submit(Until::Complete).await);
        assert_eq!((asked(&world).await, asked(&world).await, asked(&world).await), (1, 1, 0));
        hand.advance_days(5);
        let world = world.crash(&partners).await;
        assert_eq!(asked(&world).await, 0);
        let status = world.status(0);
        assert_eq!((status.state, status.asked_this_month), (State::Capped, Some(2)));
        let ends = status.until.unwrap();
        assert_eq!(ends.format("%d %H:%M").to_string(), "01 00:00");
        hand.advance(Duration::from_millis((ends.timestamp_millis() - hand.now()).unsigned_abs()));
        assert_eq!((asked(&world).await, asked(&world).await, asked(&world).await), (1, 1, 0));
    });
}

#[test]
fn a_week_is_one_from_monday() {
    paused(async {
        let hand = Hand::last_month(1, "10:00:00");
        let monday = DateTime::from_timestamp_millis(hand.now()).unwrap();
        let to_monday = (7 - u64::from(monday.weekday().num_days_from_monday())) % 7;
        hand.advance_days(to_monday);
        let partners = [limited(partner("week").loan(""), "loan", "per_week = 1")];
        let world = World::with_clock(&partners, rules(), hand.clock()).await;
        let asked = async || loan_offers(&world.submit(Until::Complete).await);
        assert_eq!((asked().await, asked().await), (1, 0));
        hand.advance_days(6);
        assert_eq!(asked().await, 0);
        hand.advance_days(1);
        assert_eq!((asked().await, asked().await), (1, 0));
    });
}

#[test]
fn the_first_cap_of_a_month_that_a_reload_brings_counts_what_was_asked_before() {
    paused(async {
        let hand = Hand::last_month(2, "10:00:00");
        let with = |limits: &str| [limited(partner("capped").loan(""), "loan", limits)];
        let world = World::with_clock(&with(""), rules(), hand.clock()).await;
        let asked = async || loan_offers(&world.submit(Until::Complete).await);
        // Without a cap that needs them, asks older than a day are not kept.
        assert_eq!((asked().await, asked().await), (1, 1));
        hand.advance_days(3);
        assert_eq!(asked().await, 1);
        hand.advance_days(2);
        assert_eq!(asked().await, 1);
        world.configure(&with("per_month = 5"), rules()).await;
        assert_eq!(world.status(0).asked_this_month, Some(4));
        assert_eq!((asked().await, asked().await), (1, 0));
    });
}

#[test]
fn a_partner_is_asked_in_its_hours_only() {
    paused(async {
        let hand = Hand::days_ago(3, "19:59:59");
        let hours = "schedule = [ { from = '08:00', to = '20:00' } ]";
        let partners = [limited(partner("office").loan(""), "loan", hours)];
        let world = World::with_clock(&partners, rules(), hand.clock()).await;
        assert_eq!(loan_offers(&world.submit(Until::Complete).await), 1);
        hand.advance(Duration::from_secs(1));
        assert_eq!(loan_offers(&world.submit(Until::Complete).await), 0);
        let status = world.status(0);
        let opens_in = status.until.unwrap().timestamp_millis() - hand.now();
        assert_eq!((status.state, opens_in), (State::OutsideSchedule, 12 * 3_600_000));
        hand.advance(Duration::from_secs(12 * 3600));
        assert_eq!(loan_offers(&world.submit(Until::Complete).await), 1);
    });
}

#[test]
fn second_look_counts_when_it_begins_and_not_while_it_is_held() {
    paused(async {
        let lender = limited(partner("lender").loan(""), "loan", "per_day = 1");
        let second = limited(partner("second").second_look(2.0, ""), "other", "per_day = 1");
        let world = World::of(&[lender, second]).await;
        let first = world.submit(Until::Complete).await;
        assert_eq!((loan_offers(&first), special_offers(&first)), (1, 0));
        assert_eq!(world.status(1).asked_today, 0, "it was held, and not needed");
        let looked_again = world.submit(Until::Complete).await;
        assert_eq!((loan_offers(&looked_again), special_offers(&looked_again)), (0, 1));
        assert_eq!(world.status(1).asked_today, 1);
        let nobody_left = world.submit(Until::Complete).await;
        assert_eq!((special_offers(&nobody_left), nobody_left.pending), (0, false));
    });
}

#[test]
fn limits_hold_when_second_look_begins_and_not_when_it_is_held() {
    paused(async {
        let slow = partner("slow").loan(r#"simulate = { delay = "2s", failure_rate = 1.0 }"#);
        let world = World::of(&[slow, partner("second").second_look(2.0, "")]).await;
        let held = world.submit(Until::Prompt).await;
        assert_eq!(pending(&held), ["slow", "second"]);
        let pause = Pause::now("p1", None, "test", None);
        pausing::pause(world.matchmaker.engine(), pause, async |commit| {
            world.matchmaker.engine().records.store.commit(commit).await
        })
        .await
        .unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let complete = world.poll(uuid(&held)).await;
        assert_eq!((special_offers(&complete), complete.pending), (0, false));
        assert_eq!(world.status(1).asked_today, 0);
    });
}

#[test]
fn a_seat_for_which_no_time_is_left_counts_nothing_before_and_after_a_restart() {
    paused(async {
        let mut rules = rules();
        rules.matching.deadline = Duration::from_millis(55);
        let partners = [partner("prompt").loan("")];
        let world = World::with_rules(&partners, rules).await;
        world.submit(Until::Complete).await;
        assert_eq!(world.status(0).asked_today, 0);
        let world = world.crash(&partners).await;
        assert_eq!(world.status(0).asked_today, 0);
    });
}

#[test]
fn of_submits_at_once_no_more_are_asked_than_may_be() {
    paused(async {
        let partners = [limited(partner("capped").loan(""), "loan", "per_day = 7")];
        let world = World::of(&partners).await;
        let tables = join_all((0..20).map(|_| world.submit(Until::Complete))).await;
        assert_eq!(tables.iter().map(loan_offers).sum::<usize>(), 7);
        assert_eq!(world.status(0).asked_today, 7);
    });
}

#[test]
fn threads_that_ask_at_once_are_let_through_no_more_often_than_may_be() {
    paused(async {
        let world = World::of(&[limited(partner("capped").loan(""), "loan", "per_day = 50")]).await;
        let engine = world.matchmaker.engine();
        let book = engine.book();
        let ask = || {
            let admitted = (0..40)
                .map(|_| engine.limiter.judge_seats(false, Uuid::nil(), 1, &[&book.seats()[0]], &[None]).1);
            admitted.filter(|verdicts| *verdicts == [Verdict::Seated]).count()
        };
        let let_through: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(let_through, 50);
    });
}

#[test]
fn changed_files_change_limits_and_keep_what_was_counted() {
    paused(async {
        let hand = Hand::days_ago(3, "10:00:00");
        let with = |limits: &str| [limited(partner("capped").loan(""), "loan", limits)];
        let world = World::with_clock(&with("per_day = 1"), rules(), hand.clock()).await;
        let asked = async || loan_offers(&world.submit(Until::Complete).await);
        assert_eq!((asked().await, asked().await), (1, 0));
        world.configure(&with("per_day = 2"), rules()).await;
        assert_eq!((asked().await, asked().await), (1, 0));
        // In a time zone where it is already tomorrow, the day starts later, and earlier asks do not count.
        hand.advance(Duration::from_secs(6 * 3600));
        assert_eq!(asked().await, 0);
        world.configure(&with("per_day = 2\ntime_zone = 'Asia/Tokyo'"), rules()).await;
        assert_eq!(asked().await, 1);
    });
}

#[test]
fn a_paused_partner_is_not_previewed() {
    paused(async {
        let world = World::of(&[partner("one").savings(""), partner("two").savings("")]).await;
        let engine = world.matchmaker.engine();
        let shown = || {
            let product_type = offerd_model::ProductType::Savings;
            let preview = Preview {
                product_type,
                lead: Lead::default(),
                max_deposit: None,
                limit: None,
                newer_values: false,
                company: Uuid::nil(),
            };
            serde_json::from_slice::<Value>(&preview::show(engine, preview))
                .unwrap()
                .as_array()
                .unwrap()
                .len()
        };
        assert_eq!(shown(), 2);
        let pause = Pause::now("p0", None, "test", None);
        pausing::pause(engine, pause, async |commit| engine.records.store.commit(commit).await)
            .await
            .unwrap();
        assert_eq!(shown(), 1);
    });
}

#[derive(Debug, Clone)]
enum Step {
    /// This many leads are submitted concurrently.
    Submit(usize),
    /// An earlier lead is submitted again.
    Duplicate,
    /// The disk fails during a submit, and the process with it.
    DiskFails,
    /// Time passes.
    Pass(Duration),
    /// The process is killed and restarted, with work in flight.
    Crash,
    /// All work in flight finishes.
    Settle,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..4_usize).prop_map(Step::Submit),
        1 => Just(Step::Duplicate),
        1 => Just(Step::DiskFails),
        2 => (1..90_u64).prop_map(|seconds| Step::Pass(Duration::from_secs(seconds))),
        1 => (1..20_u64).prop_map(|hours| Step::Pass(Duration::from_secs(hours * 3600))),
        1 => Just(Step::Crash),
        1 => Just(Step::Settle),
    ]
}

const MINUTE_CAP: u32 = 2;
const DAY_CAP: u32 = 5;
const NAMED: &str = r#"{"uuid":"7d9f2c1e-33aa-4c7f-8b5d-0a1b2c3d4e5f","productTypes":["savings"]}"#;

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    /// For every sequence of events: in no minute and on no day is a partner asked more often than its cap,
    /// at first or second look; it is asked up to its cap; and a restart restores the counts.
    #[test]
    fn no_window_ever_holds_more_asks_than_its_cap(steps in prop::collection::vec(any_step(), 1..25)) {
        paused(async {
            let hand = Hand::days_ago(30, "04:58:20");
            let caps = format!("per_minute = {MINUTE_CAP}\nper_day = {DAY_CAP}\ntime_zone = 'America/New_York'");
            // Both are slow, so that a crash finds them asked but unanswered.
            let slow = simulate("2s");
            let partners = [
                limited(partner("lender").loan(&slow), "loan", &caps),
                limited(partner("second").second_look(2.0, &slow), "other", "per_day = 3"),
            ];
            let zone: chrono_tz::Tz = "America/New_York".parse().unwrap();
            let mut world = World::with_clock(&partners, rules(), hand.clock()).await;
            let mut by_minute: HashMap<i64, u32> = HashMap::new();
            let mut by_day: HashMap<chrono::NaiveDate, u32> = HashMap::new();
            let mut second_by_day: HashMap<chrono::NaiveDate, u32> = HashMap::new();

            for step in steps {
                let minute = hand.now().div_euclid(60_000);
                let now = DateTime::from_timestamp_millis(hand.now()).unwrap();
                let (day, utc_day) = (now.with_timezone(&zone).date_naive(), now.date_naive());
                match step {
                    Step::Submit(leads) => {
                        let tables = join_all((0..leads).map(|_| world.submit(Until::Prompt))).await;
                        for table in tables {
                            let asked = pending(&table);
                            let may = *by_minute.entry(minute).or_default() < MINUTE_CAP
                                && *by_day.entry(day).or_default() < DAY_CAP;
                            prop_assert_eq!(asked.contains(&"lender".to_owned()), may);
                            if may {
                                *by_minute.entry(minute).or_default() += 1;
                                *by_day.entry(day).or_default() += 1;
                                continue;
                            }
                            // No first-look partner was asked, so second look started at once.
                            let second = second_by_day.entry(utc_day).or_default();
                            prop_assert_eq!(asked.contains(&"second".to_owned()), *second < 3);
                            *second += u32::from(*second < 3);
                        }
                    }
                    Step::Duplicate => {
                        let _ = world.try_submit_lead(NAMED, Until::Prompt).await;
                        let twice = world.try_submit_lead(&LEAD.replacen('{', r#"{"uuid":"7d9f2c1e-33aa-4c7f-8b5d-0a1b2c3d4e5f","#, 1), Until::Prompt).await;
                        prop_assert!(matches!(twice, Err(LeadRefusal::Duplicate(_))));
                    }
                    Step::DiskFails => {
                        tokio::time::sleep(Duration::from_secs(20)).await;
                        let before = world.statuses();
                        world.disk.set(true);
                        prop_assert_eq!(world.try_submit(Until::Prompt).await.unwrap_err(), LeadRefusal::StoreFailed);
                        prop_assert_eq!(world.statuses(), before);
                        world.disk.set(false);
                        // It is unknown whether an unacknowledged commit survives: here it does.
                        world = world.crash(&partners).await;
                        let lender = world.status(0);
                        if lender.asked_today > *by_day.entry(day).or_default() {
                            *by_minute.entry(minute).or_default() += 1;
                            *by_day.entry(day).or_default() += 1;
                        }
                        recover(&world.matchmaker).await;
                        tokio::time::sleep(Duration::from_secs(20)).await;
                        second_by_day.insert(utc_day, world.status(1).asked_today);
                    }
                    Step::Pass(time) => hand.advance(time),
                    Step::Crash => {
                        let before = world.statuses();
                        world = world.crash(&partners).await;
                        prop_assert_eq!(world.statuses(), before.clone());
                        recover(&world.matchmaker).await;
                        // Where no time was left for a lender's answer, second look has started.
                        tokio::time::sleep(Duration::from_secs(20)).await;
                        prop_assert_eq!(world.status(0), before[0].clone(), "what is asked again counts once");
                        second_by_day.insert(utc_day, world.status(1).asked_today);
                    }
                    Step::Settle => tokio::time::sleep(Duration::from_secs(20)).await,
                }
                let lender = world.status(0);
                prop_assert!(lender.asked_this_minute <= MINUTE_CAP && lender.asked_today <= DAY_CAP);
                prop_assert!(world.status(1).asked_today <= 3);
            }
            Ok(())
        })?;
    }
}
