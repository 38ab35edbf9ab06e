//! Several nodes on one database: any of them answers about any table, and what one leaves behind others finish.
//!
//! They run where `OFFERD_TEST_POSTGRES` names a database, and say loudly that they are skipped where it does not.

mod campaign;
mod front;
mod simulation;
mod upgrade;

use std::time::Duration;

use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Daemon, PartnerFile, Plan, sample};

/// Some nodes on a database of their own.
async fn nodes(count: usize, plan: Plan) -> Option<Vec<Daemon>> {
    if plan.database().is_none() {
        eprintln!("SKIPPED: OFFERD_TEST_POSTGRES names no database");
        return None;
    }
    let mut nodes = vec![plan.start().await];
    while nodes.len() < count {
        let plan = Plan::beside(&nodes[0]).expect("a database");
        nodes.push(plan.start_beside(&nodes[0]).await);
    }
    Some(nodes)
}

fn plan(partners: Vec<PartnerFile>) -> Plan {
    Daemon::with_partners(partners).setting("api.base_url", "http://offers.example")
}

fn uuid(table: &Value) -> &str {
    table["uuid"].as_str().expect("a table has a uuid")
}

#[tokio::test]
async fn a_table_is_the_same_on_every_node_while_it_is_pending_and_when_it_is_complete() {
    let slow = r#"simulate = { delay = "1500ms" }"#;
    let plan = plan(vec![partner("prompt").loan(""), partner("slow").loan(slow)]);
    let Some(nodes) = nodes(3, plan).await else { return };
    let begun = nodes[0].submit(sample("personal_loan")).await.json();
    assert_eq!(begun["pendingResponses"].as_array().unwrap().len(), 1);
    for node in &nodes[1..] {
        let seen = node.rate_table(uuid(&begun)).await;
        assert_eq!((seen.status, seen.json()["leadUuid"].clone()), (200, begun["leadUuid"].clone()));
        let complete = node.complete(uuid(&begun)).await;
        assert_eq!(complete["loanOffers"].as_array().unwrap().len(), 2);
        assert_eq!(node.rate_table(uuid(&begun)).await.body, nodes[0].rate_table(uuid(&begun)).await.body);
    }
}

#[tokio::test]
async fn what_a_dead_node_has_left_pending_is_finished_by_another_with_the_offers_already_shown() {
    let slow = r#"simulate = { delay = "4s" }"#;
    let plan = plan(vec![partner("prompt").loan(""), partner("slow").loan(slow)]);
    let Some(mut nodes) = nodes(2, plan).await else { return };
    let begun = nodes[0].submit(sample("personal_loan")).await.json();
    assert_eq!(begun["loanOffers"].as_array().unwrap().len(), 1);
    let dead = nodes.remove(0).kill();
    let complete = nodes[0].complete(uuid(&begun)).await;
    assert_eq!(complete["loanOffers"].as_array().unwrap().len(), 2, "the slow one was asked again");
    assert_eq!(complete["loanOffers"][0]["uuid"], begun["loanOffers"][0]["uuid"]);
    let back = dead.start().await;
    assert_eq!(back.rate_table(uuid(&begun)).await.json(), complete);
}

#[tokio::test]
async fn a_node_that_stops_leaves_nothing_to_wait_for() {
    let slow = r#"simulate = { delay = "1500ms" }"#;
    let Some(mut nodes) = nodes(2, plan(vec![partner("slow").loan(slow)])).await else { return };
    let begun = nodes[0].submit(sample("personal_loan")).await.json();
    let (status, stopped) = nodes.remove(0).terminate();
    assert_eq!(status.code(), Some(0));
    let complete = nodes[0].complete(uuid(&begun)).await;
    assert_eq!(complete["loanOffers"].as_array().unwrap().len(), 1);
    drop(stopped);
}

