//! A wrong machine clock: its effects on clients and operators. Records from under another clock are put into the
//! store of a daemon while it is stopped.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use hyper::Method;
use offerd::model::EventType;
use offerd::store::entities::{Happening, HappeningDetails};
use offerd::store::tokens::Tokens;
use offerd::store::{Clock, ClockLimits, Commit, Store, StoreOptions, Tree, codec};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::kit::partners::partner;
use crate::kit::{Daemon, Stopped};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A daemon that was stopped, whose feed has an event of each of these times, in seconds from now.
async fn stopped_with_events(arrivals: &[i64]) -> Stopped {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let (_, stopped) = daemon.terminate();
    for (nth, seconds) in arrivals.iter().enumerate() {
        append(&stopped, *seconds, nth as u128 + 1);
    }
    stopped
}

/// Has an event arrive under a clock that is off by so many seconds.
fn append(stopped: &Stopped, seconds: i64, lead: u128) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let then = now.as_micros() as i64 + seconds * 1_000_000;
    let clock = Clock::new(move || then.cast_unsigned());
    // It was believed, however long that took.
    let clock_limits = ClockLimits { hold: Duration::ZERO, ..ClockLimits::default() };
    let options = StoreOptions { clock, clock_limits, ..StoreOptions::new(stopped.plan.store()) };
    let store = Store::open_inline_with(&options).unwrap();
    let event = Happening {
        event_type: EventType::LeadCreated,
        lead: Uuid::from_u128(lead),
        lead_created_at: 1,
        at: 2,
        institution: None,
        product_type: None,
        amount_in_cents: None,
        test: true,
        cause: None,
        taken_back_at: None,
        details: HappeningDetails::default(),
    };
    let company = Tokens::of(store.clone()).companies()[0].uuid;
    let commit = Commit::new().append(Tree::LeadEvents, company, codec::encode(&vec![event]));
    store.commit(commit.about(Uuid::from_u128(lead))).now_or_never().unwrap().unwrap();
    store.close().unwrap();
}

async fn ready(daemon: &Daemon) -> (u16, String) {
    let answer = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
    (answer.status, String::from_utf8(answer.body.to_vec()).unwrap())
}

/// How far the machine's clock is ahead of arrivals, in seconds.
async fn offset(daemon: &Daemon) -> f64 {
    let metrics = daemon.metrics().await;
    let told = metrics.lines().find_map(|line| line.strip_prefix("offerd_store_clock_offset_seconds "));
    told.expect("the offset is told").parse().unwrap()
}

/// All leads in a feed, from its beginning; and the `nextUrl` behind them.
async fn leads_in_feed(daemon: &Daemon) -> (Vec<Uuid>, String) {
    let answer = daemon.get("/supplyAnalytics/leadEvents?timestamp=2020-08-01T00:00:00Z").await;
    assert_eq!(answer.status, 200);
    let page = answer.json();
    let leads = page["data"].as_array().unwrap().iter().map(|event| event["leadUuid"].as_str().unwrap());
    (leads.map(|lead| lead.parse().unwrap()).collect(), page["nextUrl"].as_str().unwrap().to_owned())
}

/// Takes a lead in, and reads it and its table again.
async fn takes_a_lead(daemon: &Daemon) -> Value {
    let answer = daemon.submit(r#"{"productTypes":["savings"],"clientTags":{"channel":["web"]}}"#).await;
    assert_eq!(answer.status, 200);
    let table = answer.json();
    let complete = daemon.complete(table["uuid"].as_str().unwrap()).await;
    assert_eq!(complete["savingsOffers"].as_array().unwrap().len(), 1);
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await;
    assert_eq!((lead.status, &lead.json()["clientTags"]["channel"]), (200, &json!(["web"])));
    complete
}

/// The last lead came under a clock of the future, hours after one that came under it too. The daemon starts under the right one.
#[tokio::test]
async fn what_came_in_under_a_clock_of_the_future_stops_no_feed() {
    let stopped = stopped_with_events(&[-2 * DAY, 4 * YEAR - 2 * HOUR, 4 * YEAR]).await;
    let daemon = stopped.start().await;
    let (status, said) = ready(&daemon).await;
    assert_eq!(status, 200);
    let [first, second] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert_eq!(first, "ready");
    assert!(second.contains("3years") && second.contains("System clock jumped back"), "{said}");
    assert!(offset(&daemon).await < -3.9 * YEAR as f64);
    daemon.logged("the system clock is behind the last arrivals").await;

    let (leads, next) = leads_in_feed(&daemon).await;
    assert_eq!(leads, [1, 2].map(Uuid::from_u128), "all that is an hour old by the time that passed");
    let table = takes_a_lead(&daemon).await;
    let followed = daemon.request(Method::GET, &next, &daemon.confidential, "").await;
    assert_eq!((followed.status, &followed.json()["data"]), (200, &json!([])));

    // A restart goes on where this has stopped.
    let (_, stopped) = daemon.terminate();
    append(&stopped, HOUR, 9);
    let daemon = stopped.start().await;
    assert_eq!(leads_in_feed(&daemon).await.0, [1, 2].map(Uuid::from_u128));
    assert_eq!(
        daemon.rate_table(table["uuid"].as_str().unwrap()).await.json()["leadUuid"],
        table["leadUuid"]
    );
}

/// The store was last written months ago, or the clock is wrong: that cannot be known.
#[tokio::test]
async fn a_clock_that_is_far_ahead_of_the_last_arrival_is_not_believed_before_it_has_stayed() {
    let stopped = stopped_with_events(&[-90 * DAY - 2 * HOUR, -90 * DAY]).await;
    let daemon = stopped.setting("store.retention", "60days").start().await;
    let (status, said) = ready(&daemon).await;
    assert_eq!((status, said.lines().next()), (200, Some("ready")));
    assert!(said.contains("System clock is off by 2months"), "{said}");
    assert!(offset(&daemon).await > 89.0 * DAY as f64);
    daemon.logged("uses its own clock for arrivals").await;
    let table = takes_a_lead(&daemon).await;
    assert_eq!(
        leads_in_feed(&daemon).await.0,
        [Uuid::from_u128(1)],
        "the second is not an hour old by what has passed"
    );

    // Who knows that it is right says so.
    let (_, stopped) = daemon.terminate();
    let daemon = stopped.setting("store.clock_hold", "0s").start().await;
    assert_eq!(ready(&daemon).await, (200, "ready\n".to_owned()));
    assert_eq!(offset(&daemon).await, 0.0);
    let leads = leads_in_feed(&daemon).await.0;
    assert_eq!(leads[..2], [1, 2].map(Uuid::from_u128));
    assert_eq!(
        daemon.rate_table(table["uuid"].as_str().unwrap()).await.json()["leadUuid"],
        table["leadUuid"]
    );
    takes_a_lead(&daemon).await;
}

#[tokio::test]
async fn a_clock_that_is_right_is_not_talked_about() {
    let daemon = stopped_with_events(&[-2 * DAY]).await.start().await;
    takes_a_lead(&daemon).await;
    assert_eq!(ready(&daemon).await, (200, "ready\n".to_owned()));
    assert_eq!(offset(&daemon).await, 0.0);
    assert!(!daemon.log().contains("the system clock"));
}
