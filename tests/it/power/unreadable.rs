//! Reads that fail: what the disk cannot read is told as that and costs nothing else, and nothing lasts once it can be read again.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use hyper::Method;

use super::shim::Shim;
use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, Plan, Stopped, sample};

const LEADS: usize = 20;

/// Reads that fail in turn, of those that an opening does.
const READS: [&str; 4] = ["1 1", "3 3", "20 20", "1 999999"];

/// What can be read is said in a file, so that it can be changed while a program runs.
fn rules(plan: &Plan) -> PathBuf {
    plan.directory().join("unreadable")
}

/// A plan of which each program has the shim.
fn shimmed(plan: Plan) -> Option<Plan> {
    let shim = Shim::compiled("reads that fail")?;
    let rules = rules(&plan);
    Some(shim.by_rules(plan, "OFFERD_DISK_UNREADABLE", &rules))
}

/// A stopped store whose indexes were made by a command, and so are read from their beginning on.
async fn with_leads() -> Option<Stopped> {
    let daemon = shimmed(Daemon::with_partners(prompt_partners(2)))?.start().await;
    for _ in 0..LEADS {
        assert_eq!(daemon.submit(sample("everything")).await.status, 200);
    }
    let stopped = daemon.kill();
    assert!(run(&stopped, &["store", "check"]).status.success());
    Some(stopped)
}

fn run(stopped: &Stopped, arguments: &[&str]) -> Output {
    stopped.plan.command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether a check finds all leads and nothing wrong.
fn is_whole(stopped: &Stopped) -> bool {
    let output = run(stopped, &["store", "check"]);
    let leads = format!("leads {LEADS} 0");
    output.status.success()
        && text(&output.stdout).lines().any(|line| line.split_whitespace().eq(leads.split(' ')))
}

/// Of an index a part is missing then, and it must not be taken for all there is, now or later.
#[tokio::test]
async fn an_index_that_could_not_be_read_whole_is_trusted_neither_now_nor_later() {
    let Some(stopped) = with_leads().await else { return };
    for index in ["base/index", "volumes/1/index"] {
        for reads in READS {
            fs::write(rules(&stopped.plan), format!("{index} {reads}\n")).unwrap();
            let export = run(&stopped, &["export", "-"]);
            let exported =
                text(&export.stdout).lines().filter(|line| line.contains(r#""tree":"rate_tables""#)).count();
            fs::write(rules(&stopped.plan), "").unwrap();
            let told = format!("{index} {reads}: {}", text(&export.stderr));
            assert!(!export.status.success() || exported == LEADS, "{exported} rate tables, {told}");
            assert!(!told.contains("panic") && !told.contains("Os {"), "{told}");
            assert!(is_whole(&stopped), "afterwards, {told}");
        }
    }
}

/// The rest goes on, and is salvaged; what could be read again is there again.
#[tokio::test]
async fn a_record_file_that_cannot_be_read_costs_what_is_in_it_and_only_as_long_as_that_lasts() {
    let Some(stopped) = with_leads().await else { return };
    // So that the index is made while the file cannot be read.
    fs::remove_file(stopped.plan.store().join("volumes/1/index.sum")).unwrap();
    fs::write(rules(&stopped.plan), "volumes/1/0 1 999999\n").unwrap();
    let [export, salvaged] = ["of.ndjson", "salvaged"].map(|name| stopped.plan.directory().join(name));
    for (arguments, told) in [
        (&["store", "check"][..], "`volumes/1/00000001.records`: the disk cannot read"),
        (&["export", export.to_str().unwrap()], "is incomplete"),
        (&["store", "salvage", "--into", salvaged.to_str().unwrap()], "os error 5"),
    ] {
        let output = run(&stopped, arguments);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(told), "{arguments:?}: {said}");
    }
    assert!(fs::read_to_string(&export).unwrap().contains(r#""tree":"companies""#));
    assert!(salvaged.join("base").exists());
    fs::write(rules(&stopped.plan), "").unwrap();
    assert!(is_whole(&stopped));
}

#[tokio::test]
async fn a_token_that_cannot_be_read_is_not_refused_and_is_good_again_when_it_can() {
    let Some(plan) = shimmed(Daemon::with_partners(prompt_partners(2))) else { return };
    let daemon = plan.start().await;
    let accepted = daemon.submit(sample("everything")).await.json();
    let lead = format!("/leads/{}", accepted["leadUuid"].as_str().unwrap());
    let ready = async || {
        let answer = daemon.request(Method::GET, &format!("{}/readyz", daemon.admin), "", "").await;
        text(&answer.body)
    };
    assert_eq!((daemon.get(&lead).await.status, ready().await), (200, "ready\n".to_owned()));

    fs::write(daemon.file("unreadable"), "base/0 1 999999999\n").unwrap();
    let answer = daemon.get(&lead).await;
    assert_eq!(answer.status, 503, "{}", text(&answer.body));
    daemon.logged("record file 1 of volume 0 cannot be read: Input/output error (os error 5)").await;
    assert!(
        ready().await.starts_with("ready, degraded: damaged places of the store: 1"),
        "{}",
        ready().await
    );

    fs::write(daemon.file("unreadable"), "").unwrap();
    daemon.logged("the disk can read a file of the store again").await;
    assert_eq!((daemon.get(&lead).await.status, ready().await), (200, "ready\n".to_owned()));
}

/// Neither waited for nor gone on without: somebody has put it there.
#[tokio::test]
async fn what_is_no_file_in_the_place_of_one_is_refused_in_a_sentence() {
    let stopped = Daemon::with_partners(prompt_partners(2)).start().await.terminate().1;
    let salvaged = stopped.plan.directory().join("salvaged");
    for name in ["manifest", "keys", "lock", "base/00000001.records", "volumes/1/00000001.records"] {
        let file = stopped.plan.store().join(name);
        let aside = stopped.plan.directory().join("aside");
        fs::rename(&file, &aside).unwrap();
        for (what, make) in [("a directory", "mkdir"), ("a pipe", "mkfifo")] {
            assert!(std::process::Command::new(make).arg(&file).status().unwrap().success());
            for arguments in
                [&["store", "check"][..], &["store", "salvage", "--into", salvaged.to_str().unwrap()]]
            {
                if name == "keys" && arguments[1] == "salvage" {
                    // It takes the copy.
                    continue;
                }
                let output = run(&stopped, arguments);
                let told = text(&output.stdout) + &text(&output.stderr);
                assert_eq!(output.status.code(), Some(1), "{name} {arguments:?}: {told}");
                let sentence = format!("{name}` is {what}, want a file");
                assert!(told.contains(&sentence), "{name} {arguments:?}: {told}");
            }
            if what == "a pipe" { fs::remove_file(&file).unwrap() } else { fs::remove_dir(&file).unwrap() }
        }
        fs::rename(&aside, &file).unwrap();
    }
}