#[tokio::test]
async fn of_equal_submits_to_two_nodes_one_wins_and_a_repeat_finds_its_table_anywhere() {
    let Some(nodes) = nodes(2, plan(vec![partner("prompt").savings("")])).await else { return };
    for _ in 0..10 {
        let lead = json!({"uuid": uuid::Uuid::new_v4().to_string(), "productTypes": ["savings"]}).to_string();
        let (one, other) = tokio::join!(nodes[0].submit(&lead), nodes[1].submit(&lead));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
    }
}

#[tokio::test]
async fn what_only_one_node_has_is_told_and_backups_are_the_databases() {
    let Some(nodes) = nodes(1, plan(vec![partner("prompt").savings("")])).await else { return };
    let other = Plan::beside(&nodes[0]).expect("a database").setting("matching.deadline", "9s");
    let other = other.start_beside(&nodes[0]).await;
    let told = async {
        loop {
            let nodes: Value = serde_json::from_slice(&other.command(&["nodes", "--json"]).stdout).unwrap();
            let warnings =
                nodes["warnings"].as_array().expect("they are listed").iter().filter_map(Value::as_str);
            if let Some(told) = warnings.into_iter().find(|told| told.contains("settings in `[matching]`")) {
                return told.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(crate::kit::PATIENCE, told).await.expect("it is told");
    let backup = other.command(&["backup", "no.backup"]);
    let said = String::from_utf8_lossy(&backup.stderr);
    assert!(!backup.status.success() && said.contains("pg_dump"), "{said}");
}

#[tokio::test]
async fn a_lost_node_and_a_new_leader_raise_alerts_that_name_them() {
    let named = |plan: Plan, name: &str| {
        plan.setting("store.postgres.node_name", name).setting("alerts.every", "100ms")
    };
    let north = named(plan(vec![partner("prompt").savings("")]), "north");
    let Some(mut north) = nodes(1, north).await else { return };
    let south = Plan::beside(&north[0]).expect("a database");
    let south = named(south, "south").start_beside(&north[0]).await;
    let until = async |is_wanted: &dyn Fn(&Value) -> bool| {
        let told = async {
            loop {
                let output = south.command(&["alerts", "list", "--json"]);
                let status: Value = serde_json::from_slice(&output.stdout).unwrap();
                if is_wanted(&status) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(crate::kit::PATIENCE, told).await.expect("it is told");
    };
    until(&|status| status["node"] == "north").await;
    let dead = north.remove(0).kill();
    let fires = |status: &Value, name: &str, node: &str| {
        let alerts = status["alerts"].as_array().unwrap();
        alerts.iter().any(|one| {
            one["name"] == name && one["state"] == "firing" && one["labels"] == json!({ "node": node })
        })
    };
    until(&|status| {
        let is_led = status["node"] == "south" && fires(status, "OfferdNewLeader", "south");
        is_led && fires(status, "OfferdNodeLost", "north")
    })
    .await;
    let back = dead.start().await;
    until(&|status| !fires(status, "OfferdNodeLost", "north")).await;
    drop(back);
}

#[tokio::test]
async fn a_token_that_is_made_on_one_node_is_taken_by_all_and_one_that_is_revoked_by_none() {
    let Some(nodes) = nodes(2, plan(vec![partner("prompt").savings("")])).await else { return };
    let made = nodes[0].command(&["token", "create", "--company", "Acme", "--kind", "confidential"]);
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let url = format!("{}/leads/{}", nodes[1].api, uuid::Uuid::new_v4());
    let asked = async || nodes[1].request(hyper::Method::GET, &url, &token, "").await.status;
    let accepted = asked().await;
    let listing = nodes[1].command(&["token", "list", "--json"]);
    let tokens: Vec<Value> = serde_json::from_slice(&listing.stdout).unwrap();
    let id = tokens.iter().find(|token| token["company"] == "Acme").expect("it is listed")["id"].clone();
    let revoked = nodes[0].command(&["token", "revoke", id.as_str().unwrap()]);
    assert!(revoked.status.success(), "{}", String::from_utf8_lossy(&revoked.stderr));
    let refused = async {
        while asked().await != 401 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::kit::PATIENCE, refused).await.expect("a revoked token is taken nowhere");
    assert_eq!(accepted, 404, "a token that was made is known at once");
}
