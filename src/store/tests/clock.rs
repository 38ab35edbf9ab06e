//! Arrivals under a wrong machine clock: how far they follow it, with nothing dropped or misplaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::super::arrival_clock::ArrivalClock;
use super::super::clock::FIRST_US;
use super::*;

const COMPANY: Uuid = Uuid::from_u128(0xC0);
const MINUTE: u64 = 60_000_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;
const NOW: u64 = 1_795_000_000_000_000;

/// The machine's clock, and the time that really passes.
#[derive(Default)]
struct Machine {
    wall: Arc<AtomicU64>,
    steady: Arc<AtomicU64>,
}

impl Machine {
    fn at(wall_us: u64) -> Self {
        let machine = Self::default();
        machine.set(wall_us);
        machine
    }

    fn set(&self, wall_us: u64) {
        self.wall.store(wall_us, Ordering::SeqCst);
    }

    fn shown(&self) -> u64 {
        self.wall.load(Ordering::SeqCst)
    }

    fn pass(&self, us: u64) {
        self.wall.fetch_add(us, Ordering::SeqCst);
        self.steady.fetch_add(us, Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        let (wall, steady) = (Arc::clone(&self.wall), Arc::clone(&self.steady));
        Clock::with_steady(move || wall.load(Ordering::SeqCst), move || steady.load(Ordering::SeqCst))
    }

    /// The arrival clock after a last arrival at `last_us`.
    fn arrivals(&self, last_us: u64) -> ArrivalClock {
        ArrivalClock::after(last_us, self.clock(), ClockLimits::default())
    }

    fn options(&self, directory: &Directory) -> StoreOptions {
        StoreOptions { clock: self.clock(), ..StoreOptions::new(directory.path()) }
    }
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

#[test]
fn a_step_ahead_by_minutes_is_followed_and_a_longer_one_when_it_has_stayed() {
    let machine = Machine::at(NOW);
    let arrivals = machine.arrivals(NOW - HOUR);
    machine.pass(MINUTE);
    assert_eq!(arrivals.now_us(), NOW + MINUTE);
    machine.set(NOW + 11 * MINUTE);
    assert_eq!((arrivals.now_us(), arrivals.status()), (NOW + 11 * MINUTE, ClockStatus::Followed));
    machine.set(NOW + 4 * YEAR);
    assert_eq!(arrivals.now_us(), NOW + 11 * MINUTE);
    assert_eq!(arrivals.status(), ClockStatus::Ahead(us(4 * YEAR - 11 * MINUTE)));
    machine.pass(DAY - 1);
    assert_eq!(arrivals.now_us(), NOW + 11 * MINUTE + DAY - 1, "advance at half its pace");
    machine.pass(1);
    assert_eq!((arrivals.now_us(), arrivals.status()), (NOW + 4 * YEAR + DAY, ClockStatus::Followed));
}

#[test]
fn a_step_ahead_that_is_taken_back_leaves_no_trace() {
    let machine = Machine::at(NOW);
    let arrivals = machine.arrivals(NOW - HOUR);
    for _ in 0..3 {
        machine.set(machine.shown() + 4 * YEAR);
        assert!(matches!(arrivals.status(), ClockStatus::Ahead(_)));
        // Each time anew, regardless of earlier doubts.
        machine.pass(DAY - MINUTE);
        arrivals.now_us();
        machine.set(machine.shown() - 4 * YEAR);
        assert_eq!((arrivals.now_us(), arrivals.status()), (machine.shown(), ClockStatus::Followed));
    }
}

#[test]
fn a_clock_that_is_behind_is_waited_for_at_half_the_pace() {
    let machine = Machine::at(NOW);
    let arrivals = machine.arrivals(NOW - HOUR);
    machine.set(NOW - HOUR);
    assert_eq!((arrivals.now_us(), arrivals.status()), (NOW, ClockStatus::Behind(us(HOUR))));
    // However often it is read.
    for _ in 0..1001 {
        machine.pass(1);
        arrivals.now_us();
    }
    assert_eq!(arrivals.now_us(), NOW + 500);
    machine.pass(2 * HOUR);
    assert_eq!((arrivals.now_us(), arrivals.status()), (machine.shown(), ClockStatus::Followed));
    machine.pass(HOUR);
    assert_eq!(arrivals.now_us(), machine.shown());
}

#[test]
fn a_start_believes_a_clock_that_is_days_ahead_and_not_one_that_is_years_ahead() {
    let after = |gap| {
        let machine = Machine::at(NOW + gap);
        machine.arrivals(NOW).now_us()
    };
    assert_eq!([after(0), after(HOUR), after(30 * DAY)], [NOW, NOW + HOUR, NOW + 30 * DAY]);
    assert_eq!(after(30 * DAY + 1), NOW, "the last arrival");
    assert_eq!(Machine::at(4 * YEAR + NOW).arrivals(0).now_us(), 4 * YEAR + NOW, "a store without any");
    let machine = Machine::at(NOW - YEAR);
    let unset = machine.arrivals(NOW);
    assert_eq!(unset.now_us(), NOW);
    machine.set(NOW + 3 * DAY);
    assert_eq!(unset.now_us(), NOW + 3 * DAY, "it is set by its keeper after the start");
}

#[test]
fn a_clock_that_was_never_set_is_named_at_a_first_start_too() {
    let machine = Machine::at(FIRST_US);
    assert_eq!(machine.arrivals(0).status(), ClockStatus::Unset);
    assert_eq!(machine.arrivals(NOW).status(), ClockStatus::Unset);
    machine.set(FIRST_US + DAY);
    assert_eq!(machine.arrivals(0).status(), ClockStatus::Followed);
}

#[test]
fn whoever_does_not_want_to_wait_believes_at_once() {
    let machine = Machine::at(NOW);
    let limits = ClockLimits { hold: Duration::ZERO, ..ClockLimits::default() };
    let arrivals = ArrivalClock::after(NOW - YEAR, machine.clock(), limits);
    assert_eq!((arrivals.now_us(), arrivals.status()), (NOW, ClockStatus::Followed));
}

#[test]
fn what_is_aged_is_that_old_by_what_has_passed() {
    let machine = Machine::at(NOW);
    let arrivals = machine.arrivals(NOW - DAY);
    assert_eq!(arrivals.aged_us(us(HOUR)), NOW - HOUR);
    machine.set(NOW + 9 * MINUTE);
    assert_eq!(arrivals.aged_us(us(HOUR)), NOW - HOUR, "nothing has passed");
    machine.pass(HOUR - 1);
    assert_eq!(arrivals.aged_us(us(HOUR)), NOW - 1);
    machine.pass(1);
    assert_eq!(arrivals.aged_us(us(HOUR)), NOW + 9 * MINUTE, "what arrived since is next");
}

/// A store with an event of a lead, whose clock then shows a year ahead, and that begins a volume each hour.
fn under_a_clock_of_the_future(machine: &Machine, directory: &Directory) -> Store {
    let volume_age = us(HOUR);
    let store = Store::open_inline_with(&StoreOptions { volume_age, ..machine.options(directory) }).unwrap();
    append(&store);
    machine.pass(MINUTE);
    machine.set(machine.shown() + 4 * YEAR);
    append(&store);
    store
}

fn append(store: &Store) {
    store.commit_now(Commit::new().append(Tree::LeadEvents, COMPANY, "happened")).unwrap();
}

/// A table made now, with a record of it.
fn make_table(store: &Store, nth: u64) -> Uuid {
    let table = Uuid::from_u128(u128::from(store.arrival_ms()) << 80 | 7 << 76 | 2 << 62 | u128::from(nth));
    let commit = Commit::new().about(table).put(Tree::RateTables, table, "head");
    store.commit_now(commit.append(Tree::LeadEvents, COMPANY, "made")).unwrap();
    table
}

#[tokio::test]
async fn a_clock_of_the_future_makes_nothing_old_and_begins_no_volume_behind_it() {
    let (machine, directory) = (Machine::at(NOW), directory());
    let store = under_a_clock_of_the_future(&machine, &directory);
    let retention_ms = 7 * DAY / 1000;
    let before_ms = store.now_ms().cast_unsigned() - retention_ms;
    assert_eq!(store.drop_before(before_ms, store.now_ms()).await.unwrap(), None);
    let meanwhile = make_table(&store, 0);
    machine.pass(2 * HOUR);
    machine.set(machine.shown() - 4 * YEAR);
    let tables: Vec<Uuid> = (1..5)
        .map(|nth| {
            machine.pass(HOUR);
            make_table(&store, nth)
        })
        .collect();
    let volumes = store.volumes();
    assert_eq!(volumes.len(), 5, "one each hour");
    assert!(volumes.iter().all(|volume| volume.begun_at_ms <= machine.shown() / 1000));

    // A week later the volumes are dropped in order, each with the records of its time only.
    machine.pass(7 * DAY);
    let before_ms = store.now_ms().cast_unsigned() - retention_ms;
    while store.drop_before(before_ms, store.now_ms()).await.unwrap().is_some() {}
    let last = tables.last().unwrap();
    assert_eq!(store.payload(Tree::RateTables, meanwhile), None);
    assert_eq!(store.payload(Tree::RateTables, last), Some(b"head".to_vec()));
}

#[test]
fn arrivals_are_in_one_order_over_restarts_whatever_the_clock_says() {
    let (machine, directory) = (Machine::at(NOW), directory());
    let mut store = under_a_clock_of_the_future(&machine, &directory);
    for step in
        [0, -5 * YEAR.cast_signed(), 40 * DAY.cast_signed(), -HOUR.cast_signed(), 3 * YEAR.cast_signed()]
    {
        machine.set(machine.shown().saturating_add_signed(step));
        drop(store);
        store = Store::open_inline_with(&machine.options(&directory)).unwrap();
        append(&store);
        machine.pass(MINUTE);
        append(&store);
    }
    let arrivals: Vec<u64> = store.feed(COMPANY).iter().map(|key| key.arrival_us).collect();
    assert_eq!(arrivals.len(), 12);
    assert!(arrivals.is_sorted_by(|one, next| one < next), "{arrivals:?}");
    assert!(
        arrivals.iter().all(|arrival| *arrival < NOW + 31 * DAY),
        "within what a start believes: {arrivals:?}"
    );
}

#[test]
fn a_marked_time_is_kept_over_a_kill() {
    let (machine, directory) = (Machine::at(NOW), directory());
    let store = Store::open_inline_with(&machine.options(&directory)).unwrap();
    append(&store);
    machine.pass(5 * HOUR);
    assert_eq!(store.closed_us().unwrap(), NOW);
    store.commit_now(Commit::new().mark_time()).unwrap();
    assert_eq!(store.closed_us().unwrap(), NOW + 5 * HOUR);
    machine.set(NOW);
    let store = killed_with(store, &directory, &machine.options(&directory));
    append(&store);
    let last = store.feed(COMPANY).last().unwrap().arrival_us;
    assert!(last > NOW + 5 * HOUR);
}
