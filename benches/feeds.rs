//! A page of a feed from a short log and from a very long one, on the real store: `cargo bench --bench
//! feeds`.
//!
//! Fills a store with 10,000 lead events of one company and another with 10,000,000, in appends of four, and
//! reads pages of 1000: the same page in the middle repeatedly, and page by page through the log. Prints the
//! cost of the long log as a multiple of the short one's. Removes the stores at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::FutureExt;
use indicatif::{ProgressBar, ProgressStyle};
use offerd::analytics::{ArrivalTime, Events, Feeds, Horizon, PageRequest, RECORDS_ENOUGH};
use offerd::model::{EventType, ProductType, Viewer};
use offerd::store::entities::{Happening, HappeningDetails};
use offerd::store::{Clock, Commit, Store, StoreOptions, Tree, codec};
use uuid::Uuid;

const SHORT: u64 = 10_000;
const LONG: u64 = 10_000_000;

/// Records of one instant, such as the results of partners that answered together.
const PER_APPEND: u64 = 4;
const PER_COMMIT: u64 = 10_000;

/// Pages of each log that are compared.
const ROUNDS: u64 = 2000;

const COMPANY: Uuid = Uuid::from_u128(0xc0);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A filled store, and the horizon of its log.
struct Log {
    feeds: Feeds,
    horizon: Horizon,
    records: u64,
    _directory: tempfile::TempDir,
}

impl Log {
    /// Appends `records`, a microsecond between instants, and lets them age.
    fn of(records: u64) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let now = Arc::new(AtomicU64::new(ArrivalTime::FIRST.0));
        let shown = Arc::clone(&now);
        let clock = Clock::new(move || shown.load(Ordering::Relaxed));
        let options = StoreOptions { clock, ..StoreOptions::new(directory.path().join("store")) };
        let store = Store::open_inline_with(&options).expect("a new store opens");

        let style = "{msg} [{bar:40}] {human_pos}/{human_len}, {eta} to go";
        let bar = ProgressBar::new(records).with_message("appending events");
        bar.set_style(ProgressStyle::with_template(style).expect("a template of indicatif's"));
        let begun = Instant::now();
        let mut appended = 0;
        while appended < records {
            let mut commit = Commit::new();
            for _ in 0..PER_COMMIT.min((records - appended) / PER_APPEND) {
                let events: Vec<Happening> = (appended..appended + PER_APPEND).map(event).collect();
                commit = commit.append(Tree::LeadEvents, COMPANY, codec::encode(&events));
                appended += PER_APPEND;
            }
            let written = store.commit(commit).now_or_never().expect("an inline store answers at once");
            written.expect("a commit is written");
            bar.set_position(appended);
        }
        bar.finish_and_clear();
        println!("{records} events appended in {:.1?}", begun.elapsed());

        now.fetch_add(u64::try_from(DAY.as_micros()).expect("a day is short"), Ordering::Relaxed);
        let horizon = Horizon::at(ArrivalTime(now.load(Ordering::Relaxed)));
        let feeds = Feeds::new(store, String::new(), 1_000_000);
        Self { feeds, horizon, records, _directory: directory }
    }

    /// Reads the page whose first record is the `nth`.
    fn page_from(&self, nth: u64) {
        let start = ArrivalTime(ArrivalTime::FIRST.0 + nth / PER_APPEND);
        let page =
            self.feeds.page::<Events>(Viewer::of_all(COMPANY), PageRequest::prompt(start), self.horizon);
        let page = page.expect("a sound store");
        assert_eq!(page.data.len(), RECORDS_ENOUGH);
    }
}

fn event(number: u64) -> Happening {
    Happening {
        event_type: EventType::ApiApproved,
        lead: Uuid::from_u128(number.into()),
        lead_created_at: 1_600_000_000_000,
        at: 1_600_000_001_000,
        institution: Some((Uuid::from_u128(7), "Alderbrook Savings".to_owned())),
        product_type: Some(ProductType::Savings),
        amount_in_cents: None,
        test: false,
        cause: None,
        taken_back_at: None,
        details: HappeningDetails::default(),
    }
}

/// The read of the n-th round.
type Reading = fn(&Log, u64);

const SAME_PAGE: Reading = |log, _| log.page_from(log.records / 2);
const PAGE_BY_PAGE: Reading = |log, round| log.page_from(round * RECORDS_ENOUGH as u64 % log.records);

fn pages(criterion: &mut Criterion) {
    let logs = [Log::of(SHORT), Log::of(LONG)];
    let mut group = criterion.benchmark_group("feeds");
    for (name, read) in [("same_page", SAME_PAGE), ("page_by_page", PAGE_BY_PAGE)] {
        for log in &logs {
            let mut rounds = 0..;
            group.bench_function(format!("{name}/{}", log.records), |bencher| {
                bencher.iter(|| rounds.next().map(|round| read(log, round)));
            });
        }
    }
    group.finish();
    for (name, read) in [("the same page", SAME_PAGE), ("page by page", PAGE_BY_PAGE)] {
        let [short, long] = in_turn(&logs, read);
        let ratio = long.as_secs_f64() / short.as_secs_f64();
        println!("{name}: {short:.2?} of {SHORT}, {long:.2?} of {LONG}: {ratio:.2} times");
    }
}

/// The median times of pages, read from both logs in turn, so that a noisy machine slows both alike.
fn in_turn(logs: &[Log; 2], read: Reading) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for (log, times) in logs.iter().zip(&mut times) {
            let begun = Instant::now();
            read(log, round);
            times.push(begun.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

criterion_group!(benches, pages);
criterion_main!(benches);
