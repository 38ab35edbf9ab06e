//! A report equals a count of what the feeds tell: each event and payout once, as it was told last, and none that was taken back.
//! What counts here knows nothing of how reports are made, and reads the feeds as clients do.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use offerd::analytics::{
    ArrivalTime, ClientTagFeed, Events, Feed, Feeds, Horizon, PageCursor, PageRequest, Payouts,
};
use offerd::model::{EventType, LeadEvent, LeadPayout, Viewer};
use offerd::store::Clock;
use offerd::store::tokens::Tokens;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Run, lead, told};
use crate::kit::partners::partner;
use crate::kit::{Daemon, Stopped};

/// Events of the test that runs always.
const FEW: usize = 300;
/// Events of the one that is asked for, where `OFFERD_RECOUNT_EVENTS` does not say.
const MANY: usize = 100_000;

/// By day and campaign: leads, clicks, applications, fundings, thousandths of a cent.
type Counted = BTreeMap<(String, String), [i64; 5]>;

/// Makes leads of campaigns, clicks, and reports of a partner: late ones, some sent again, some taken back.
async fn made(daemon: &Daemon, events: usize) {
    let mut lines = String::new();
    // A lead is two events, and brings a click, and two reports.
    for nth in 0..events / 5 {
        let (campaign, state) = (format!("campaign-{}", nth % 7), if nth % 3 == 0 { "CA" } else { "TX" });
        let table = daemon.submit(lead(&campaign, state)).await.json();
        let offer = table["loanOffers"][0]["uuid"].as_str().unwrap().to_owned();
        let url = format!("{}/click/{offer}", daemon.api);
        assert_eq!(daemon.request(hyper::Method::GET, &url, "", "").await.status, 302);
        let at = chrono::Utc::now();
        let mut report = |event_type: &str, payout: usize| {
            let report = json!({
                "partner": "bank", "transactionId": format!("{event_type}-{nth}"), "eventType": event_type,
                "clickId": offer, "occurredAt": at.to_rfc3339(), "payoutInCents": payout as f64 / 8.0,
            });
            for _ in 0..1 + usize::from(nth % 5 == 0) {
                writeln!(lines, "{report}").unwrap();
            }
        };
        report("applied", 0);
        report("funded", 1 + nth % 1000);
        if nth % 4 == 1 {
            let revoked =
                json!({"partner": "bank", "transactionId": format!("funded-{nth}"), "revoked": true});
            writeln!(lines, "{revoked}").unwrap();
        }
    }
    let file = daemon.file("reports.ndjson");
    std::fs::write(&file, lines).unwrap();
    let imported = daemon.command(&["events", "import", file.to_str().unwrap()]);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
}

/// Every record of a feed, as the newer form tells it two hours later.
fn fed<F: Feed>(feeds: &Feeds, company: Uuid) -> Vec<F::Record> {
    let later = Horizon::at(ArrivalTime(Clock::system().now_us() + 7_200_000_000));
    let mut asked = PageRequest::prompt(ArrivalTime::FIRST);
    let mut all = Vec::new();
    loop {
        let page = feeds.page::<F>(Viewer::of_all(company), asked, later).unwrap();
        all.extend(page.data);
        if !page.should_continue_polling {
            return all;
        }
        let (_, query) = page.next_url.split_once('?').unwrap();
        let token = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "paginationToken");
        asked = PageCursor::read::<F>(&token.unwrap().1).unwrap();
    }
}

