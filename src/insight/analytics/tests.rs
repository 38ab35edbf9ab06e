//! The guarantees of the feeds to clients, on a store whose clock the tests control.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use proptest::prelude::*;
use serde::Serialize;
use uuid::Uuid;

use super::*;
use offerd_model::{EventType, FeedPage, LeadEvent, ProductType, Viewer};
use offerd_store::entities::{Happening, HappeningDetails, PayoutRecord, Tag};
use offerd_store::{Clock, Commit, FeedKey, Store, StoreOptions, Tree, codec};

const HOUR: u64 = 3_600_000_000;
const MINUTES_5: u64 = 300_000_000;
const BASE_URL: &str = "https://offers.example";
const COMPANY: Uuid = Uuid::from_u128(0xc0);
const OTHER_COMPANY: Uuid = Uuid::from_u128(0xc1);

struct World {
    directory: tempfile::TempDir,
    now: Arc<AtomicU64>,
    /// The time that has really passed.
    steady: Arc<AtomicU64>,
    feeds: Option<(Store, Feeds)>,
    records_max: usize,
    appended: u128,
}

struct Reader {
    next: PageRequest,
    events: Vec<LeadEvent>,
    /// Whether the age of records is certain.
    is_told: bool,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            directory: tempfile::tempdir().unwrap(),
            now: Arc::new(AtomicU64::new(ArrivalTime::FIRST.0 + 20 * HOUR)),
            steady: Arc::default(),
            feeds: None,
            records_max: 1_000_000,
            appended: 0,
        };
        world.open();
        world
    }

    fn open(&mut self) {
        self.feeds = None;
        let (now, steady) = (Arc::clone(&self.now), Arc::clone(&self.steady));
        let clock =
            Clock::with_steady(move || now.load(Ordering::Relaxed), move || steady.load(Ordering::Relaxed));
        // The disk may be slow, but does not hang.
        let stall_after = Duration::from_secs(60);
        let options =
            StoreOptions { clock, stall_after, ..StoreOptions::new(self.directory.path().join("store")) };
        let store = Store::open_inline_with(&options).unwrap();
        self.feeds = Some((store.clone(), Feeds::new(store, BASE_URL.to_owned(), self.records_max)));
    }

    fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    fn pass(&self, micros: u64) {
        self.now.fetch_add(micros, Ordering::Relaxed);
        self.steady.fetch_add(micros, Ordering::Relaxed);
    }

    /// Sets the machine's clock ahead or back, while no time passes.
    fn set_clock(&self, by: i64) {
        self.now.store(self.now().checked_add_signed(by).unwrap(), Ordering::Relaxed);
    }

    fn passed(&self) -> u64 {
        self.steady.load(Ordering::Relaxed)
    }

    fn horizon(&self) -> Horizon {
        self.feeds().horizon(false).now_or_never().unwrap().unwrap()
    }

    fn feeds(&self) -> &Feeds {
        &self.feeds.as_ref().unwrap().1
    }

    fn append<T: Serialize>(&self, tree: Tree, company: Uuid, records: &[T]) {
        let commit = Commit::new().about(Uuid::nil()).append(tree, company, codec::encode(records));
        self.feeds.as_ref().unwrap().0.commit(commit).now_or_never().unwrap().unwrap();
    }

    /// Appends `count` events that arrive at one instant, numbered in the order of arrival, `late_ms` after
    /// they happened.
    fn arrive(&mut self, count: usize, late_ms: i64) {
        let at = i64::try_from(self.now() / 1000).unwrap();
        let events: Vec<Happening> = (0..count)
            .map(|_| {
                self.appended += 1;
                event(Uuid::from_u128(self.appended), at, at - late_ms)
            })
            .collect();
        self.append(Tree::LeadEvents, COMPANY, &events);
        self.append(Tree::LeadEvents, OTHER_COMPANY, &[event(Uuid::max(), at, at)]);
    }

    /// The leads of all events that a request includes, read directly from the store.
    fn stored(&self, request: PageRequest) -> Vec<Uuid> {
        let store = &self.feeds.as_ref().unwrap().0;
        let mut leads = Vec::new();
        for record in store.scan(Tree::LeadEvents, COMPANY) {
            let (key, payload) = record.unwrap();
            let arrival = ArrivalTime(FeedKey::parse(&key).unwrap().arrival_us);
            if request.until.is_none_or(|until| arrival < until) {
                let events: Vec<Happening> = codec::decode(&payload).unwrap();
                let wanted = events.iter().filter(|event| request.event_types.contains(event.event_type));
                leads.extend(wanted.map(|event| event.lead));
            }
        }
        leads
    }

    fn page<F: Feed>(&self, timestamp: &str) -> FeedPage<F::Record> {
        let start = ArrivalTime::parse(timestamp).unwrap();
        self.feeds().page::<F>(Viewer::of_all(COMPANY), PageRequest::hourly(start), self.horizon()).unwrap()
    }
}

