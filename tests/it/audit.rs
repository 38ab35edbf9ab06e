//! The audit: a record of every reveal, pause, reload, token, user and erasure, and detection of changes to it.

use std::process::Output;

use offerd::store::audit::{AuditLog, AuditRecord};
use offerd::store::{Commit, Tree, codec};
use serde_json::Value;

use crate::kit::partners::prompt_partners;
use crate::kit::{Daemon, sample};
use crate::people::{Browser, add, text};

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn listed(daemon: &Daemon, arguments: &[&str]) -> Vec<Value> {
    let output = daemon.command(&[&["audit", "list", "--format", "json"], arguments].concat());
    assert!(output.status.success(), "{}", told(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn actions(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["action"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn what_operators_do_is_recorded_with_who_where_from_and_why_and_survives_a_kill() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let (uuid, lead) = (table["uuid"].as_str().unwrap(), table["leadUuid"].as_str().unwrap());
    add(&daemon, "olga", "operator");
    let olga = Browser::of(&daemon, "olga").await;
    assert_eq!(olga.post("/console/partners/prompt_0/pause", &[("reason", "fails today")]).await.status, 303);
    assert_eq!(olga.post("/console/system/reload", &[]).await.status, 200);
    let reveal = [("reveal", "personalInformation.ssn"), ("reason", "asked for a copy")];
    let revealed = olga.post(&format!("/console/rateTables/{uuid}/reveal"), &reveal).await;
    assert_eq!(revealed.status, 200, "{}", text(&revealed));
    for command in [
        &["partners", "resume", "prompt_0"][..],
        &["token", "create", "--company", "Acme", "--kind", "publishable"],
        &["lead", "erase", lead],
        &["reload"],
    ] {
        let done = daemon.command(command);
        assert!(done.status.success(), "{command:?}: {}", told(&done));
    }
    let daemon = daemon.kill().start().await;
    let records = listed(&daemon, &[]);
    assert_eq!(
        actions(&records),
        [
            "user.add",
            "console.sign_in",
            "partner.pause",
            "reload",
            "reload.outcome",
            "personal_data.reveal",
            "partner.resume",
            "token.create",
            "lead.erase",
            "lead.erased",
            "reload",
            "reload.outcome"
        ]
    );
    assert_eq!(records[2]["reason"], "fails today");
    assert_eq!(records[4]["object"], "ok: nothing changed");
    let reveal = &records[5];
    assert_eq!(
        (&reveal["who"], &reveal["role"], &reveal["reason"]),
        (&"console, user olga".into(), &"operator".into(), &"asked for a copy".into())
    );
    assert!(reveal["from"].as_str().unwrap().starts_with("console 127."), "{reveal}");
    assert_eq!(reveal["object"], format!("personalInformation.ssn of lead {lead}"));
    assert_eq!((&records[6]["from"], &records[6]["object"]), (&"command".into(), &"prompt_0".into()));
    assert_eq!(actions(&listed(&daemon, &["--who", "OLGA", "--action", "partner"])), ["partner.pause"]);
    assert!(listed(&daemon, &["--action", "part"]).is_empty(), "a word is a word");
    assert_eq!(listed(&daemon, &["--about", &lead.to_uppercase()]).len(), 3, "reveal, erasure and its end");
    assert!(!told(&daemon.command(&["audit", "list"])).contains("536-22"), "nothing of a person is in it");
    let csv = told(&daemon.command(&["audit", "list", "--format", "csv", "--action", "lead"]));
    assert!(
        csv.contains("number,at,who") && csv.contains(",lead.erase,") && csv.contains(",lead.erased,"),
        "{csv}"
    );
    let verified = daemon.command(&["audit", "verify"]);
    assert!(verified.status.success() && told(&verified).contains("12 records"), "{}", told(&verified));
}

#[tokio::test]
async fn an_administrator_reads_the_audit_page_by_page_and_takes_it_away() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    add(&daemon, "maren", "administrator");
    for _ in 0..30 {
        assert!(daemon.command(&["partners", "pause", "prompt_0"]).status.success());
        assert!(daemon.command(&["partners", "resume", "prompt_0"]).status.success());
    }
    let maren = Browser::of(&daemon, "maren").await;
    let newest = text(&maren.get("/console/audit").await);
    assert!(newest.contains(">console.sign_in<") && !newest.contains("\">user.add<"), "{newest}");
    let (_, older) = newest.split_once("before=").expect("there is more");
    let older = format!("/console/audit?before={}", older.split('"').next().unwrap());
    let older = text(&maren.get(&older).await);
    assert!(older.contains("\">user.add<") && !older.contains(">console.sign_in<"), "{older}");
    let found = text(&maren.get("/console/audit?action=user&time=all").await);
    assert!(
        found.contains("\">user.add<") && !found.contains("<td data-label=\"Action\" class=\"mono\">partner"),
        "{found}"
    );
    let file = maren.get("/console/audit/download?action=partner.pause").await;
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"audit.csv\""));
    assert_eq!(text(&file).lines().count(), 31);
    assert_eq!(maren.get("/console/audit?before=x&time=never").await.status, 200);
}

#[tokio::test]
async fn whoever_changes_a_record_is_told_of_by_every_check() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    for partner in ["pause", "resume", "pause"] {
        assert!(daemon.command(&["partners", partner, "prompt_0"]).status.success());
    }
    let verdict = daemon.command(&["audit", "verify", "--json"]);
    let verdict: Value = serde_json::from_slice(&verdict.stdout).unwrap();
    let head = format!("{}:{}", verdict["head"]["number"], verdict["head"]["hash"].as_str().unwrap());
    let (_, stopped) = daemon.terminate();
    let store = stopped.plan.open_store();
    let (records, _) = AuditLog::of(store.clone()).after(1, &Default::default(), 1, 1).unwrap();
    let other = AuditRecord { who: "somebody else".to_owned(), ..records[0].clone() };
    let key = [&[1][..], &2_u64.to_be_bytes()].concat();
    store.commit(Commit::new().put(Tree::Audit, &key, codec::encode_json(&other))).await.unwrap();
    drop(store);
    let run = |arguments: &[&str]| stopped.plan.command(arguments).output().unwrap();
    for command in [&["audit", "verify"][..], &["store", "check"], &["doctor"]] {
        let output = run(command);
        assert!(!output.status.success(), "{command:?}");
        assert!(
            told(&output).contains("record 3 does not match the one before it"),
            "{command:?}: {}",
            told(&output)
        );
    }

    // A chain that was cut off, or made anew, is whole; who wrote down its end sees it.
    let store = stopped.plan.open_store();
    store.commit(Commit::new().put(Tree::Audit, &key, codec::encode_json(&records[0]))).await.unwrap();
    assert!(AuditLog::of(store.clone()).verify().unwrap().broken.is_none());
    let last = [&[1][..], &3_u64.to_be_bytes()].concat();
    store.commit(Commit::new().remove(Tree::Audit, last)).await.unwrap();
    drop(store);
    assert!(run(&["audit", "verify"]).status.success());
    let cut = run(&["audit", "verify", "--head", &head]);
    assert!(told(&cut).contains("the end of the audit was cut off"), "{}", told(&cut));
}
