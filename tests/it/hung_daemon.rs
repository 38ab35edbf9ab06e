//! A daemon that accepts connections and never answers: every command stops waiting.

use std::process::Output;
use std::time::Duration;

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, sample, signal};

/// Longer than any command waits for a daemon that does not answer, on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

#[tokio::test]
async fn every_command_says_that_the_daemon_does_not_answer() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let lead = daemon.file("lead.json");
    std::fs::write(&lead, sample("personal_loan")).unwrap();
    let lead = lead.to_str().unwrap();
    let commands: [&[&str]; 6] = [
        &["token", "list"],
        &["backup", "made"],
        &["replay"],
        &["reload"],
        &["doctor"],
        &["lead", "submit", lead, "--token", &daemon.publishable],
    ];
    signal(daemon.pid(), "STOP");
    let waiting = commands.map(|command| {
        let child = daemon.spawn(command);
        tokio::task::spawn_blocking(move || child.wait_with_output().unwrap())
    });
    for (command, waiting) in commands.into_iter().zip(waiting) {
        let ended = tokio::time::timeout(BOUND, waiting).await;
        let Output { status, stdout, stderr } = ended.expect("no command waits without end").unwrap();
        let told = String::from_utf8([stdout, stderr].concat()).unwrap();
        assert_eq!(status.code(), Some(1), "{command:?}: {told}");
        assert!(told.contains("does not answer") && told.contains("log"), "{command:?}: {told}");
    }
    assert!(!daemon.file("made").exists() && !daemon.file("made.part").exists());
    signal(daemon.pid(), "CONT");
    assert_eq!(daemon.submit("{}").await.status, 200);
}

#[tokio::test]
async fn a_check_that_needs_the_daemon_says_that_it_does_not_answer() {
    let plan = Daemon::with_partners(prompt_partners(1));
    plan.write_settings("[offer_pages.companies.Acme]\ncolour = '#1d4ed8'\n");
    let daemon = plan.start().await;
    signal(daemon.pid(), "STOP");
    let child = daemon.spawn(&["check"]);
    let waiting = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let ended = tokio::time::timeout(BOUND, waiting).await.expect("no command waits without end");
    let Output { status, stderr, .. } = ended.unwrap();
    let told = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(0), "the files are good: {told}");
    assert!(
        told.contains("that the named companies have tokens") && told.contains("does not answer"),
        "{told}"
    );
    signal(daemon.pid(), "CONT");
}