impl Reader {
    fn new(first: PageRequest) -> Self {
        Self { next: first, events: Vec::new(), is_told: true }
    }

    fn read(&mut self, world: &World) -> bool {
        let horizon = world.horizon();
        let asked = self.next;
        let page = world.feeds().page::<Events>(Viewer::of_all(COMPANY), asked, horizon).unwrap();
        self.next = next::<Events>(&page.next_url);
        assert!(asked.start <= self.next.start, "it never leads back");
        let latest = horizon.latest(self.next.form).max(ArrivalTime::FIRST);
        assert!(self.next.start <= latest || !self.is_told, "what it leads to is accepted");
        self.events.extend(page.data);
        page.should_continue_polling
    }
}

/// The request in a `nextUrl`, as a client that follows it sends it.
fn next<F: Feed>(next_url: &str) -> PageRequest {
    let address = format!("{BASE_URL}{}?", F::PATH);
    let query = next_url.strip_prefix(&address).expect("an absolute address");
    match query.split_once('=') {
        Some(("timestamp", time)) => PageRequest::hourly(ArrivalTime::parse(time).unwrap()),
        Some(("paginationToken", token)) => PageCursor::read::<F>(token).unwrap(),
        _ => panic!("{next_url}"),
    }
}

/// Events cycle through the types of a successful lead.
fn event_type(number: u128) -> EventType {
    [EventType::LeadCreated, EventType::OfferClicked, EventType::Funded][(number % 3) as usize]
}

fn event(lead: Uuid, lead_created_at: i64, at: i64) -> Happening {
    Happening {
        event_type: event_type(lead.as_u128()),
        lead,
        lead_created_at,
        at,
        institution: Some((Uuid::from_u128(7), "Bank".to_owned())),
        product_type: Some(ProductType::Loan),
        amount_in_cents: None,
        test: false,
        cause: None,
        taken_back_at: None,
        details: HappeningDetails::default(),
    }
}

#[derive(Debug, Clone)]
enum Step {
    Pass(u64),
    SetClock(i64),
    Arrive(usize, i64),
    Burst(usize),
    Reopen,
    Read,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1..3 * HOUR).prop_map(Step::Pass),
        1 => (0..5_000_u64).prop_map(Step::Pass),
        1 => (0..500 * HOUR).prop_map(Step::Pass),
        1 => (-900_000_000_i64..900_000_000).prop_map(Step::SetClock),
        1 => (-1000..1000 * HOUR.cast_signed()).prop_map(Step::SetClock),
        4 => (1_usize..700, 0..1_000_000_000_i64).prop_map(|(count, late)| Step::Arrive(count, late)),
        2 => (1_usize..40).prop_map(Step::Burst),
        1 => Just(Step::Reopen),
        3 => Just(Step::Read),
    ]
}

