//! SIGKILL at random moments, under load, again and again: whatever the daemon acknowledged is held against it.
//!
//! Clients submit, block, poll, repeat and click, and write down every answer in a [`Model`] that lives outside of the
//! daemon. After each kill the daemon starts on the same store and every answer of that round, and some of older ones, is
//! asked for again; at the end all are, and the feeds are read.

use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use hyper::Method;
use offerd::analytics::Events;
use serde_json::json;
use tokio::sync::watch;

use super::model::Model;
use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon, PATIENCE, Plan};

/// Kills of a test.
const KILLS: usize = 20;

/// Clients at once.
const CLIENTS: usize = 8;

/// Longest time under load before a kill.
const LONGEST_LOAD: Duration = Duration::from_millis(250);

/// Tables of earlier rounds that are asked for again after each kill.
const OLD_TABLES: usize = 20;

/// Questions at once when what was acknowledged is asked for again: submits become durable together.
const ASKING: usize = 32;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kills_at_random_moments() {
    campaign(KILLS, seed()).await;
}

/// `OFFERD_CRASH_KILLS=500 cargo test --release --test it crash::campaign -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; its figure is in the handbook"]
async fn what_was_acknowledged_survives_as_many_kills_as_one_likes() {
    let kills = std::env::var("OFFERD_CRASH_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(500);
    campaign(kills, seed()).await;
}

/// From `OFFERD_CRASH_SEED`, or another one each time.
pub fn seed() -> u64 {
    let given = std::env::var("OFFERD_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| fastrand::u64(..))
}

pub fn plan() -> Plan {
    let simulate = |delay: &str| format!(r#"simulate = {{ delay = "{delay}" }}"#);
    let silent = r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#;
    let partners = vec![
        partner("prompt").loan("").savings(""),
        partner("soon").loan(&simulate("5ms")),
        partner("late").loan(&simulate("80ms")),
        partner("silent").loan(silent),
    ];
    Daemon::with_partners(partners)
        .setting("matching.deadline", "600ms")
        .setting("matching.second_look_reserve", "10ms")
        .setting("api.base_url", "http://offers.example")
}

async fn campaign(kills: usize, seed: u64) {
    // Whoever sees it fail can have the same draws again; the moments of the machine are its own.
    println!("OFFERD_CRASH_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let model = Model::default();
    let mut daemon = plan().start().await.with_live_company();
    for _ in 0..kills {
        let before = model.tables();
        let (kill, killed) = watch::channel(false);
        let load = join_all((0..CLIENTS).map(|_| client(&daemon, &model, rng.fork(), killed.clone())));
        let moment = LONGEST_LOAD.mul_f64(rng.f64());
        tokio::join!(load, async {
            tokio::time::sleep(moment).await;
            crate::kit::signal(daemon.pid(), "KILL");
            kill.send_replace(true);
        });
        daemon = daemon.kill().start().await;
        let mut asked_for = model.tables().split_off(before.len());
        asked_for
            .extend((0..OLD_TABLES.min(before.len())).map(|_| before[rng.usize(..before.len())].clone()));
        hold_against(&daemon, &model, &asked_for).await;
    }

    let tables = model.tables();
    each(&tables, async |table| drop(daemon.complete(table).await)).await;
    hold_against(&daemon, &model, &tables).await;
    let keys: Vec<_> = model.keys().into_iter().collect();
    each(&keys, async |(key, (body, table))| {
        let again = heard(async || submit(&daemon, body, Some(key)).await).await;
        assert_eq!((again.status, &again.json()["uuid"]), (200, &json!(table)), "a repeat of {key}");
    })
    .await;
    each(&model.leads(), async |lead| {
        let body = json!({ "uuid": lead }).to_string();
        let again = heard(async || submit(&daemon, &body, None).await).await;
        assert_eq!(again.status, 409, "of submits of one lead, one wins, kills or no");
    })
    .await;
    assert!(!daemon.log().contains("does not fit its table"), "{}", daemon.log());
    assert!(!daemon.log().contains("broken"), "{}", daemon.log());

    let lead = daemon.get(&format!("/leads/{}", model.leads()[0])).await.json();
    let company = lead["companyUUID"].as_str().unwrap().to_owned();
    let (_, stopped) = daemon.terminate();
    model.hold_against_feed(&stopped.feed_in_two_hours::<Events>(&company).data);
    println!("{kills} kills, {}", model.summary());
}

/// Asks for tables again and compares them with what was shown.
async fn hold_against(daemon: &Daemon, model: &Model, tables: &[String]) {
    each(tables, async |table| {
        let answer = daemon.rate_table(table).await;
        assert_eq!(answer.status, 200, "an acknowledged table is there: {table}");
        model.shown(&answer);
    })
    .await;
}

/// Asks about each, many at once.
pub async fn each<T>(all: &[T], ask: impl AsyncFn(&T)) {
    stream::iter(all).for_each_concurrent(ASKING, |one| ask(one)).await;
}

/// Goes about its business until the daemon is gone.
async fn client(daemon: &Daemon, model: &Model, mut rng: Rng, killed: watch::Receiver<bool>) {
    while !*killed.borrow() {
        if act(daemon, model, &mut rng).await.is_none() {
            return;
        }
    }
}

/// A lead that all partners fit, of some amount.
pub fn body(lead: &str, rng: &mut Rng) -> String {
    let lead = json!({
        "uuid": lead,
        "productTypes": ["loan", "savings"],
        "loanInformation": {"loanAmount": rng.i32(2_000..40_000)},
        "creditInformation": {"providedCreditRating": "good"},
    });
    lead.to_string()
}

/// One thing that clients do; `None` when the daemon is gone.
async fn act(daemon: &Daemon, model: &Model, rng: &mut Rng) -> Option<()> {
    let lead = uuid::Uuid::new_v4().to_string();
    let body = body(&lead, rng);
    match rng.u8(0..4) {
        0 => {
            let url = format!("{}/blocking/leads/rateTables", daemon.integrations);
            let answer = daemon.try_request(Method::POST, &url, &daemon.publishable, &[], body).await?;
            let table = accepted(model, &lead, &answer);
            assert_eq!(answer.json()["pendingResponses"], json!([]));
            let polled = poll(daemon, &table).await?;
            assert_eq!(polled.json(), answer.json(), "a blocking answer equals a later poll");
            model.shown(&polled);
        }
        1 => {
            let key = lead.clone();
            let answer = submit(daemon, &body, Some(&key)).await?;
            let table = accepted(model, &lead, &answer);
            model.key(&key, &body, &table);
            let again = submit(daemon, &body, Some(&key)).await?;
            assert_eq!(again.json()["uuid"], json!(table));
            model.shown(&again);
        }
        2 => {
            let both = tokio::join!(submit(daemon, &body, None), submit(daemon, &body, None));
            let both = [both.0?, both.1?];
            let (won, lost): (Vec<&Answer>, Vec<&Answer>) =
                both.iter().partition(|answer| answer.status == 200);
            assert_eq!((won.len(), lost[0].status), (1, 409));
            accepted(model, &lead, won[0]);
        }
        _ => {
            let table = accepted(model, &lead, &submit(daemon, &body, None).await?);
            for _ in 0..rng.usize(0..4) {
                model.shown(&poll(daemon, &table).await?);
            }
            let Some(offer) = model.an_offer(&table) else { return Some(()) };
            let url = format!("{}/click/{offer}", daemon.api);
            let clicked = daemon.try_request(Method::GET, &url, "", &[], "").await?;
            assert_eq!(clicked.status, 302);
            model.clicked(&lead);
        }
    }
    Some(())
}

/// Writes a submit's answer down; gives the table.
pub fn accepted(model: &Model, lead: &str, answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    assert_eq!(answer.json()["leadUuid"], json!(lead));
    model.shown(answer)
}

async fn submit(daemon: &Daemon, body: &str, key: Option<&str>) -> Option<Answer> {
    let url = format!("{}/leads/rateTables", daemon.api);
    let headers: Vec<(&str, &str)> = key.map(|key| ("idempotency-key", key)).into_iter().collect();
    daemon.try_request(Method::POST, &url, &daemon.publishable, &headers, body.to_owned()).await
}

/// What a daemon that runs answers once it is not too busy to.
pub async fn heard(ask: impl AsyncFn() -> Option<Answer>) -> Answer {
    let asking = async {
        loop {
            let answer = ask().await.expect("the daemon runs");
            if answer.status != 503 {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("it answers in time")
}

pub async fn poll(daemon: &Daemon, table: &str) -> Option<Answer> {
    let url = format!("{}/originator/rateTables/{table}", daemon.api);
    daemon.try_request(Method::GET, &url, &daemon.confidential, &[], "").await
}
