//! `offerd export` and `offerd import`: a store as lines of JSON, and the same answers from the import.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use offerd::analytics::Events;
use serde_json::{Value, json};

use crate::kit::partners::partner;
use crate::kit::{Daemon, Plan, sample};

fn plan() -> Plan {
    let partners = vec![partner("lender").loan("").savings("")];
    Daemon::with_partners(partners).setting("api.base_url", "http://offers.example")
}

fn run(plan: &Plan, arguments: &[&str]) -> Result<String, String> {
    let output = plan.command(arguments).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    if output.status.success() { Ok(told) } else { Err(told) }
}

#[tokio::test]
async fn what_is_imported_answers_as_what_was_exported() {
    let daemon = plan().start().await;
    let mut lead: Value = serde_json::from_str(&sample("everything")).unwrap();
    lead["clientTags"] = json!({"campaign": ["spring"]});
    let table = daemon.submit(lead.to_string()).await.json();
    let table = daemon.complete(table["uuid"].as_str().unwrap()).await;
    let (table_uuid, lead_uuid) = (table["uuid"].as_str().unwrap(), table["leadUuid"].as_str().unwrap());
    let offer = table["loanOffers"][0]["uuid"].as_str().unwrap();
    assert_eq!(daemon.get(&format!("/click/{offer}")).await.status, 302);
    let made = daemon.command(&["token", "create", "--partner", "lender"]);
    let partner_token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let report = json!({"transactionId": "T-1", "eventType": "applied", "clickId": offer}).to_string();
    let post = hyper::Method::POST;
    let url = |daemon: &Daemon| format!("{}/partnerEvents", daemon.integrations);
    assert_eq!(daemon.request(post.clone(), &url(&daemon), &partner_token, &report).await.status, 201);
    let shown = daemon.rate_table(table_uuid).await.body;
    let seen = daemon.get(&format!("/leads/{lead_uuid}")).await.json();
    let running = daemon.command(&["export", "-"]);
    assert!(String::from_utf8(running.stderr).unwrap().contains("a daemon runs"));
    let into_running = daemon.command(&["import", "any"]);
    let told = String::from_utf8(into_running.stderr).unwrap();
    assert!(
        told.contains("a daemon runs") && told.contains("an import needs a new store: set another"),
        "{told}"
    );

    let dossier = daemon.command(&["lead", "export", lead_uuid]);
    let dossier: Value = serde_json::from_slice(&dossier.stdout).unwrap();
    let company = dossier["lead"]["company"].as_str().unwrap();
    let (confidential, publishable) = (daemon.confidential.clone(), daemon.publishable.clone());
    let (_, stopped) = daemon.terminate();
    let events = stopped.feed_in_two_hours::<Events>(company).data.len();
    let file = stopped.plan.store().with_file_name("export");
    let told = run(&stopped.plan, &["export", file.to_str().unwrap(), "--personal-data"]).unwrap();
    assert!(told.contains("records exported"), "{told}");
    let lines = fs::read_to_string(&file).unwrap();
    assert!(lines.contains(r#""tree":"leads""#) && lines.contains("campaign"), "readable");
    let readable = |tree: &str| {
        let of = format!(r#""tree":"{tree}""#);
        lines.lines().any(|line| line.contains(&of) && line.contains(r#""value":"#))
    };
    for tree in ["rate_tables", "answers", "lead_events", "lead_client_tags", "tokens", "partner_events"] {
        assert!(readable(tree), "{tree}");
    }

    let elsewhere = plan();
    let imported = run(&elsewhere, &["import", file.to_str().unwrap()]).unwrap();
    assert!(imported.contains("records imported"), "{imported}");
    let refused = run(&elsewhere, &["import", file.to_str().unwrap()]).unwrap_err();
    assert!(refused.contains("is not empty"), "{refused}");
    let mut daemon = elsewhere.start_with_token(confidential).await;
    daemon.publishable = publishable;
    assert!(daemon.rate_table(table_uuid).await.body == shown, "the rate table is another one");
    assert_eq!(daemon.get(&format!("/leads/{lead_uuid}")).await.json(), seen);
    assert_eq!(daemon.get(&format!("/click/{offer}")).await.status, 302, "an address that was given out");
    // A report that was taken in before the export is known by its id.
    assert_eq!(daemon.request(post, &url(&daemon), &partner_token, &report).await.status, 200);
    let (_, stopped) = daemon.terminate();
    assert_eq!(stopped.feed_in_two_hours::<Events>(company).data.len(), events + 1, "one click more");
    is_found_and_erased(&stopped.plan, &lead, lead_uuid);
}

/// What people are found by is keyed anew by an import, and found as before.
fn is_found_and_erased(plan: &Plan, lead: &Value, lead_uuid: &str) {
    let printed = |arguments: &[&str]| {
        let output = plan.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let email = lead["personalInformation"]["email"].as_str().unwrap();
    let phone = lead["personalInformation"]["primaryPhone"].as_str().unwrap();
    for by in [["--email", email], ["--phone", phone]] {
        let found = printed(&["person", "find", by[0], by[1]]);
        assert!(found.contains(lead_uuid), "{by:?}: {found}");
    }
    let receipt = printed(&["person", "erase", "--phone", phone]);
    assert!(receipt.contains(lead_uuid), "{receipt}");
    let found = printed(&["person", "find", "--email", email]);
    assert!(found.contains("no lead has this contact"), "{found}");
    let verdict = printed(&["audit", "verify"]);
    assert!(!verdict.contains("broken"), "{verdict}");
}

#[tokio::test]
async fn a_killed_import_leaves_no_store() {
    let daemon = plan().start().await;
    daemon.submit(sample("everything")).await;
    let (_, stopped) = daemon.terminate();
    let file = stopped.plan.store().with_file_name("export");
    run(&stopped.plan, &["export", file.to_str().unwrap(), "--personal-data"]).unwrap();
    let lines = fs::read(&file).unwrap();

    let elsewhere = plan();
    let mut importing = elsewhere.command(&["import", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = importing.stdin.take().unwrap();
    input.write_all(&lines[..lines.len() / 2]).unwrap();
    let part = elsewhere.store().with_extension("part");
    while !part.join("lock").exists() {
        assert_eq!(importing.try_wait().unwrap(), None, "it ended before it had begun");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!elsewhere.store().exists(), "nobody can open it before it is whole");
    importing.kill().unwrap();
    importing.wait().unwrap();
    let told = run(&elsewhere, &["store", "check"]).unwrap_err();
    assert!(told.contains("there is no store"), "{told}");
    let told = run(&elsewhere, &["import", file.to_str().unwrap()]).unwrap_err();
    assert!(told.contains(&format!("`rm -r {}`", part.display())), "{told}");
    fs::remove_dir_all(part).unwrap();
    run(&elsewhere, &["import", file.to_str().unwrap()]).unwrap();
    run(&elsewhere, &["store", "check"]).unwrap();
}

#[tokio::test]
async fn an_export_without_personal_data_tells_of_nobody_and_is_no_store() {
    let daemon = plan().start().await;
    let table = daemon.submit(sample("everything")).await.json();
    daemon.complete(table["uuid"].as_str().unwrap()).await;
    let (_, stopped) = daemon.terminate();
    let file = stopped.plan.store().with_file_name("export");
    let told = run(&stopped.plan, &["export", file.to_str().unwrap()]).unwrap();
    assert!(told.contains("was left out"), "{told}");
    stopped.plan.canaries().assert_in_none_of(std::slice::from_ref(&file));

    let elsewhere = plan();
    let refused = run(&elsewhere, &["import", file.to_str().unwrap()]).unwrap_err();
    assert!(refused.contains("line 1 begins an export without personal data"), "{refused}");
    assert!(!elsewhere.store().exists());
}

#[tokio::test]
async fn lines_that_are_not_whole_make_no_store() {
    let (_, stopped) = plan().start().await.terminate();
    let file = stopped.plan.store().with_file_name("export");
    run(&stopped.plan, &["export", file.to_str().unwrap(), "--personal-data"]).unwrap();
    let lines = fs::read_to_string(&file).unwrap();
    let (whole, end) = lines.trim_end().rsplit_once('\n').unwrap();
    let first_gone = [lines.lines().next().unwrap(), end].join("\n");
    for (text, told) in [
        (whole, "is not where the export ends"),
        (&first_gone, "is not where the export ends"),
        (&format!("{whole}\nnonsense\n"), "is not a record of a store"),
        ("nonsense", "line 1 is not the first line"),
        ("", "is empty; give a file that `offerd export --personal-data` has made"),
        (
            &lines.replacen(r#""offerdExport":1"#, r#""offerdExport":2"#, 1),
            "line 1 begins an export of version `2`, this offerd reads `1`",
        ),
    ] {
        let elsewhere = plan();
        let file = elsewhere.store().with_file_name("lines");
        fs::write(&file, text).unwrap();
        let refused = run(&elsewhere, &["import", file.to_str().unwrap()]).unwrap_err();
        assert!(refused.contains(told) && !refused.contains("created a master key"), "{refused}");
        assert!(!elsewhere.store().exists() && !elsewhere.master_key().exists());
    }
    let elsewhere = plan();
    let refused = run(&elsewhere, &["import", "nofile"]).unwrap_err();
    assert!(refused.contains("nofile cannot be read"), "{refused}");
    assert!(!elsewhere.store().exists() && !elsewhere.master_key().exists());
}
