//! What a client of the feeds may rely on, over a store whose clock the tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use proptest::prelude::*;
use serde::Serialize;
use uuid::Uuid;

use super::*;
use crate::model::{EventType, FeedPage, LeadEvent, ProductType};
use crate::store::entities::{Happening, Payout, Tag};
use crate::store::{Clock, Commit, Store, StoreOptions, Tree, codec};

const HOUR: u64 = 3_600_000_000;
const BASE_URL: &str = "https://offers.example";
const COMPANY: Uuid = Uuid::from_u128(0xc0);
const OTHER_COMPANY: Uuid = Uuid::from_u128(0xc1);

/// A store, its clock, and the feeds over it.
struct World {
    directory: tempfile::TempDir,
    now: Arc<AtomicU64>,
    feeds: Option<(Store, Feeds)>,
    appended: u128,
}

/// A client that follows `nextUrl`.
struct Reader {
    timestamp: String,
    events: Vec<LeadEvent>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            directory: tempfile::tempdir().unwrap(),
            now: Arc::new(AtomicU64::new(ArrivalTime::FIRST.0 + 5 * HOUR)),
            feeds: None,
            appended: 0,
        };
        world.open();
        world
    }

    /// Closes the store, and opens it anew.
    fn open(&mut self) {
        self.feeds = None;
        let now = Arc::clone(&self.now);
        let clock = Clock::new(move || now.load(Ordering::Relaxed));
        let options = StoreOptions { clock: clock.clone(), ..StoreOptions::new(self.directory.path()) };
        let store = Store::open_inline_with(&options).unwrap();
        self.feeds = Some((store.clone(), Feeds::new(store, BASE_URL.to_owned(), clock)));
    }

    fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    fn pass(&self, micros: u64) {
        self.now.fetch_add(micros, Ordering::Relaxed);
    }

    fn feeds(&self) -> &Feeds {
        &self.feeds.as_ref().unwrap().1
    }

    fn append<T: Serialize>(&self, tree: Tree, company: Uuid, records: &[T]) {
        let commit = Commit::new().append(tree, company, codec::encode(records));
        self.feeds.as_ref().unwrap().0.commit(commit).now_or_never().unwrap().unwrap();
    }

    /// Appends events that arrive at one instant, numbered in the order of arrival, `late_ms` after they happened.
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

    fn page<F: Feed>(&self, timestamp: &str) -> FeedPage<F::Record> {
        self.feeds().page::<F>(COMPANY, Some(timestamp)).unwrap()
    }
}

impl Reader {
    fn new() -> Self {
        Self { timestamp: "2020-08-01T00:00:00Z".to_owned(), events: Vec::new() }
    }

    /// Reads one page; tells whether there is more now.
    fn read(&mut self, world: &World) -> bool {
        let page = world.page::<Events>(&self.timestamp);
        let prefix = format!("{BASE_URL}/supplyAnalytics/leadEvents?timestamp=");
        self.timestamp = page.next_url.strip_prefix(&prefix).expect("an absolute address").to_owned();
        assert!(ArrivalTime::parse(&self.timestamp).unwrap().0 <= world.now() - HOUR);
        self.events.extend(page.data);
        page.should_continue_polling
    }
}

fn event(lead: Uuid, lead_created_at: i64, at: i64) -> Happening {
    Happening {
        event_type: EventType::Funded,
        lead,
        lead_created_at,
        at,
        institution: Some((Uuid::from_u128(7), "Bank".to_owned())),
        product_type: Some(ProductType::Loan),
        amount_in_cents: None,
        test: false,
        cause: None,
    }
}

/// A step of the world.
#[derive(Debug, Clone)]
enum Step {
    Pass(u64),
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
        4 => (1_usize..700, 0..1_000_000_000_i64).prop_map(|(count, late)| Step::Arrive(count, late)),
        2 => (1_usize..40).prop_map(Step::Burst),
        1 => Just(Step::Reopen),
        3 => Just(Step::Read),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn following_next_url_delivers_every_record_once_and_none_too_young(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let (mut world, mut reader) = (World::new(), Reader::new());
        // When each event arrived at the earliest.
        let mut arrived: Vec<u64> = Vec::new();
        for step in steps.into_iter().chain([Step::Pass(2 * HOUR)]) {
            match step {
                Step::Pass(micros) => world.pass(micros),
                Step::Arrive(count, late_ms) => {
                    arrived.extend(std::iter::repeat_n(world.now(), count));
                    world.arrive(count, late_ms);
                }
                // Appends within one microsecond of the clock.
                Step::Burst(appends) => for _ in 0..appends {
                    arrived.push(world.now());
                    world.arrive(1, 0);
                },
                Step::Reopen => world.open(),
                Step::Read => {
                    reader.read(&world);
                    let youngest = reader.events.len().checked_sub(1).map(|last| arrived[last]);
                    prop_assert!(youngest.is_none_or(|youngest| youngest + HOUR <= world.now()));
                }
            }
        }
        while reader.read(&world) {}
        let leads: Vec<u128> = reader.events.iter().map(|event| event.lead_uuid.as_u128()).collect();
        prop_assert_eq!(leads, (1..=world.appended).collect::<Vec<_>>());
    }
}

#[test]
fn polling_goes_on_exactly_while_there_is_something() {
    let mut world = World::new();
    for _ in 0..3 {
        world.arrive(1000, 0);
        world.pass(2 * HOUR);
    }
    let mut reader = Reader::new();
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
    world.append(Tree::LeadPayouts, COMPANY, &[Payout { lead, booked_at_ms: 6, cents: -12.5, test: false }]);
    world.arrive(2000, 0);
    world.pass(3 * HOUR);
    let payouts = world.page::<Payouts>("2020-08-01T00:00:00Z");
    assert_eq!((payouts.data.len(), payouts.should_continue_polling), (1, false));
    assert_eq!((payouts.data[0].lead_uuid, payouts.data[0].payout_in_cents), (lead, -12.5));
    let tags = world.page::<ClientTags>("2020-08-01T00:00:00Z");
    assert_eq!((tags.data.len(), tags.should_continue_polling), (2, false));
    assert_ne!(tags.data[0].hash, tags.data[1].hash);
    assert!(
        tags.next_url
            .starts_with("https://offers.example/supplyAnalytics/leadClientTags?timestamp=2020-08-01T")
    );
}
