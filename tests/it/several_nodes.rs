//! The example of several nodes behind a balancer, the unit of one of several on a machine, and the move of a store
//! from files to a database.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use offerd::config::Settings;
use serde_json::Value;

use crate::kit::database;
use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, sample};

fn shipped(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd").join(file)).unwrap()
}

/// The settings that lines of a file give as variables: `OFFERD__SECTION__KEY: value`, or with `=`.
fn variables(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let line = line.trim().trim_start_matches("# ").trim();
        let end = line.find([':', '='])?;
        let (name, value) = line.split_at(end);
        name.starts_with("OFFERD__").then(|| (name.to_owned(), value[1..].trim().to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

#[test]
fn the_settings_of_the_example_are_settings_that_there_are() {
    for file in ["compose/compose.yml", "offerd@.service"] {
        let found = variables(&shipped(file));
        assert!(found.len() >= 6, "{file}: {found:?}");
        // Of what each node has of its own the last is as good as any.
        let settings = Settings::from_layers(None, found.clone());
        assert!(settings.is_ok(), "{file}: {settings:?}");
    }
}

#[test]
fn the_balancer_of_the_example_knows_every_node_and_asks_whether_it_takes_leads() {
    let (composed, balanced) = (shipped("compose/compose.yml"), shipped("compose/haproxy.cfg"));
    let names = |text: &str, before: &str| -> BTreeSet<String> {
        let named = text.lines().filter_map(|line| line.trim().strip_prefix(before));
        named.map(|rest| rest.split([':', ' ']).next().unwrap().to_owned()).collect()
    };
    let nodes: BTreeSet<String> =
        names(&composed, "node").into_iter().filter(|rest| !rest.is_empty()).collect();
    let servers = names(&balanced, "server node");
    assert_eq!(nodes, servers);
    assert_eq!(nodes.len(), 3);
    for backend in balanced.split("\nbackend ").skip(1) {
        assert_eq!(names(backend, "server node"), nodes, "{backend}");
        assert!(backend.contains("option httpchk GET /"), "{backend}");
    }
    // No tab, which YAML does not take, and no key twice in a node.
    assert!(!composed.contains('\t'));
    for node in &nodes {
        assert!(composed.contains(&format!("NODE_NAME: node{node}")), "{node}");
        assert!(composed.contains(&format!("BASE_URL: http://node{node}:8081")), "{node}");
    }
}

/// A check without an answer fails after `inter`, and `fall` failures cut a node off; of one that answers, no session
/// is cut.
#[test]
fn the_balancer_of_the_example_cuts_off_a_node_that_hangs_and_not_one_that_is_stopping() {
    let balanced = shipped("compose/haproxy.cfg");
    let given = |key: &str| {
        let mut words = balanced.split_whitespace().skip_while(|word| *word != key);
        words.nth(1).unwrap_or_else(|| panic!("{key} is missing")).to_owned()
    };
    let every = humantime::parse_duration(&given("inter")).unwrap();
    let checks: u32 = given("fall").parse().unwrap();
    assert!(every * (checks + 1) <= Duration::from_secs(5));
    assert!(!balanced.contains("timeout check"), "it would be added to each check");
    assert_eq!(given("on-marked-down"), "shutdown-sessions");
    for backend in balanced.split("\nbackend ").skip(1) {
        let asks_ready = backend.contains("option httpchk GET /readyz");
        assert_eq!(
            asks_ready,
            backend.contains("http-check expect status 200 error-status L7OKC"),
            "{backend}"
        );
    }
}

#[test]
fn a_node_of_several_on_a_machine_is_as_hardened_as_one_alone() {
    let hardening = |file: &str| -> Vec<String> {
        let text = shipped(file);
        let lines = text.lines().skip_while(|line| !line.starts_with("UMask="));
        lines.take_while(|line| !line.starts_with('[')).map(str::to_owned).collect()
    };
    assert_eq!(hardening("offerd@.service"), hardening("offerd.service"));
    assert!(hardening("offerd.service").len() > 20);
}

/// Every rate table that was submitted, as polls show it.
async fn tables(daemon: &Daemon, uuids: &[String]) -> Vec<String> {
    let mut shown = Vec::new();
    for uuid in uuids {
        let answer = daemon.rate_table(uuid).await;
        assert_eq!(answer.status, 200, "{uuid}");
        shown.push(String::from_utf8(answer.body.to_vec()).unwrap());
    }
    shown
}

#[tokio::test]
async fn what_was_taken_in_over_files_is_shown_the_same_over_a_database_and_back() {
    let Some(url) = database::schema() else {
        eprintln!("SKIPPED: OFFERD_TEST_POSTGRES names no database");
        return;
    };
    let plan = Daemon::with_partners(prompt_partners(3)).in_files();
    let plan = plan.setting("api.base_url", "https://leads.example").setting("store.postgres.url", &url);
    let daemon = plan.start().await;
    let mut uuids = Vec::new();
    for _ in 0..4 {
        let table = daemon.submit_blocking(sample("personal_loan")).await.json();
        uuids.push(table["uuid"].as_str().expect("a table").to_owned());
    }
    let before = tables(&daemon, &uuids).await;
    let stopped = daemon.terminate().1;

    let copy = ["store", "copy", "--from", "embedded", "--to", "postgres", "--json"];
    let copied = stopped.plan.command(&copy).output().unwrap();
    let told: Value = serde_json::from_slice(&copied.stdout).unwrap_or_default();
    assert!(copied.status.success() && told["equal"] == true, "{told} {}", text(&copied.stderr));
    let daemon = stopped.setting("store.engine", "postgres").start().await;
    daemon.logged("this node is now the leader").await;
    assert_eq!(tables(&daemon, &uuids).await, before);
    let refused = daemon.command(&["store", "copy", "--from", "postgres", "--to", "embedded"]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("nodes are alive"), "{refused:?}");
    let nodes = daemon.command(&["nodes", "--json"]);
    let nodes: Value = serde_json::from_slice(&nodes.stdout).unwrap();
    assert_eq!(
        (nodes["shared"].clone(), nodes["nodes"][0]["leader"].clone()),
        (true.into(), true.into()),
        "{nodes}"
    );
    assert_eq!(nodes["warnings"], serde_json::json!([]), "{nodes}");
    let page = crate::console::html(&daemon, "/console/nodes").await;
    assert!(page.contains("this one") && page.contains("leads"), "{page}");

    // Back, into a directory that has nothing yet.
    let stopped = daemon.terminate().1;
    let key = stopped.plan.master_key();
    let stopped =
        stopped.setting("store.path", "back").setting("store.master_key_file", key.to_str().unwrap());
    let copied =
        stopped.plan.command(&["store", "copy", "--from", "postgres", "--to", "embedded"]).output().unwrap();
    assert!(copied.status.success(), "{}", text(&copied.stderr));
    assert!(text(&copied.stdout).contains("are the same on both sides"), "{}", text(&copied.stdout));
    let checked =
        stopped.setting("store.engine", "embedded").plan.command(&["store", "check"]).output().unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stderr));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
