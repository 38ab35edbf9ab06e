//! Reports: by command, at the admin listener, of a running and of a stopped daemon.

mod recount;

use std::process::Output;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::partners::partner;

/// Longest wait for the figures to be counted.
const PATIENCE: Duration = Duration::from_secs(60);

fn lead(campaign: &str, state: &str) -> String {
    let lead = json!({
        "productTypes": ["loan"],
        "loanInformation": {"loanAmount": 10000},
        "creditInformation": {"providedCreditRating": "good"},
        "personalInformation": {"state": state},
        "clientTags": {"campaign": [campaign]},
    });
    lead.to_string()
}

/// Runs commands: beside a running daemon, or over a stopped one's store.
pub type Run<'a> = &'a dyn Fn(&[&str]) -> Output;

fn told(run: Run<'_>, words: &[&str]) -> String {
    let told = run(&[&["report"], words].concat());
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    String::from_utf8(told.stdout).unwrap()
}

pub fn report(run: Run<'_>, words: &[&str]) -> Value {
    serde_json::from_str(&told(run, &[words, &["--test", "--format", "json"]].concat())).unwrap()
}

/// Two leads of one campaign and one of another; one of the first is clicked.
async fn counted() -> Daemon {
    let partners = vec![partner("bank").loan(""), partner("lender").loan("")];
    let daemon = Daemon::with_partners(partners).start().await;
    let mut table = Value::Null;
    for (campaign, state) in [("autumn", "TX"), ("spring", "CA"), ("spring", "TX")] {
        table = daemon.submit_blocking(&lead(campaign, state)).await.json();
    }
    let url = format!("{}/click/{}", daemon.api, table["loanOffers"][0]["uuid"].as_str().unwrap());
    assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 302);
    until_counted(&daemon, &json!({"leads": 3, "shown": 6, "clicks": 1})).await;
    daemon
}

#[tokio::test]
async fn what_was_counted_of_a_lead_stays_when_it_is_erased_and_the_daemon_killed() {
    let partners = vec![partner("bank").loan(""), partner("lender").loan("")];
    let daemon = Daemon::with_partners(partners).start().await;
    let mut leads = Vec::new();
    for state in ["TX", "CA"] {
        let table = daemon.submit_blocking(&lead("spring", state)).await.json();
        leads.push(table["leadUuid"].as_str().unwrap().to_owned());
    }
    let figures = json!({"leads": 2, "asks": 4, "shown": 4});
    until_counted(&daemon, &figures).await;
    let of = |daemon: &Daemon| {
        ["partner", "state"].map(|by| report(&|words| daemon.command(words), &["--by", by])["rows"].clone())
    };
    let before = of(&daemon);
    for lead in &leads {
        assert!(daemon.command(&["lead", "erase", lead]).status.success());
    }
    let daemon = daemon.kill().start().await;
    until_counted(&daemon, &figures).await;
    assert_eq!(of(&daemon), before);
}

