//! Reloading: all of the files or nothing of them, while tables are being built.

use std::os::unix::net::UnixDatagram;
use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Daemon, sample, signal};

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn reload(daemon: &Daemon) -> String {
    let output = daemon.command(&["reload"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

async fn savings_offers(daemon: &Daemon) -> usize {
    daemon.submit("{}").await.json()["savingsOffers"].as_array().unwrap().len()
}

#[tokio::test]
async fn new_leads_meet_the_changed_files_and_the_report_says_what_changed() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    assert_eq!(savings_offers(&daemon).await, 2);
    assert!(reload(&daemon).starts_with("reloaded; nothing has changed\n2 partners, 2 offers, book "));

    std::fs::remove_file(daemon.partners().join("prompt_0.toml")).unwrap();
    let slower = partner("prompt_1").savings("").replaced("\"10s\"", "\"9s\"");
    slower.write(daemon.partners());
    partner("added").savings("").loan("").write(daemon.partners());
    let told = reload(&daemon);
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    assert_eq!(
        lines[..5],
        [
            "reloaded",
            "+ added: loan (1 offers), savings (1 offers)",
            "- prompt_0: savings (1 offers)",
            "~ prompt_1",
            "savings: timeout \"10s\" → \"9s\"",
        ]
    );
    let table = daemon.submit("{}").await.json();
    let names: Vec<&Value> =
        table["savingsOffers"].as_array().unwrap().iter().map(|offer| &offer["name"]).collect();
    assert_eq!(names.len(), 2, "{table}");
    assert!(names.contains(&&json!("Account of added")) && names.contains(&&json!("Account of prompt_1")));
}

#[tokio::test]
async fn a_table_in_flight_is_finished_under_the_book_it_was_begun_with() {
    let fails_late = r#"simulate = { delay = "2s", failure_rate = 1.0, failure = "error" }"#;
    let partners = vec![partner("late").loan(fails_late), partner("again").second_look(5.0, "")];
    let daemon = Daemon::with_partners(partners).start().await;
    let submit = async || {
        let table = daemon.submit(sample("personal_loan").replace("\"loan\"", "\"loan\",\"other\"")).await;
        table.json()["uuid"].as_str().unwrap().to_owned()
    };
    let specials = async |uuid: &str| daemon.complete(uuid).await["specialOffers"].as_array().unwrap().len();

    let in_flight = submit().await;
    std::fs::remove_file(daemon.partners().join("again.toml")).unwrap();
    assert!(reload(&daemon).contains("- again: other (1 offers)"));
    let later = submit().await;
    assert_eq!((specials(&in_flight).await, specials(&later).await), (1, 0));
}

#[tokio::test]
async fn one_fault_anywhere_keeps_everything_as_it_was() {
    let plan = Daemon::with_partners(prompt_partners(1)).setting("matching.deadline", "15s");
    plan.write_settings("[matching]\nsubmit_wait = '10s'\n");
    let daemon = plan.start().await;
    let before = reload(&daemon);

    partner("added").savings("").write(daemon.partners());
    std::fs::write(daemon.partners().join("broken.toml"), "[partner]\nname = 7\n").unwrap();
    daemon.write_settings("[matching]\nsubmit_wait = '10s'\npartners_per_lead = 0\noffers_per_partner = 1\n");
    let refused = daemon.command(&["reload"]);
    assert_eq!(refused.status.code(), Some(64));
    let told = stderr(&refused);
    for fault in [
        "offerd.toml:3: `matching.partners_per_lead` must be from 1 to 10000, got 0",
        "broken.toml:2: `partner.name`",
        "nothing was started or changed",
    ] {
        assert!(told.contains(fault), "{fault} is not in: {told}");
    }
    let refused = daemon.command(&["reload", "--json"]);
    assert_eq!(refused.status.code(), Some(64));
    let told: Value = serde_json::from_str(&stdout(&refused)).unwrap();
    let fault = &told["faults"][0];
    assert_eq!((&told["outcome"], &fault["line"]), (&json!("refused"), &json!(3)), "{told}");
    assert_eq!(fault["key"], "matching.partners_per_lead");

    assert_eq!(savings_offers(&daemon).await, 1);
    daemon.logged("settings and partners not reloaded; everything stays as it was").await;
    let metrics = daemon.metrics().await;
    for line in ["offerd_reloads_total{result=\"ok\"} 1", "offerd_reloads_total{result=\"refused\"} 2"] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }

    std::fs::remove_file(daemon.partners().join("broken.toml")).unwrap();
    std::fs::remove_file(daemon.partners().join("added.toml")).unwrap();
    daemon.write_settings("[matching]\nsubmit_wait = '10s'\n");
    assert_eq!(reload(&daemon), before, "the same files are the same book");
}
