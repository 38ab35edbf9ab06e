//! Commands over a running and over a stopped daemon: the same handlers, the same answers.

use std::process::Output;

use serde_json::Value;

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, sample};

const NOBODY: &str = "01a1fcce-e71a-773e-b126-2445db4ef9dc";

/// What a command says, but for who says it and for what is logged on the way.
fn told(output: &Output) -> (Option<i32>, String, Vec<String>) {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).replace("the daemon refused: ", "");
    let said = stderr.lines().filter(|line| !line.contains(" INFO ")).map(str::to_owned).collect();
    (output.status.code(), stdout, said)
}

#[tokio::test]
async fn commands_say_the_same_of_a_running_daemon_and_of_a_stopped_one() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let (table, lead) = (table["uuid"].as_str().unwrap(), table["leadUuid"].as_str().unwrap());
    assert!(daemon.command(&["partners", "pause", "prompt_1"]).status.success());
    std::fs::write(daemon.file("list.txt"), "ada@example.com\n").unwrap();
    let listed = ["suppressions", "add", "left_alone", "list.txt", "--kind", "email", "--plain"];
    assert!(daemon.command(&listed).status.success());
    let commands: [&[&str]; 19] = [
        &["token", "list"],
        &["token", "list", "--json"],
        &["token", "revoke", NOBODY],
        &["partners", "list"],
        &["partners", "list", "--json"],
        &["partners", "timing", "--since", "1h", "--json"],
        &["partners", "timing", "nobody"],
        &["partners", "pause", "nobody"],
        &["partners", "pause", "prompt_0", "--product", "mortgage"],
        &["partners", "resume", "prompt_0"],
        &["explain", table, "--json"],
        &["explain", NOBODY],
        &["lead", "erase", NOBODY],
        &["lead", "export", NOBODY],
        &["suppressions", "list"],
        &["suppressions", "list", "--json"],
        &["suppressions", "remove", "nobody"],
        &["replay", "--since", "1h", "--json"],
        &["key", "rotate", "--new-key-file", "no_key.toml"],
    ];
    std::fs::write(daemon.file("no_key.toml"), "no key").unwrap();
    let running = commands.map(|command| told(&daemon.command(command)));
    let dossier: Value = serde_json::from_slice(&daemon.command(&["lead", "export", lead]).stdout).unwrap();
    let (_, stopped) = daemon.terminate();
    for (command, running) in commands.into_iter().zip(running) {
        let output = stopped.plan.command(command).output().unwrap();
        assert_eq!(told(&output), running, "{command:?}");
    }
    let export = stopped.plan.command(&["lead", "export", lead]).output().unwrap();
    let held: Value = serde_json::from_slice(&export.stdout).unwrap();
    assert_eq!(held["lead"], dossier["lead"]);
    assert_eq!(held.as_object().unwrap().len(), dossier.as_object().unwrap().len());
    assert!(stopped.plan.store().join("base/index.sum").is_file(), "the last command has let the store go");
}