/// Waits until the whole has these figures.
pub async fn until_counted(daemon: &Daemon, figures: &Value) {
    let looking = async {
        loop {
            let report = report(&|words| daemon.command(words), &[]);
            let has = |(name, figure): (&String, &Value)| report["total"][name] == *figure;
            if figures.as_object().unwrap().iter().all(has) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, looking).await;
    waited.unwrap_or_else(|_| panic!("{figures}: {}", report(&|words| daemon.command(words), &[])));
}

#[tokio::test]
async fn a_report_is_a_table_a_file_for_spreadsheets_or_json_and_a_stopped_daemon_tells_the_same() {
    let daemon = counted().await;
    let by = ["--by", "campaign,partner", "--sort=-leads", "--compare"];
    let json = report(&|words| daemon.command(words), &by);
    let rows: Vec<_> =
        json["rows"].as_array().unwrap().iter().map(|row| (&row["by"], &row["leads"])).collect();
    assert_eq!(rows.len(), 4, "{json}");
    assert_eq!((rows[0].0, rows[0].1), (&json!(["spring", "bank"]), &json!(2)), "{json}");
    assert_eq!(json["total"]["leads"], 3, "a lead counts once in the whole");
    assert_eq!(json["rows"][0]["applied"], Value::Null, "no partner has reported anything");
    assert_eq!(json["rows"][0]["before"]["leads"], 0);

    let csv = told(&|words| daemon.command(words), &["--test", "--by", "state", "--format", "csv"]);
    assert!(
        csv.starts_with(
            "state,leads,withoutOffers,asks,offers,shown,clicks,applied,funded,takenBack,payouts,"
        ),
        "{csv}"
    );
    assert!(csv.lines().nth(1).unwrap().starts_with("TX,2,0,4,4,4,1,,,,"), "{csv}");
    let table = told(&|words| daemon.command(words), &["--test", "--by", "campaign"]);
    assert!(table.contains("spring") && table.contains("total"), "{table}");

    let (_, stopped) = daemon.terminate();
    let stopped: Run<'_> = &|words| stopped.plan.command(words).output().unwrap();
    assert_eq!(report(stopped, &by), json, "what was counted is written when the daemon ends");
    told(stopped, &["rebuild"]);
    assert_eq!(report(stopped, &by), json);
}

#[tokio::test]
async fn what_clients_have_sent_moves_no_cursor_and_no_file_is_written_over() {
    let daemon = counted().await;
    let table = daemon.submit_blocking(&lead("\u{1b}[2Jwinter\u{9b}1m", "TX")).await;
    assert_eq!(table.status, 200);
    until_counted(&daemon, &json!({"leads": 4})).await;
    let run = |words: &[&str]| daemon.command(&[&["report", "--test"], words].concat());
    let by = ["--by", "campaign"];
    let refused = run(&["--where", "campaign=none"]);
    let csv = run(&[&by[..], &["--format", "csv"]].concat());
    let all = [&refused, &run(&by), &csv, &run(&[&by[..], &["--format", "json"]].concat())];
    for Output { stdout, stderr, .. } in all {
        let told = String::from_utf8([stdout.clone(), stderr.clone()].concat()).unwrap();
        assert!(told.contains("[2Jwinter"), "{told}");
        assert!(!told.contains(|letter: char| letter.is_control() && letter != '\n'), "{told:?}");
    }
    assert!(String::from_utf8_lossy(&csv.stdout).contains("\n\u{fffd}[2Jwinter\u{fffd}1m,1,"), "{csv:?}");

    let file = daemon.file("report.csv");
    let output = ["--by", "state", "--format", "csv", "--output", file.to_str().unwrap()];
    assert!(run(&output).status.success());
    let again = run(&output);
    let told = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.code() == Some(1) && told.contains("exists already"), "{told}");
}

#[tokio::test]
async fn every_fault_of_a_report_is_told_at_once() {
    let daemon = counted().await;
    let words = ["--from", "tomorrow", "--by", "colour", "--zone", "Mars/Olympus", "--where", "state"];
    let told = daemon.command(&[&["report"][..], &words].concat());
    let told = String::from_utf8(told.stderr).unwrap();
    for fault in ["must be a day such as 2026-03-31", "`colour`", "must be one of UTC", "such as state=CA"] {
        assert!(told.contains(fault), "{fault}: {told}");
    }
}

#[tokio::test]
async fn other_tools_ask_at_the_admin_listener_with_the_key_of_the_commands() {
    let daemon = counted().await;
    let url = format!("{}/report?leads=test&by=state&format=csv", daemon.admin);
    assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 401);
    let answer = daemon.request(Method::GET, &url, &daemon.admin_key, "").await;
    assert_eq!((answer.status, String::from_utf8_lossy(&answer.body).lines().count()), (200, 3));
    let url = format!("{}/report?by=state&by=day&by=rating", daemon.admin);
    assert_eq!(daemon.request(Method::GET, &url, &daemon.admin_key, "").await.status, 422);
}

#[tokio::test]
async fn a_killed_daemon_counts_again_what_was_not_written_and_nothing_twice() {
    let daemon = counted().await.kill().start().await;
    daemon.submit_blocking(&lead("spring", "TX")).await;
    until_counted(&daemon, &json!({"leads": 4, "shown": 8, "clicks": 1})).await;
}