/// What the feeds of a company add up to.
fn recounted(stopped: &Stopped) -> Counted {
    let store = stopped.plan.open_store();
    let companies = Tokens::of(store.clone()).companies();
    let company = companies.iter().find(|company| company.name == "Live").unwrap().uuid;
    let feeds = Feeds::new(store, "https://offers.example".to_owned(), usize::MAX);
    let tags = fed::<ClientTagFeed>(&feeds, company);
    let campaigns: BTreeMap<Uuid, String> =
        tags.into_iter().filter(|tag| tag.key == "campaign").map(|tag| (tag.lead_uuid, tag.value)).collect();
    let events: BTreeMap<String, LeadEvent> =
        fed::<Events>(&feeds, company).into_iter().map(|event| (event.id.clone(), event)).collect();
    let payouts: BTreeMap<Option<Uuid>, LeadPayout> =
        fed::<Payouts>(&feeds, company).into_iter().map(|payout| (payout.uuid, payout)).collect();

    let mut counted = Counted::new();
    let mut add = |at: offerd::model::Timestamp, lead: Uuid, column: usize, much: i64| {
        let day = at.to_utc().date_naive().to_string();
        counted.entry((day, campaigns[&lead].clone())).or_default()[column] += much;
    };
    for event in events.values().filter(|event| event.event_deleted_at.is_none()) {
        let column = match event.event_type {
            EventType::LeadCreated => 0,
            EventType::OfferClicked => 1,
            EventType::Applied => 2,
            EventType::Funded => 3,
            _ => continue,
        };
        add(event.event_created_at, event.lead_uuid, column, 1);
    }
    for payout in payouts.values().filter(|payout| payout.deleted_at.is_none()) {
        add(payout.booked_at, payout.lead_uuid, 4, (payout.payout_in_cents * 1000.0).round() as i64);
    }
    counted.retain(|_, figures| *figures != [0; 5]);
    counted
}

fn reported(run: Run<'_>) -> Counted {
    let words = ["--from", "2020-01-01", "--by", "day,campaign", "--format", "json"];
    let report: Value = serde_json::from_str(&told(run, &words)).unwrap();
    assert_eq!((&report["rowsLeftOut"], report.get("uncountedFrom")), (&json!(0), None));
    let row = |row: &Value| {
        let key = |nth: usize| row["by"][nth].as_str().unwrap().to_owned();
        let count = |name: &str| row[name].as_i64().unwrap_or(0);
        let payouts = (row["payouts"].as_f64().unwrap_or(0.0) * 100_000.0).round() as i64;
        let figures = [count("leads"), count("clicks"), count("applied"), count("funded"), payouts];
        ((key(0), key(1)), figures)
    };
    let rows = report["rows"].as_array().unwrap().iter().map(row);
    rows.filter(|(_, figures)| *figures != [0; 5]).collect()
}

async fn a_report_equals_the_feeds(events: usize) {
    let plan = Daemon::with_partners(vec![partner("bank").loan("")]);
    let daemon = plan.setting("limits.clicks_kept_per_offer", "10").start().await.with_live_company();
    made(&daemon, events).await;

    // Some of it is counted in one process, and the rest in the next.
    let (_, stopped) = daemon.kill().start().await.terminate();
    let daemon = stopped.start().await;
    let counted = async {
        while told(&|words| daemon.command(words), &["--format", "json"]).contains("uncountedFrom") {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(600), counted).await.expect("all of it is counted");
    let told = reported(&|words| daemon.command(words));
    let (_, stopped) = daemon.terminate();
    let recounted = recounted(&stopped);
    let sum = |counted: &Counted| {
        counted.values().fold([0; 5], |sum, row| std::array::from_fn(|nth| sum[nth] + row[nth]))
    };
    println!("{} rows; leads, clicks, applied, funded, payouts: {:?}", told.len(), sum(&told));
    assert_eq!(told, recounted);
    let leads = (events / 5) as i64;
    let taken_back = (0..leads).filter(|nth| nth % 4 == 1).count() as i64;
    assert_eq!(sum(&told)[..4], [leads, leads, leads, leads - taken_back]);
}

#[tokio::test]
async fn a_report_equals_a_recount_of_the_feeds() {
    a_report_equals_the_feeds(FEW).await;
}

/// `OFFERD_RECOUNT_EVENTS=100000 cargo test --release --test it reports::recount -- --ignored --nocapture`
#[tokio::test]
#[ignore = "takes minutes"]
async fn a_report_equals_a_recount_of_very_many_events() {
    let events = std::env::var("OFFERD_RECOUNT_EVENTS").ok().and_then(|events| events.parse().ok());
    a_report_equals_the_feeds(events.unwrap_or(MANY)).await;
}
