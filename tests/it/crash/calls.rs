//! SIGKILL at random moments while partners are polled, call back and are posted: every ask has one outcome, a callback that was
//! acknowledged is an answer, and nobody is sent an application or a post twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use hyper::Method;
use offerd::analytics::Payouts;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::campaign::seed;
use crate::kit::far_partners::{offers, stepped};
use crate::kit::far_side::{Deed, FarSide, Received};
use crate::kit::{Daemon, sample};

/// Kills of a test.
const KILLS: usize = 6;

/// Clients at once.
const CLIENTS: usize = 4;

/// Tables that are looked at together when all kills are done: fewer than a daemon takes connections.
const LOOKS_AT_ONCE: usize = 64;

/// Longest time under load before a kill.
const LONGEST_LOAD: Duration = Duration::from_millis(400);

/// Looks of a partner that is polled before it has its offers.
const LOOKS: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asks_of_many_calls_survive_kills_at_random_moments() {
    campaign(KILLS, seed()).await;
}

/// `OFFERD_CRASH_KILLS=200 cargo test --release --test it crash::calls -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; its figure is in the handbook"]
async fn asks_of_many_calls_survive_as_many_kills_as_one_likes() {
    let kills = std::env::var("OFFERD_CRASH_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(200);
    campaign(kills, seed()).await;
}

/// What partners have seen and been told, kept outside of the daemon.
#[derive(Default)]
struct Seen(Mutex<Facts>);

#[derive(Default)]
struct Facts {
    /// Looks at an application, by lead.
    looks: BTreeMap<String, usize>,
    /// Paths that are still to be called, each with its lead.
    to_call: Vec<(String, String)>,
    /// Leads whose callback was acknowledged.
    heard: BTreeSet<String>,
    /// Acknowledged tables.
    tables: Vec<String>,
}

impl Seen {
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

/// The partners' systems: one that is polled, one that calls back, two that bid.
struct Afar {
    seen: Arc<Seen>,
    polled: FarSide,
    calling: FarSide,
    buyers: [FarSide; 2],
}

impl Afar {
    async fn start() -> Self {
        let seen = Arc::<Seen>::default();
        let (looked_at, called) = (Arc::clone(&seen), Arc::clone(&seen));
        let polled = FarSide::start(move |request| match request.head.strip_prefix("GET /applications/") {
            None => Deed::Json(202, json!({"id": said(request)["lead"], "state": "working"}).to_string()),
            Some(rest) => {
                let lead = rest.split_whitespace().next().unwrap_or_default().to_owned();
                let mut facts = looked_at.facts();
                let looks = facts.looks.entry(lead).or_default();
                *looks += 1;
                if *looks > LOOKS {
                    offers()
                } else {
                    Deed::Json(200, json!({"state": "working"}).to_string())
                }
            }
        })
        .await;
        let calling = FarSide::start(move |request| {
            let said = said(request);
            let path = text(&said["reply_to"]).strip_prefix(BASE_URL).expect("it is ours").to_owned();
            called.facts().to_call.push((text(&said["lead"]), path));
            Deed::Json(202, json!({"taken": true}).to_string())
        })
        .await;
        let buyer = |dollars: f64| {
            FarSide::start(move |request| match request.head.starts_with("POST /ping") {
                true => Deed::Json(200, json!({"bid": dollars}).to_string()),
                false => offers(),
            })
        };
        Self { seen, polled, calling, buyers: [buyer(9.5).await, buyer(4.0).await] }
    }

    async fn daemon(&self) -> Daemon {
        let apply = |far: &FarSide, more: &str, then: &str| {
            format!(
                r#"
[[products.loan.http.steps]]
url = "{0}/applications"
sandbox_url = "{0}/applications"
json = {{ lead = "lead_uuid", reply_to = "callback_url" }}
{more}

[[products.loan.http.steps]]
{then}
"#,
                far.url("")
            )
        };
        let look = format!(
            r#"method = "GET"
url = "{0}/applications/{{{{ kept.id }}}}"
sandbox_url = "{0}/applications/{{{{ kept.id }}}}"
pending = "response.state == 'working'"
every = "50ms""#,
            self.polled.url("")
        );
        let buy = |far: &FarSide| {
            format!(
                r#"
[products.loan.http.post]
best = 1

[[products.loan.http.steps]]
url = "{0}/ping"
sandbox_url = "{0}/ping"
json = {{ id = "ask_uuid" }}
bid = "response.bid"

[[products.loan.http.steps]]
url = "{0}/post"
sandbox_url = "{0}/post"
json = {{ lead = "lead_uuid" }}
"#,
                far.url("")
            )
        };
        let partners = [
            stepped("polled", &self.polled, &apply(&self.polled, r#"keep = { id = "response.id" }"#, &look)),
            stepped("calling", &self.calling, &apply(&self.calling, "", "callback = true")),
            stepped("high", &self.buyers[0], &buy(&self.buyers[0])),
            stepped("low", &self.buyers[1], &buy(&self.buyers[1])),
        ];
        let partners = partners.map(|file| file.replaced("\"3s\"", "\"6s\""));
        let plan = Daemon::with_partners(partners.into());
        let plan = plan.setting("integrations.base_url", BASE_URL).setting("matching.deadline", "7s");
        plan.start().await.with_live_company()
    }
}

/// Where partners call, whichever port the daemon has.
const BASE_URL: &str = "https://offers.example";

fn said(request: &Received) -> Value {
    serde_json::from_str(&request.body).expect("a request is JSON")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

async fn campaign(kills: usize, seed: u64) {
    // Whoever sees it fail can have the same draws again; the moments of the machine are its own.
    println!("OFFERD_CRASH_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let afar = Afar::start().await;
    let mut daemon = afar.daemon().await;
    for _ in 0..kills {
        let (kill, killed) = watch::channel(false);
        let clients = join_all((0..CLIENTS).map(|_| client(&daemon, &afar.seen, killed.clone())));
        let callers = join_all((0..CLIENTS).map(|_| caller(&daemon, &afar.seen, rng.fork(), killed.clone())));
        let moment = LONGEST_LOAD.mul_f64(rng.f64());
        tokio::join!(clients, callers, async {
            tokio::time::sleep(moment).await;
            crate::kit::signal(daemon.pid(), "KILL");
            kill.send_replace(true);
        });
        daemon = daemon.kill().start().await;
    }
    let (done, is_done) = watch::channel(false);
    let tables = afar.seen.facts().tables.clone();
    let completed = async {
        let looks = tables.iter().map(|table| daemon.complete(table));
        let tables: Vec<Value> = stream::iter(looks).buffered(LOOKS_AT_ONCE).collect().await;
        done.send_replace(true);
        tables
    };
    let (tables, ()) = tokio::join!(completed, caller(&daemon, &afar.seen, rng.fork(), is_done));
    hold_against(&afar, daemon, &tables).await;
}

/// Submits leads until the daemon is gone.
async fn client(daemon: &Daemon, seen: &Seen, killed: watch::Receiver<bool>) {
    let url = format!("{}/leads/rateTables", daemon.api);
    while !*killed.borrow() {
        let token = &daemon.publishable;
        let Some(answer) = daemon.try_request(Method::POST, &url, token, &[], sample("personal_loan")).await
        else {
            return;
        };
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        seen.facts().tables.push(text(&answer.json()["uuid"]));
    }
}

/// Calls back in any order until it is over; who finds nobody there calls again later.
async fn caller(daemon: &Daemon, seen: &Seen, mut rng: Rng, over: watch::Receiver<bool>) {
    while !*over.borrow() {
        let next = {
            let mut facts = seen.facts();
            let left = facts.to_call.len();
            (left > 0).then(|| facts.to_call.swap_remove(rng.usize(..left)))
        };
        let Some((lead, path)) = next else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        let Deed::Json(_, answer) = offers() else { unreachable!("offers are JSON") };
        let url = format!("{}{path}", daemon.integrations);
        match daemon.try_request(Method::POST, &url, "", &[], answer).await.map(|answer| answer.status) {
            Some(204) => drop(seen.facts().heard.insert(lead)),
            // Its ask has ended, or has taken a call whose answer was lost with the daemon.
            Some(410) => {}
            Some(other) => panic!("a callback was answered {other}"),
            None => seen.facts().to_call.push((lead, path)),
        }
    }
}

/// Holds what the daemon says of complete tables against what its partners have seen.
async fn hold_against(afar: &Afar, daemon: Daemon, tables: &[Value]) {
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let mut sold: Vec<(String, f64)> = Vec::new();
    for table in tables {
        let lead = text(&table["leadUuid"]);
        let explained = daemon.command(&["explain", table["uuid"].as_str().unwrap(), "--json"]);
        let explained: Value = serde_json::from_slice(&explained.stdout).expect("JSON");
        let seats = explained["rateTables"][0]["seats"].as_array().expect("seats");
        assert_eq!(seats.len(), 4, "{explained}");
        for seat in seats {
            let outcome = format!("{}: {}", text(&seat["partner"]), text(&seat["why"]));
            assert!(!outcome.ends_with("pending"), "{outcome} at a complete table");
            *outcomes.entry(outcome).or_default() += 1;
        }
        let offers_of = |key: &str| {
            let offers = table["loanOffers"].as_array().expect("offers").iter();
            offers.filter(|offer| offer["originator"]["key"] == key).count()
        };
        if afar.seen.facts().heard.contains(&lead) {
            assert_eq!(offers_of("calling"), 2, "an acknowledged callback of {lead} was lost");
        }
        sold.extend((offers_of("high") > 0).then(|| (lead.clone(), 950.0)));
        sold.extend((offers_of("low") > 0).then_some((lead, 400.0)));
    }
    for far in [&afar.polled, &afar.calling, &afar.buyers[0], &afar.buyers[1]] {
        let mut sent = BTreeSet::new();
        let is_once = |one: &Received| {
            ["POST /applications", "POST /post"].iter().any(|once| one.head.starts_with(once))
        };
        for request in far.received().into_iter().filter(is_once) {
            let lead = text(&said(&request)["lead"]);
            assert!(sent.insert(lead.clone()), "{lead} was sent twice");
        }
    }
    assert!(!daemon.log().contains("does not fit its table"), "{}", daemon.log());

    let Some(first) = tables.first() else { return };
    let lead = daemon.get(&format!("/leads/{}", text(&first["leadUuid"]))).await.json();
    let (_, stopped) = daemon.terminate();
    let payouts = stopped.feed_in_two_hours::<Payouts>(&text(&lead["companyUUID"])).data;
    let of_tables: BTreeSet<String> = tables.iter().map(|table| text(&table["leadUuid"])).collect();
    let mut booked: Vec<_> =
        payouts.iter().map(|payout| (payout.lead_uuid.to_string(), payout.payout_in_cents)).collect();
    // A submit that nobody was answered may have become a lead all the same.
    booked.retain(|(lead, _)| of_tables.contains(lead));
    booked.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    sold.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    assert_eq!(booked, sold, "what is sold is booked once");
    println!(
        "{} tables, {} callbacks acknowledged, {outcomes:?}",
        tables.len(),
        afar.seen.facts().heard.len()
    );
}
