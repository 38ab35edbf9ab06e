//! The latency of reports, whatever the number of leads, and the size of their counts.

use std::time::{Duration, Instant};

use chrono::{Days, NaiveDate};
use indicatif::ProgressBar;
use offerd::config::{ReportSettings, Settings};
use offerd::model::TokenKind;
use offerd::records::Records;
use offerd::reports::Reports;
use offerd::reports::cells::{CompanyDay, ItemValues};
use offerd::reports::count::ReportCount;
use offerd::reports::dimension::DimensionSlot;
use offerd::reports::measure::{self, Measures};
use offerd::store::tokens::{NewToken, Tokens, company_uuid};
use offerd::store::{Store, StoreOptions, Tree};
use tokio::runtime::Runtime;

use crate::kit::Daemon;
use crate::{judged, lead, stored};

type Measure = fn(&str, &Runtime);

pub const ROWS: [(&str, Measure); 3] = [
    ("reports of 12,000,000 counted leads", latency),
    ("weight of reports with 1,000,000 stored leads", |name, runtime| weight(name, runtime, 1_000_000)),
    ("weight of reports with 100,000 stored leads", |name, runtime| weight(name, runtime, 100_000)),
];

/// The leads of a year, unless `OFFERD_REPORT_LEADS` is set, and the sizes of their dimensions.
const LEADS: u64 = 12_000_000;
const DAYS: u64 = 365;
const COMPANY: &str = "Larchmont Loans";
const CAMPAIGNS: u32 = 5_000;
const AFFILIATES: u32 = 250;
const PARTNERS: u32 = 20;
const STATES: u32 = 51;
const RATINGS: u32 = 5;
/// Partners that a lead is sent to.
const ASKED: u32 = 6;

const BAR: Duration = Duration::from_millis(200);

const TIMES: usize = 5;

/// Reports, the most expensive first: a whole year, a range cut at both ends, and a comparison with the year
/// before.
const ASKED_FOR: [&str; 10] = [
    "by=campaign,affiliate",
    "by=campaign,state",
    "by=campaign,subType",
    "by=partner,campaign",
    "by=product,campaign",
    "by=day,campaign&limit=1000",
    "by=day,partner",
    "by=partner,state&compare=true",
    "by=campaign&where=partner%3Dpartner-7",
    "by=partner,campaign&compare=true",
];
const RANGES: [(&str, &str); 2] = [("2026-01-01", "2026-12-31"), ("2026-01-16", "2026-12-15")];

fn rules() -> ReportSettings {
    Settings::from_layers(None, []).expect("the defaults are good").reports
}

fn leads() -> u64 {
    std::env::var("OFFERD_REPORT_LEADS").ok().and_then(|leads| leads.parse().ok()).unwrap_or(LEADS)
}

fn first_day() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 1, 1).expect("there is this day")
}

