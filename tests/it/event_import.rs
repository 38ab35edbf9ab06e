//! `offerd events import`: reports of partners, from files.

use std::fs;
use std::process::Output;

use hyper::Method;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Daemon, Stopped};

/// A daemon, and the offers of two leads.
async fn world() -> (Daemon, Vec<String>, Vec<String>) {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let (mut leads, mut offers) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let table = daemon.submit("{}").await.json();
        leads.push(table["leadUuid"].as_str().unwrap().to_owned());
        offers.push(table["savingsOffers"][0]["uuid"].as_str().unwrap().to_owned());
    }
    (daemon, leads, offers)
}

fn file(daemon: &Daemon, name: &str, text: &str) -> String {
    let path = daemon.store().with_file_name(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn told(output: &Output) -> (String, Vec<String>) {
    let lines = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (lines(&output.stdout).trim().to_owned(), lines(&output.stderr).lines().map(str::to_owned).collect())
}

async fn status(daemon: &Daemon, lead: &str) -> Value {
    daemon.get(&format!("/leads/{lead}")).await.json()["status"].clone()
}

#[tokio::test]
async fn good_lines_are_imported_once_and_bad_ones_are_told() {
    let (daemon, leads, offers) = world().await;
    let csv = format!(
        "partner,transactionId,eventType,clickId,amountInCents\n\
         bank,T-1,applied,{0},\n\
         bank,T-2,fundet,{0},12\n\
         bank,T-3,funded,{1},500000\n\
         ,T-4,funded,{1},\n\
         nobody,T-5,funded,{1},\n",
        offers[0], offers[1]
    );
    let path = file(&daemon, "events.csv", &csv);
    let first = daemon.command(&["events", "import", &path]);
    assert_eq!(first.status.code(), Some(1), "bad lines are a failure");
    let (summary, lines) = told(&first);
    assert_eq!(summary, "2 imported, 0 known before, 3 bad");
    let about = |line: u32, attribute: &str| format!("{path}:{line}: `{attribute}` ");
    for (told, wanted) in lines.iter().zip([about(3, "eventType"), about(5, "partner"), about(6, "partner")])
    {
        assert!(told.starts_with(&wanted), "{told}");
    }
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (status(&daemon, &leads[0]).await, status(&daemon, &leads[1]).await),
        (json!("applied"), json!("funded"))
    );

    let again = daemon.command(&["events", "import", &path]);
    assert_eq!(told(&again).0, "0 imported, 2 known before, 3 bad");
}

#[tokio::test]
async fn a_dry_run_imports_nothing() {
    let (daemon, leads, offers) = world().await;
    let line = format!(r#"{{"transactionId":"T-1","eventType":"applied","clickId":"{}"}}"#, offers[0]);
    let path = file(&daemon, "events.ndjson", &line);
    let dry = daemon.command(&["events", "import", "--partner", "bank", "--dry-run", &path]);
    assert_eq!(told(&dry).0, "1 good, 0 bad; nothing was imported");
    assert_ne!(status(&daemon, &leads[0]).await, "applied");
}

/// A funding that is older than its lead is of another lead, and `None` is what a script writes that has no partner.
#[tokio::test]
async fn what_cannot_have_happened_is_refused_with_its_line() {
    let (daemon, _, offers) = world().await;
    let csv = format!(
        "partner,transactionId,eventType,clickId,occurredAt\n\
         bank,T-1,funded,{0},2020-01-01T00:00:00Z\n\
         bnak,T-2,funded,{0},\n",
        offers[0]
    );
    let path = file(&daemon, "events.csv", &csv);
    let (summary, lines) = told(&daemon.command(&["events", "import", &path]));
    assert_eq!(summary, "0 imported, 0 known before, 2 bad");
    assert!(lines[0].contains(":2: `occurredAt` must not be before its lead was made"), "{lines:?}");
    assert!(lines[1].contains(":3: `partner` ") && lines[1].contains("did you mean `bank`?"), "{lines:?}");
    let (summary, _) = told(&daemon.command(&["events", "import", "--dry-run", &path]));
    assert_eq!(summary, "1 good, 1 bad; nothing was imported");
}

#[tokio::test]
async fn a_stopped_daemon_s_store_takes_records_too_in_their_order() {
    let (daemon, leads, offers) = world().await;
    let ndjson = format!(
        "{{\"partner\":\"bank\",\"transactionId\":\"T-1\",\"eventType\":\"applied\",\"clickId\":\"{0}\"}}\n\
         {{\"partner\":\"bank\",\"transactionId\":\"T-2\",\"eventType\":\"funded\",\"clickId\":\"{0}\"}}\n\
         {{\"partner\":\"bank\",\"transactionId\":\"T-2\",\"revoked\":true}}\n",
        offers[0]
    );
    let path = file(&daemon, "events.ndjson", &ndjson);
    let (_, stopped): (_, Stopped) = daemon.terminate();
    let imported = stopped.plan.command(&["events", "import", &path]).output().unwrap();
    assert_eq!(told(&imported).0, "3 imported, 0 known before, 0 bad", "{:?}", told(&imported).1);
    assert!(imported.status.success());

    let daemon = stopped.start().await;
    assert_eq!(status(&daemon, &leads[0]).await, "applied", "what was funded was taken back");
    let known = daemon.command(&["events", "import", &path]);
    assert_eq!(told(&known).0, "0 imported, 3 known before, 0 bad");
}

#[tokio::test]
async fn what_a_partner_has_reported_is_not_imported_again() {
    let (daemon, _, offers) = world().await;
    let token = daemon.command(&["token", "create", "--partner", "bank"]);
    let token = told(&token).0;
    let report = json!({"transactionId": "T-1", "eventType": "applied", "clickId": offers[0]});
    let url = format!("{}/partnerEvents", daemon.integrations);
    assert_eq!(daemon.request(Method::POST, &url, &token, &report.to_string()).await.status, 201);

    let path = file(&daemon, "events.ndjson", &report.to_string());
    let known = daemon.command(&["events", "import", "--partner", "bank", &path]);
    assert_eq!(told(&known).0, "0 imported, 1 known before, 0 bad");
}

#[tokio::test]
async fn more_records_than_are_sent_at_once_are_all_imported() {
    let (daemon, leads, offers) = world().await;
    let mut csv = "transactionId,eventType,clickId\n".to_owned();
    for nth in 0..600 {
        csv += &format!("T-{nth},applied,{}\n", offers[0]);
    }
    let path = file(&daemon, "events.csv", &csv);
    let imported = daemon.command(&["events", "import", "--partner", "bank", &path]);
    assert_eq!(told(&imported).0, "600 imported, 0 known before, 0 bad");
    let lead = daemon.get(&format!("/leads/{}", leads[0])).await.json();
    let applied = lead["leadActions"].as_array().unwrap().iter().filter(|one| one["actionType"] == "applied");
    assert_eq!(applied.count(), 600);
}