/// A client's first request: both forms, with and without filter and end.
fn first_request() -> impl Strategy<Value = PageRequest> {
    let prompt = PageRequest::prompt(ArrivalTime::FIRST);
    let until = prop::option::of((1..400 * HOUR).prop_map(|after| ArrivalTime(ArrivalTime::FIRST.0 + after)));
    let types = [EventType::LeadCreated, EventType::OfferClicked, EventType::Funded];
    let wanted = prop::sample::subsequence(types.to_vec(), 1..=3).prop_map(EventTypes::from_iter);
    prop_oneof![
        2 => Just(PageRequest::hourly(ArrivalTime::FIRST)),
        1 => Just(prompt),
        2 => (until, wanted).prop_map(move |(until, event_types)| PageRequest { until, event_types, ..prompt }),
    ]
}

proptest! {
    #![proptest_config(crate::cases::cases(12))]

    #[test]
    fn following_next_url_delivers_every_record_once_and_none_too_young(
        first in first_request(),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let (mut world, mut reader) = (World::new(), Reader::new(first));
        let minimum_age = u64::try_from(first.form.minimum_age(false).as_micros()).unwrap();
        // The earliest arrival of each event.
        let mut arrived: Vec<u64> = Vec::new();
        // Whether ages are certain, and within what slack: across a restart only the machine's clock measures
        // them.
        let (mut is_told, mut slack) = (true, 0);
        // Twice as long as needed, since arrivals may run at half the pace.
        for step in steps.into_iter().chain([Step::Pass(4 * HOUR)]) {
            match step {
                Step::Pass(micros) => world.pass(micros),
                Step::SetClock(micros) => {
                    world.set_clock(micros);
                    slack += 1_000_000;
                }
                Step::Arrive(count, late_ms) => {
                    arrived.extend(std::iter::repeat_n(world.passed(), count));
                    world.arrive(count, late_ms);
                }
                // Appends within one microsecond of the clock.
                Step::Burst(appends) => for _ in 0..appends {
                    arrived.push(world.passed());
                    world.arrive(1, 0);
                },
                Step::Reopen => {
                    world.open();
                    is_told &= slack == 0;
                    // Requests from before a restart with a clock set back may be refused until the clock has
                    // caught up.
                    reader.is_told = is_told;
                }
                Step::Read => {
                    reader.read(&world);
                    let youngest = reader.events.last().map(|event| arrived[event.lead_uuid.as_u128() as usize - 1]);
                    let is_old = |youngest| youngest + minimum_age <= world.passed() + slack;
                    prop_assert!(!is_told || youngest.is_none_or(is_old));
                }
            }
        }
        while reader.read(&world) {}
        let delivered: Vec<Uuid> = reader.events.iter().map(|event| event.lead_uuid).collect();
        prop_assert_eq!(delivered, world.stored(first));
        // Nothing more arrives, wherever the client is.
        let end = reader.next;
        prop_assert!(!reader.read(&world));
        prop_assert_eq!(reader.next, end);
    }
}

#[test]
fn polling_goes_on_exactly_while_there_is_something() {
    let mut world = World::new();
    for _ in 0..3 {
        world.arrive(1000, 0);
        world.pass(2 * HOUR);
    }
    let mut reader = Reader::new(PageRequest::hourly(ArrivalTime::FIRST));
    assert_eq!([(); 3].map(|()| reader.read(&world)), [true, true, false]);
    assert_eq!(reader.events.len(), 3000);
    assert!(!reader.read(&world));
    assert_eq!(reader.events.len(), 3000);
}

#[test]
fn the_hour_counts_to_the_microsecond() {
    let mut world = World::new();
    let arrival = ArrivalTime(world.now());
    world.arrive(1, 0);
    world.pass(HOUR);
    assert_eq!(
        world.page::<Events>("2020-08-01T00:00:00Z").data.len(),
        0,
        "exactly an hour: the next page's"
    );
    world.pass(1);
    let page = world.page::<Events>(&arrival.to_string());
    assert_eq!(page.data.len(), 1, "the start is included");
    assert!(page.next_url.ends_with(&format!("?timestamp={}", ArrivalTime(arrival.0 + 1))));
}

