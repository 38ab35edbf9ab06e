//! One node after the other is stopped and started again, under load, as the handbook's upgrade without a pause says.

use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;

use super::front::{CLIENTS, Front, alone};
use crate::crash::campaign::{plan, seed};
use crate::kit::{Daemon, signal};

/// Time under load before a node is taken away, and while it is.
const LOAD: Duration = Duration::from_millis(700);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_are_replaced_one_after_the_other_and_no_client_waits_for_it() {
    let mut rng = Rng::with_seed(seed());
    let Some(front) = Front::of(3, plan()).await else { return };
    for place in 0..3 {
        let replaced = front.under_load(&mut rng, async {
            tokio::time::sleep(LOAD).await;
            // As a balancer does when its `/readyz` turns.
            let replaced = front.take(place).await;
            signal(replaced.pid(), "TERM");
            tokio::time::sleep(LOAD).await;
            replaced
        });
        let (status, stopped) = alone(replaced.await).terminate();
        assert_eq!(status.code(), Some(0), "{}", stopped.plan.log());
        let node = stopped.start().await;
        assert_eq!(alive(&node), 3, "all nodes are there");
        front.put(place, node).await;
    }
    let unanswered = front.unanswered();
    assert!(unanswered <= 3 * CLIENTS, "{unanswered} requests of {CLIENTS} clients got no answer");
    println!("3 nodes replaced, {unanswered} requests without an answer, {}", front.hold(&mut rng).await);
}

/// How many nodes are alive, as a command says.
fn alive(node: &Daemon) -> usize {
    let told = node.command(&["nodes", "--json"]);
    let told: Value = serde_json::from_slice(&told.stdout).expect("nodes are told as JSON");
    let ids: BTreeSet<&str> = told["nodes"]
        .as_array()
        .expect("nodes are listed")
        .iter()
        .filter(|node| node["ended"].is_null())
        .map(|node| node["id"].as_str().expect("each has an id"))
        .collect();
    ids.len()
}
