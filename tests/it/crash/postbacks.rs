//! SIGKILL at random moments while events are pushed to receivers that fail, hang, hang up and answer twice: each event arrives once or
//! more, each of a lead only after the one before was acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use hyper::Method;
use offerd::analytics::Events;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::campaign::seed;
use crate::kit::Daemon;
use crate::kit::far_side::{Deed, FarSide, Received};
use crate::kit::partners::partner;

/// Kills of a test.
const KILLS: usize = 10;

/// Clients at once.
const CLIENTS: usize = 3;

/// Longest time under load before a kill.
const LONGEST_LOAD: Duration = Duration::from_millis(500);

/// How long nobody is told anything before all have been told all.
const QUIET: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postbacks_survive_kills_at_random_moments() {
    campaign(KILLS, seed()).await;
}

/// `OFFERD_CRASH_KILLS=500 cargo test --release --test it crash::postbacks -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; its figure is in the handbook"]
async fn postbacks_survive_as_many_kills_as_one_likes() {
    let kills = std::env::var("OFFERD_CRASH_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(500);
    campaign(kills, seed()).await;
}

/// What a receiver was sent, in order: of which lead, which event, under which id, and whether it has acknowledged it.
#[derive(Debug, Clone)]
struct Arrival {
    lead: String,
    event: String,
    message: String,
    acknowledged: bool,
}

type Log = Arc<Mutex<Vec<Arrival>>>;

/// A receiver, which is as bad as `deeds` says.
async fn receiver(deeds: impl Fn() -> Deed + Send + Sync + 'static) -> (FarSide, Log) {
    let log = Log::default();
    let written = Arc::clone(&log);
    let far = FarSide::start(move |request| {
        let deed = deeds();
        let acknowledged = matches!(deed, Deed::Json(200, _) | Deed::Twice(200, _));
        written.lock().expect("nobody panics while holding it").push(arrival(request, acknowledged));
        deed
    })
    .await;
    (far, log)
}

fn arrival(request: &Received, acknowledged: bool) -> Arrival {
    let body: Value = serde_json::from_str(&request.body).expect("a webhook is JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let id = request.head.lines().find_map(|line| line.strip_prefix("webhook-id: ")).expect("an id");
    let data = &body["data"];
    Arrival { lead: text(&data["leadUuid"]), event: text(&data["id"]), message: id.to_owned(), acknowledged }
}

/// One of every way to be a bad receiver, until it is well.
fn shaky(seed: u64, is_well: Arc<Mutex<bool>>) -> impl Fn() -> Deed + Send + Sync + 'static {
    let rng = Mutex::new(Rng::with_seed(seed));
    move || {
        let good = || Deed::Json(200, "{}".to_owned());
        if *is_well.lock().expect("nobody panics while holding it") {
            return good();
        }
        match rng.lock().expect("nobody panics while holding it").u8(..10) {
            0 | 1 => Deed::Json(500, String::new()),
            2 => Deed::Json(429, String::new()),
            3 => Deed::Silence,
            4 => Deed::Reset,
            5 | 6 => Deed::Twice(200, "{}".to_owned()),
            _ => good(),
        }
    }
}

async fn campaign(kills: usize, seed: u64) {
    // Whoever sees it fail can have the same draws again; the moments of the machine are its own.
    println!("OFFERD_CRASH_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let is_well = Arc::<Mutex<bool>>::default();
    let (bad, of_bad) = receiver(shaky(rng.u64(..), Arc::clone(&is_well))).await;
    let (good, of_good) = receiver(|| Deed::Json(200, "{}".to_owned())).await;
    let mut daemon = daemon(&[("bad", &bad), ("good", &good)]).await;
    for _ in 0..kills {
        let (kill, killed) = watch::channel(false);
        let clients = join_all((0..CLIENTS).map(|_| client(&daemon, killed.clone())));
        let moment = LONGEST_LOAD.mul_f64(rng.f64());
        tokio::join!(clients, async {
            tokio::time::sleep(moment).await;
            crate::kit::signal(daemon.pid(), "KILL");
            kill.send_replace(true);
        });
        daemon = daemon.kill().start().await;
    }
    *is_well.lock().expect("nobody panics while holding it") = true;
    until_quiet(&daemon, &[&of_bad, &of_good]).await;
    let company = company_of(&daemon, &of_good).await;
    let (_, stopped) = daemon.terminate();
    let mut feed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in stopped.feed_in_two_hours::<Events>(&company).data {
        feed.entry(event.lead_uuid.to_string()).or_default().push(event.id);
    }
    let events: usize = feed.values().map(Vec::len).sum();
    for (name, log) in [("bad", of_bad), ("good", of_good)] {
        let log = log.lock().expect("nobody panics while holding it").clone();
        hold_against(name, &log, &feed);
        println!(
            "{kills} kills, {} leads, {events} events, {} arrivals at the {name} receiver",
            feed.len(),
            log.len()
        );
    }
}

async fn daemon(receivers: &[(&str, &FarSide)]) -> Daemon {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let postbacks = plan.directory().join("config/postbacks");
    std::fs::create_dir_all(&postbacks).unwrap();
    std::fs::write(plan.directory().join("secret"), "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX").unwrap();
    for (name, far) in receivers {
        let file = format!(
            "company = 'Live'\nkind = 'webhook'\nurl = '{}'\nsecrets = [{{ file = 'secret' }}]\nallow_addresses = ['127.0.0.1']\ntimeout = '250ms'\n",
            far.url("/hook")
        );
        std::fs::write(postbacks.join(format!("{name}.toml")), file).unwrap();
    }
    let plan = plan.setting("postbacks.first_backoff", "20ms").setting("postbacks.longest_backoff", "100ms");
    plan.start().await.with_live_company()
}

/// Submits leads and opens their offers until the daemon is gone.
async fn client(daemon: &Daemon, killed: watch::Receiver<bool>) {
    let submits = format!("{}/blocking/leads/rateTables", daemon.integrations);
    while !*killed.borrow() {
        let lead = json!({ "productTypes": ["savings"] }).to_string();
        let answer = daemon.try_request(Method::POST, &submits, &daemon.publishable, &[], lead).await;
        let Some(answer) = answer else { return };
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        let table = answer.json();
        let offer = table["savingsOffers"][0]["url"].as_str().expect("an offer has an address");
        if daemon.try_request(Method::GET, offer, "", &[], "").await.is_none() {
            return;
        }
    }
}

/// Waits until nothing is outstanding, and nothing has arrived for a while.
async fn until_quiet(daemon: &Daemon, logs: &[&Log]) {
    let arrived = || -> usize { logs.iter().map(|log| log.lock().expect("held by nobody").len()).sum() };
    let waiting = async {
        loop {
            let before = arrived();
            tokio::time::sleep(QUIET).await;
            let listed = daemon.command(&["postbacks", "list", "--json"]);
            let listed: Vec<Value> = serde_json::from_slice(&listed.stdout).expect("JSON");
            if arrived() == before && listed.iter().all(|one| one["outstanding"] == 0) {
                return;
            }
        }
    };
    tokio::time::timeout(20 * crate::kit::PATIENCE, waiting).await.expect("all is told");
}

async fn company_of(daemon: &Daemon, log: &Log) -> String {
    let lead = log.lock().expect("nobody panics while holding it")[0].lead.clone();
    let lead = daemon.get(&format!("/leads/{lead}")).await.json();
    lead["companyUUID"].as_str().expect("a lead has a company").to_owned()
}

/// Holds what arrived against the feed: all of it, each under one id, none before the one before it was acknowledged.
fn hold_against(name: &str, log: &[Arrival], feed: &BTreeMap<String, Vec<String>>) {
    let mut ids: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut acknowledged: BTreeMap<&str, usize> = BTreeMap::new();
    for Arrival { lead, event, message, acknowledged: is_acknowledged } in log {
        ids.entry(event).or_default().insert(message);
        let events =
            feed.get(lead).unwrap_or_else(|| panic!("{name} was told of {lead}, which there is not"));
        let nth = events.iter().position(|known| known == event);
        let nth = nth.unwrap_or_else(|| panic!("{name} was told {event} of {lead}, which did not happen"));
        let count = acknowledged.entry(lead).or_default();
        assert!(nth <= *count, "{name} was told event {nth} of {lead} before {count} were acknowledged");
        if *is_acknowledged && nth == *count {
            *count += 1;
        }
    }
    for (lead, events) in feed {
        let count = acknowledged.get(lead.as_str()).copied().unwrap_or_default();
        assert_eq!(count, events.len(), "{name} was not told all of {lead}");
    }
    assert!(ids.values().all(|ids| ids.len() == 1), "an event keeps its id");
}
