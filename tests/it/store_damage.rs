//! A store whose bytes were changed behind the daemon's back: found, named, and never a panic.

use std::path::Path;
use std::process::Output;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, Stopped, sample};

/// Bytes that are flipped, one after the other, each in a store of its own.
const FLIPS: usize = 24;

async fn with_leads() -> Stopped {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    for _ in 0..20 {
        assert_eq!(daemon.submit(sample("everything")).await.status, 200);
    }
    daemon.terminate().1
}

fn check(stopped: &Stopped) -> Output {
    stopped.plan.command(&["store", "check", "--json"]).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_sound_store_is_told_tree_by_tree_running_or_not() {
    let stopped = with_leads().await;
    let output = check(&stopped);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stopped_report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&stopped_report["sound"], &stopped_report["broken"]), (&json!(true), &json!([])));
    let leads = stopped_report["trees"].as_array().unwrap().iter().find(|count| count["tree"] == "leads");
    assert_eq!(leads.unwrap()["records"], 20);

    let daemon = stopped.start().await;
    let output = daemon.command(&["store", "check"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).lines().any(|line| line.split_whitespace().eq(["leads", "20", "0"])));
    assert!(text(&output.stdout).trim_end().ends_with("everything is as it was written"));
}

#[tokio::test]
async fn a_flipped_or_missing_byte_is_told_and_nothing_panics() {
    let stopped = with_leads().await;
    let file = stopped.plan.store().join("db");
    let whole = std::fs::read(&file).unwrap();
    // Where records are: sled keeps its file longer than what it holds.
    let written = whole.iter().rposition(|byte| *byte != 0).unwrap();
    let mut rng = Rng::with_seed(7);
    let mut found = 0;
    for _ in 0..FLIPS {
        let mut damaged = whole.clone();
        damaged[rng.usize(..written)] ^= 1 << rng.u8(..8);
        found += usize::from(is_found(&stopped, &file, &damaged));
    }
    assert!(found > FLIPS / 2, "{found} of {FLIPS} flipped bytes were found");
    is_found(&stopped, &file, &whole[..written / 2]);
    is_found(&stopped, &file, &whole[..written - 7]);
    is_found(&stopped, &file, &[]);
}

/// Whether a check finds something; in any case it and a start end as they should.
fn is_found(stopped: &Stopped, file: &Path, damaged: &[u8]) -> bool {
    std::fs::write(file, damaged).unwrap();
    let output = check(stopped);
    let told = text(&output.stderr);
    assert!(!told.contains("panic") && output.status.code().is_some(), "{told}");
    if output.status.success() {
        return false;
    }
    assert!(
        told.contains("not sound") || told.contains("cannot be opened") || told.contains("cannot be read"),
        "{told}"
    );
    true
}
