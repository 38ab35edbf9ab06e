//! SIGKILL of one of three nodes at random moments, and restarts of the database, under load: a model outside of them holds whatever
//! any node acknowledged against what any node shows later.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use hyper::Method;
use offerd::analytics::Events;
use serde_json::json;
use tokio::sync::{RwLock, watch};

use super::nodes;
use crate::crash::campaign::{accepted, each, heard, plan, poll, seed};
use crate::crash::model::Model;
use crate::kit::{Answer, Daemon, PATIENCE};

/// Kills of a node in a test, and restarts of the database between them.
const SAMPLE: (usize, usize) = (8, 1);

/// Clients at once.
const CLIENTS: usize = 6;

/// Longest time under load before a kill.
const LONGEST_LOAD: Duration = Duration::from_millis(400);

/// Longest time that a killed node stays away: some come back before their lease has ended, some after it.
const LONGEST_ABSENCE: Duration = Duration::from_secs(4);

/// A command that restarts the database at once, without a checkpoint, and returns when it answers again.
const RESTART: &str = "OFFERD_TEST_POSTGRES_RESTART";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_any_node_acknowledged_survives_kills_of_nodes_and_restarts_of_the_database() {
    campaign(SAMPLE, seed()).await;
}

/// `OFFERD_NODE_KILLS=200 OFFERD_DATABASE_RESTARTS=20 .ci/postgres nodes::campaign --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn what_any_node_acknowledged_survives_as_many_as_one_likes() {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    campaign((number("OFFERD_NODE_KILLS", 200), number("OFFERD_DATABASE_RESTARTS", 20)), seed()).await;
}

/// The nodes that clients know; one that is away is not there.
type Nodes = RwLock<Vec<Option<Arc<Daemon>>>>;