#[test]
fn each_feed_tells_its_own_records() {
    let mut world = World::new();
    let lead = Uuid::from_u128(1);
    let tag =
        |value: &str| Tag { lead, key: "channel".to_owned(), value: value.to_owned(), created_at_ms: 5 };
    world.append(Tree::LeadClientTags, COMPANY, &[tag("a"), tag("b")]);
    let payout = PayoutRecord {
        uuid: Uuid::from_u128(2),
        lead,
        booked_at_ms: 6,
        cents: -12.5,
        ..PayoutRecord::default()
    };
    world.append(Tree::LeadPayouts, COMPANY, &[payout]);
    world.arrive(2000, 0);
    world.pass(3 * HOUR);
    let payouts = world.page::<Payouts>("2020-08-01T00:00:00Z");
    assert_eq!((payouts.data.len(), payouts.should_continue_polling), (1, false));
    assert_eq!((payouts.data[0].lead_uuid, payouts.data[0].payout_in_cents), (lead, -12.5));
    let tags = world.page::<ClientTagFeed>("2020-08-01T00:00:00Z");
    assert_eq!((tags.data.len(), tags.should_continue_polling), (2, false));
    assert_ne!(tags.data[0].hash, tags.data[1].hash);
    assert!(
        tags.next_url
            .starts_with("https://offers.example/supplyAnalytics/leadClientTags?timestamp=2020-08-01T")
    );
}

#[test]
fn the_newer_form_tells_what_is_five_minutes_old() {
    let mut world = World::new();
    world.arrive(3, 0);
    world.pass(MINUTES_5);
    let mut reader = Reader::new(PageRequest::prompt(ArrivalTime::FIRST));
    assert!(!reader.read(&world) && reader.events.is_empty(), "exactly five minutes: the next page's");
    world.pass(1);
    assert!(!reader.read(&world));
    assert_eq!(reader.events.len(), 3);
    assert!(reader.events.iter().all(|event| event.is_test == Some(false)));
    assert_eq!(reader.next.start.0, world.now() - MINUTES_5);
}

#[test]
fn an_end_that_is_reached_is_the_end() {
    let mut world = World::new();
    let until = ArrivalTime(world.now() + MINUTES_5);
    let mut reader =
        Reader::new(PageRequest { until: Some(until), ..PageRequest::prompt(ArrivalTime::FIRST) });
    world.arrive(1, 0);
    world.pass(MINUTES_5);
    world.arrive(1, 0);
    assert!(!reader.read(&world));
    assert!(reader.next.start < until, "what lies before the end may still come");
    world.pass(HOUR);
    for _ in 0..2 {
        assert!(!reader.read(&world));
        assert_eq!((reader.next.start, reader.events.len()), (until, 1), "the end itself is not included");
    }
}