/// Counts a year of leads as the fold does, then runs the reports.
fn latency(name: &str, runtime: &Runtime) {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(StoreOptions::new(directory.path().join("store"))).expect("a new store opens");
    let (kind, company) = (TokenKind::Confidential, COMPANY.to_owned());
    let named = NewToken { company, kind, test: false, duplicate_look_back_minutes: None };
    runtime.block_on(Tokens::of(store.clone()).create(named)).expect("a company is stored");
    let empty = store.bytes();
    let reports = Reports::of(Records::of(store.clone()), rules()).expect("an empty count is read");
    let bar = ProgressBar::new(DAYS);
    for nth in 0..DAYS {
        reports.counted(|count| count_day(count, first_day() + Days::new(nth)));
        runtime.block_on(reports.write()).expect("cells are written");
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (blocks, bytes) = weighed(&store);
    let grown = store.bytes().saturating_sub(empty);
    println!("{name:<43}{blocks} records of {bytes} B, {} B a lead; {grown} B of files", bytes / leads());
    for asked in ASKED_FOR {
        for (first, last) in RANGES {
            let took = took(&reports, &format!("from={first}&to={last}&{asked}"));
            let bar = (took <= BAR, format!("at most {BAR:?}"));
            let what = format!("  {asked}, {first} to {last}");
            println!("{what:<70}{:>6} ms  {}", took.as_millis(), judged(Some(&bar)));
        }
    }
}

fn took(reports: &Reports, asked: &str) -> Duration {
    let pairs: Vec<(String, String)> = form_urlencoded::parse(asked.as_bytes()).into_owned().collect();
    let query = reports.query(&pairs).expect("the question is good");
    let mut times: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let begun = Instant::now();
            let report = reports.report(&query).expect("a report");
            assert!(!report.rows.is_empty());
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[TIMES / 2]
}

/// Counts the leads of a day, each of one campaign, state and rating, sent to some partners.
fn count_day(count: &mut ReportCount, day: NaiveDate) {
    let company = company_uuid(COMPANY);
    let at = CompanyDay { company, test: false, day };
    let mut random =
        fastrand::Rng::with_seed(u64::from(day.format("%j").to_string().parse().unwrap_or(0_u32)));
    let mut id = |slot, name: String| count.id(company, slot, &name);
    let named =
        |names: &mut dyn FnMut(DimensionSlot, String) -> u32, slot, name: &str, of: u32| -> Vec<u32> {
            (0..of).map(|nth| names(slot, format!("{name}-{nth}"))).collect()
        };
    let products = named(&mut id, DimensionSlot::PRODUCT, "product", 4);
    let sub_types = named(&mut id, DimensionSlot::SUB_TYPE, "sub-type", 12);
    let partners = named(&mut id, DimensionSlot::PARTNER, "partner", PARTNERS);
    let ratings = named(&mut id, DimensionSlot::RATING, "rating", RATINGS);
    let states = named(&mut id, DimensionSlot::STATE, "state", STATES);
    let campaigns = named(&mut id, DimensionSlot::tag(0), "campaign", CAMPAIGNS);
    let affiliates = named(&mut id, DimensionSlot::tag(1), "affiliate", AFFILIATES);
    let any = |random: &mut fastrand::Rng, of: &[u32]| vec![of[random.usize(..of.len())]];
    for _ in 0..leads() / DAYS {
        let campaign = random.usize(..campaigns.len());
        let person = [
            any(&mut random, &ratings),
            any(&mut random, &states),
            vec![campaigns[campaign]],
            vec![affiliates[campaign % affiliates.len()]],
        ];
        let values = |place: [Vec<u32>; 3]| ItemValues(place.into_iter().chain(person.clone()).collect());
        let lead = Measures::of(measure::Measure::Leads, 1);
        count.pending.add(at, &values([any(&mut random, &products), Vec::new(), Vec::new()]), lead);
        let first = random.u32(..PARTNERS);
        for nth in 0..ASKED {
            let partner = ((first + nth * 3) % PARTNERS) as usize;
            let place = [
                vec![products[partner % products.len()]],
                vec![sub_types[partner % sub_types.len()]],
                vec![partners[partner]],
            ];
            count.pending.add(at, &values(place), became(&mut random));
        }
    }
}

/// The result of an ask: every third has no offer, every twentieth is clicked, every tenth click earns a
/// payout.
fn became(random: &mut fastrand::Rng) -> Measures {
    let offers = i64::from(random.u32(..3));
    let clicked = i64::from(offers > 0 && random.u32(..20) == 0);
    let funded = i64::from(clicked > 0 && random.u32(..10) == 0);
    Measures([
        0,
        1,
        offers,
        offers,
        clicked,
        funded,
        funded,
        funded * random.i64(10..200) * 100_000,
        0,
        0,
        0,
        0,
        0,
        0,
    ])
}

/// The number of count records, and their total bytes.
fn weighed(store: &Store) -> (usize, u64) {
    let mut records = 0;
    let mut bytes = 0;
    for (key, payload) in store.scan(Tree::Reports, []).filter_map(Result::ok) {
        records += 1;
        bytes += (key.len() + payload.len()) as u64;
    }
    (records, bytes)
}

/// Counts stored leads through the fold, and compares the size of the counts with the store's. Leads come
/// from as many campaigns as the latency row counts, without clicks.
fn weight(name: &str, runtime: &Runtime, leads: u64) {
    let plan = Daemon::with_sample_partners();
    stored::fill_with(&plan, leads, runtime, &tagged);
    let store = Store::open(StoreOptions::new(plan.store())).expect("the store opens");
    let before = store.bytes();
    let reports = Reports::of(Records::of(store.clone()), rules()).expect("an empty count is read");
    let begun = Instant::now();
    while runtime.block_on(reports.round(512)).expect("leads are counted") {}
    runtime.block_on(reports.write()).expect("cells are written");
    let took = begun.elapsed();
    let (records, bytes) = weighed(&store);
    let grown = store.bytes().saturating_sub(before);
    let share = bytes as f64 / before as f64;
    let bar = (share < 0.01, "less than 1 %".to_owned());
    println!(
        "{name:<43}{} B a lead in {records} records, {:.2} % of {before} B; {grown} B of files; counted in {took:.0?}  {}",
        bytes / leads,
        share * 100.0,
        judged(Some(&bar))
    );
}

/// The sample lead with a campaign and a state. Campaigns are skewed: half of the leads come from one in
/// seven of them.
fn tagged(nth: u64) -> String {
    let mut random = fastrand::Rng::with_seed(nth);
    let campaign = (random.f64() * random.f64() * f64::from(CAMPAIGNS)) as u32;
    let states =
        ["CA", "TX", "FL", "NY", "PA", "IL", "OH", "GA", "NC", "MI", "NJ", "VA", "WA", "AZ", "TN", "MA"];
    let mut lead: serde_json::Value = serde_json::from_str(&lead()).expect("the sample lead is JSON");
    lead["personalInformation"]["state"] = states[random.usize(..states.len())].into();
    lead["clientTags"] = serde_json::json!({
        "campaign": [format!("campaign-{campaign}")],
        "affiliate": [format!("affiliate-{}", campaign % AFFILIATES)],
    });
    lead.to_string()
}