async fn campaign((kills, restarts): (usize, usize), seed: u64) {
    println!("OFFERD_CRASH_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let model = Model::default();
    let Some(mut started) = nodes(3, plan()).await else { return };
    let first = started.remove(0).with_live_company();
    for node in &mut started {
        node.publishable.clone_from(&first.publishable);
        node.confidential.clone_from(&first.confidential);
    }
    let started = std::iter::once(first).chain(started).map(|node| Some(Arc::new(node)));
    let nodes: Nodes = RwLock::new(started.collect());
    let restarts_every = if restarts == 0 { usize::MAX } else { kills.div_ceil(restarts) };

    for round in 1..=kills {
        let (over, is_over) = watch::channel(false);
        let draws: Vec<Rng> = (0..CLIENTS).map(|_| rng.fork()).collect();
        let clients = draws.into_iter().map(|rng| client(&nodes, &model, rng, is_over.clone()));
        let (moment, absence) = (LONGEST_LOAD.mul_f64(rng.f64()), LONGEST_ABSENCE.mul_f64(rng.f64()));
        let (victim, hangs) = (rng.usize(0..3), rng.u8(0..3) == 0);
        let (_, killed) = tokio::join!(join_all(clients), async {
            tokio::time::sleep(moment).await;
            if round % restarts_every == 0 {
                restart_database().await;
            }
            let killed = nodes.write().await[victim].take().expect("it was there");
            // Some hang first, and are cut off in whatever they do.
            crate::kit::signal(killed.pid(), if hangs { "STOP" } else { "KILL" });
            tokio::time::sleep(absence).await;
            crate::kit::signal(killed.pid(), "KILL");
            over.send_replace(true);
            killed
        });
        come_back(&nodes, killed, victim).await;
    }

    let all = nodes.into_inner();
    let nodes: Vec<Daemon> = all
        .into_iter()
        .flatten()
        .map(|node| Arc::into_inner(node).expect("nobody uses it any more"))
        .collect();
    hold_against(&nodes, &model, &mut rng).await;
    let lead = nodes[0].get(&format!("/leads/{}", model.leads()[0])).await.json();
    let company = lead["companyUUID"].as_str().unwrap().to_owned();
    let stopped: Vec<_> = nodes.into_iter().map(|node| node.terminate().1).collect();
    let checked = stopped[0].plan.command(&["store", "check"]).output().expect("the binary runs");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    model.hold_against_feed(&stopped[0].feed_in_two_hours::<Events>(&company).data);
    println!("{kills} kills, {restarts} restarts of the database, {}", model.summary());
}

/// Has the node that was killed start again.
async fn come_back(nodes: &Nodes, killed: Arc<Daemon>, place: usize) {
    let killed = Arc::into_inner(killed).expect("its clients have ended");
    nodes.write().await[place] = Some(Arc::new(killed.kill().start().await));
}

/// Restarts the database, where the tests know how.
async fn restart_database() {
    let Ok(command) = std::env::var(RESTART) else {
        eprintln!("SKIPPED: {RESTART} names no command: the database was not restarted");
        return;
    };
    let restarted = tokio::task::spawn_blocking(move || {
        Command::new("sh").args(["-c", &command]).stdin(Stdio::null()).stdout(Stdio::null()).status()
    });
    assert!(restarted.await.unwrap().expect("a shell").success(), "the database is restarted");
}

/// Goes about its business on whichever node is there.
async fn client(nodes: &Nodes, model: &Model, mut rng: Rng, is_over: watch::Receiver<bool>) {
    while !*is_over.borrow() {
        let lead = uuid::Uuid::new_v4().to_string();
        let body = json!({
            "uuid": lead,
            "productTypes": ["loan", "savings"],
            "loanInformation": {"loanAmount": rng.i32(2_000..40_000)},
            "creditInformation": {"providedCreditRating": "good"},
        })
        .to_string();
        if rng.u8(0..4) == 0 {
            of_two_one_wins(nodes, model, &mut rng, &lead, &body).await;
            continue;
        }
        let blocks = rng.bool();
        let answer =
            anywhere(nodes, &mut rng, async |node| submit(node, &body, Some(&lead), blocks).await).await;
        let table = accepted(model, &lead, &answer);
        model.key(&lead, &body, &table);
        for _ in 0..rng.usize(0..4) {
            model.shown(&anywhere(nodes, &mut rng, async |node| poll(node, &table).await).await);
        }
        let Some(offer) = model.an_offer(&table) else { continue };
        let clicked = anywhere(nodes, &mut rng, async |node| {
            node.try_request(Method::GET, &format!("{}/click/{offer}", node.api), "", &[], "").await
        });
        assert_eq!(clicked.await.status, 302);
        model.clicked(&lead);
    }
}

/// Submits a lead to two nodes at once. Where one of them goes away nothing is known, and nothing is noted.
async fn of_two_one_wins(nodes: &Nodes, model: &Model, rng: &mut Rng, lead: &str, body: &str) {
    let (Some(one), Some(other)) = (some_node(nodes, rng).await, some_node(nodes, rng).await) else { return };
    let both = tokio::join!(submit(&one, body, None, false), submit(&other, body, None, false));
    let (Some(first), Some(second)) = both else { return };
    let (won, lost): (Vec<Answer>, Vec<Answer>) =
        [first, second].into_iter().partition(|answer| answer.status == 200);
    assert!(won.len() <= 1, "of submits of one lead, one wins");
    assert!(lost.iter().all(|answer| matches!(answer.status, 409 | 503)), "{lost:?}");
    won.iter().for_each(|answer| drop(accepted(model, lead, answer)));
}

async fn some_node(nodes: &Nodes, rng: &mut Rng) -> Option<Arc<Daemon>> {
    let nodes = nodes.read().await;
    nodes[rng.usize(0..nodes.len())].clone()
}

/// Asks one node after the other until one answers, and does not say that it cannot for now.
async fn anywhere(nodes: &Nodes, rng: &mut Rng, ask: impl AsyncFn(&Daemon) -> Option<Answer>) -> Answer {
    let asking = async {
        loop {
            if let Some(node) = some_node(nodes, rng).await
                && let Some(answer) = ask(&node).await
                && answer.status != 503
            {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("some node answers in time")
}

/// Everything that was acknowledged, asked of all nodes.
async fn hold_against(nodes: &[Daemon], model: &Model, rng: &mut Rng) {
    let mut seeds = rng.fork();
    let tables = model.tables();
    each(&tables, async |table| {
        for node in nodes {
            node.complete(table).await;
            model.shown(&poll(node, table).await.expect("the node runs"));
        }
    })
    .await;
    let keys: Vec<_> = model.keys().into_iter().collect();
    let place = seeds.usize(0..nodes.len());
    each(&keys, async |(key, (body, table))| {
        let again = heard(async || submit(&nodes[place], body, Some(key), false).await).await;
        assert_eq!((again.status, &again.json()["uuid"]), (200, &json!(table)), "a repeat of {key}");
    })
    .await;
    each(&model.leads(), async |lead| {
        let body = json!({ "uuid": lead }).to_string();
        let again = heard(async || submit(&nodes[place], &body, None, false).await).await;
        assert_eq!(again.status, 409, "of submits of one lead, one wins");
    })
    .await;
    for node in nodes {
        assert!(!node.log().contains("does not fit its table"), "{}", node.log());
    }
}

async fn submit(node: &Daemon, body: &str, key: Option<&str>, blocks: bool) -> Option<Answer> {
    let url = match blocks {
        true => format!("{}/blocking/leads/rateTables", node.integrations),
        false => format!("{}/leads/rateTables", node.api),
    };
    let headers: Vec<(&str, &str)> = key.map(|key| ("idempotency-key", key)).into_iter().collect();
    node.try_request(Method::POST, &url, &node.publishable, &headers, body.to_owned()).await
}