#[test]
fn a_page_that_would_read_too_much_ends_early_and_loses_nothing() {
    let metrics = offerd_base::telemetry::recorder::install();
    let mut world = World::new();
    world.records_max = 1500;
    world.open();
    let first = PageRequest::hourly(ArrivalTime(world.now()));
    for _ in 0..4 {
        world.arrive(500, 0);
        world.pass(1);
    }
    world.pass(3 * HOUR);
    let mut reader = Reader::new(first);
    assert!(reader.read(&world));
    assert_eq!(reader.events.len(), 1500, "less than the hour holds");
    assert!(metrics.snapshot().text().contains(r#"offerd_feed_pages_cut_total{feed="lead_events"} 1"#));
    assert!(!reader.read(&world));
    assert!(metrics.snapshot().text().contains(r#"offerd_feed_pages_cut_total{feed="lead_events"} 1"#));
    let delivered: Vec<Uuid> = reader.events.iter().map(|event| event.lead_uuid).collect();
    assert_eq!(delivered, world.stored(first));
}

#[test]
fn each_page_of_every_feed_leads_to_the_next_of_the_same() {
    let world = World::new();
    for first in [PageRequest::hourly(ArrivalTime::FIRST), PageRequest::prompt(ArrivalTime::FIRST)] {
        let payouts = world.feeds().page::<Payouts>(Viewer::of_all(COMPANY), first, world.horizon()).unwrap();
        let tags =
            world.feeds().page::<ClientTagFeed>(Viewer::of_all(COMPANY), first, world.horizon()).unwrap();
        for next in [next::<Payouts>(&payouts.next_url), next::<ClientTagFeed>(&tags.next_url)] {
            assert_eq!(next, first.starting_at(world.horizon().latest(first.form)));
        }
    }
}

/// Eight years: a possible error of a clock.
const YEARS_8: i64 = 8 * 365 * 24 * HOUR.cast_signed();

#[test]
fn a_lead_under_a_clock_of_the_future_does_not_silence_the_feeds() {
    let mut world = World::new();
    world.arrive(1, 0);
    world.pass(HOUR);
    world.set_clock(YEARS_8);
    world.arrive(1, 0);
    let mut reader = Reader::new(PageRequest::hourly(ArrivalTime::FIRST));
    reader.read(&world);
    world.set_clock(-YEARS_8);
    world.arrive(1, 0);
    world.pass(HOUR + 3);
    while reader.read(&world) {}
    assert_eq!(reader.events.len(), 3);
    assert!(reader.next.start.0 <= world.now(), "the jump left no trace in what it is asked by");
}

/// A wrong clock, uncorrected for a day, is believed and then set back.
#[test]
fn a_clock_that_is_set_back_after_it_was_believed_stops_no_feed() {
    for reopened in [false, true] {
        let mut world = World::new();
        world.arrive(1, 0);
        world.set_clock(YEARS_8);
        world.arrive(1, 0);
        world.pass(25 * HOUR);
        let mut reader = Reader::new(PageRequest::prompt(ArrivalTime::FIRST));
        world.arrive(1, 0);
        world.pass(2 * HOUR);
        while reader.read(&world) {}
        assert_eq!(reader.events.len(), 3);
        world.set_clock(-YEARS_8);
        if reopened {
            world.open();
        }
        for told in 4..8 {
            world.arrive(1, 0);
            // Arrivals run at half the pace of real time, so that the clock catches up.
            world.pass(2 * MINUTES_5 + 10);
            while reader.read(&world) {}
            assert_eq!(reader.events.len(), told, "reopened: {reopened}");
        }
    }
}

#[test]
fn a_reader_who_was_told_of_a_future_without_leads_misses_none_after_it() {
    let mut world = World::new();
    world.arrive(1, 0);
    // Within the time that a clock may have stood still across a start.
    let days_20 = 20 * 24 * HOUR.cast_signed();
    world.set_clock(days_20);
    world.open();
    let mut reader = Reader::new(PageRequest::prompt(ArrivalTime::FIRST));
    while reader.read(&world) {}
    world.set_clock(-days_20);
    world.open();
    world.arrive(1, 0);
    world.pass(2 * HOUR);
    while reader.read(&world) {}
    assert_eq!(reader.events.len(), 2);
}

#[test]
fn a_step_ahead_makes_no_record_older() {
    let mut world = World::new();
    world.arrive(1, 0);
    let mut reader = Reader::new(PageRequest::prompt(ArrivalTime::FIRST));
    // Small enough to be believed at once, and more than the five minutes.
    world.set_clock(2 * MINUTES_5.cast_signed());
    world.pass(MINUTES_5);
    world.arrive(1, 0);
    assert!(!reader.read(&world) && reader.events.is_empty(), "exactly five minutes: the next page's");
    world.pass(1);
    assert!(!reader.read(&world) && reader.events.len() == 1);
    world.pass(MINUTES_5);
    assert!(!reader.read(&world) && reader.events.len() == 2);
}

#[test]
fn a_store_that_does_not_write_tells_no_more_than_is_certain() {
    let mut world = World::new();
    world.arrive(1, 0);
    let last = world.now() + 1;
    world.pass(3 * HOUR);
    world.feeds.as_ref().unwrap().0.close().unwrap();
    let mut reader = Reader::new(PageRequest::hourly(ArrivalTime::FIRST));
    assert!(!reader.read(&world));
    assert_eq!(
        (reader.events.len(), reader.next.start.0),
        (1, last + 1),
        "all that is there, and nothing behind it"
    );
}
