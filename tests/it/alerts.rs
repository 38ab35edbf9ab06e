//! Alerts: the conditions of the shipped rules, each reported once, and once as ended, whatever was down meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use crate::console::{csrf, html, send};
use crate::kit::far_side::{Deed, FarSide, Received};
use crate::kit::mail_server::{MailServer, Speaks};
use crate::kit::partners::{far_lender, partner};
use crate::kit::{Daemon, Plan};
use crate::power::shim::Syncs;

/// A plan whose daemon looks often, finds its backup old, and tells a webhook.
/// Most of what is told here is the age of the last backup, which a store in files has alone.
fn plan(far: &FarSide) -> Plan {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]).in_files();
    plan.write_settings(&settings(far, "1ms"));
    plan
}

fn settings(far: &FarSide, backup_age: &str) -> String {
    let url = far.url("/hook?token=hidden");
    format!(
        "[alerts]\nevery = '20ms'\nfirst_backoff = '20ms'\nlongest_backoff = '60ms'\nbackup_age = '{backup_age}'\n\
         console_url = 'https://offerd.example'\n\
         [alerts.webhooks.ops]\nurl = '{url}'\nbearer = {{ file = 'bearer' }}\nallow_addresses = ['127.0.0.1']\n"
    )
}

async fn started(plan: Plan) -> Daemon {
    std::fs::write(plan.directory().join("bearer"), "a-token-of-ours\n").unwrap();
    plan.start().await
}

async fn taker() -> FarSide {
    FarSide::start(|_| Deed::Json(200, "{}".to_owned())).await
}

/// What a receiver was told: of each alert its name, and whether it fires.
fn told(received: &[Received]) -> Vec<(String, String)> {
    let alerts = received.iter().flat_map(|one| body(one)["alerts"].as_array().unwrap().clone());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    alerts.map(|alert| (text(&alert["labels"]["alertname"]), text(&alert["status"]))).collect()
}

fn body(received: &Received) -> Value {
    serde_json::from_str(&received.body).expect("a webhook is JSON")
}

fn pair(name: &str, status: &str) -> (String, String) {
    (name.to_owned(), status.to_owned())
}

fn command(daemon: &Daemon, arguments: &[&str]) -> (bool, String) {
    let output = daemon.command(&[&["alerts"], arguments].concat());
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output.status.success(), text.concat())
}

fn listed(daemon: &Daemon) -> Value {
    let (good, text) = command(daemon, &["list", "--json"]);
    assert!(good, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn reload(daemon: &Daemon, far: &FarSide, backup_age: &str) {
    daemon.write_settings(&settings(far, backup_age));
    let output = daemon.command(&["reload"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_is_told_once_that_an_alert_begins_and_once_that_it_ends_as_alertmanager_says_it() {
    let far = taker().await;
    let daemon = started(plan(&far)).await;
    far.until(|received| received.len() == 1).await;
    let first = &far.received()[0];
    assert!(first.head.contains("authorization: Bearer a-token-of-ours"), "{}", first.head);
    let payload = body(first);
    assert_eq!((&payload["version"], &payload["status"]), (&json!("4"), &json!("firing")));
    assert_eq!(
        (&payload["receiver"], &payload["externalURL"]),
        (&json!("ops"), &json!("https://offerd.example"))
    );
    let alert = &payload["alerts"][0];
    assert_eq!(alert["labels"], json!({ "alertname": "OfferdBackupOld", "severity": "ticket" }));
    assert_eq!(alert["endsAt"], "0001-01-01T00:00:00Z");
    assert!(alert["annotations"]["summary"].as_str().unwrap().starts_with("no backup was taken since "));
    let runbook = "https://offerd.example/console/handbook/metrics#the-last-backup-is-old";
    assert_eq!(alert["annotations"]["runbook"], runbook);

    let listed = listed(&daemon);
    assert_eq!(listed["alerts"][0]["state"], "firing");
    assert_eq!(listed["receivers"][0]["place"], "127.0.0.1", "the rest of a URL may be a secret");
    assert!(!listed["receivers"][0]["lastSent"].is_null(), "{listed}");
    assert!(daemon.metrics().await.contains(r#"offerd_alerts_firing{severity="ticket"} 1"#));

    reload(&daemon, &far, "36h");
    far.until(|received| received.len() == 2).await;
    let ended = body(&far.received()[1]);
    assert_eq!(ended["status"], "resolved");
    assert_eq!(ended["alerts"][0]["fingerprint"], alert["fingerprint"]);
    assert_eq!(ended["alerts"][0]["startsAt"], alert["startsAt"]);
    assert_ne!(ended["alerts"][0]["endsAt"], alert["endsAt"]);
    let all = [pair("OfferdBackupOld", "firing"), pair("OfferdBackupOld", "resolved")];
    assert_eq!(told(&far.received()), all);
    assert!(!daemon.log().contains("token=hidden"), "a URL may be a secret");
}

/// The settings of two receivers.
fn settings_of_two(ops: &FarSide, night: &FarSide, backup_age: &str) -> String {
    let url = night.url("/hook");
    let night = format!("[alerts.webhooks.night]\nurl = '{url}'\nallow_addresses = ['127.0.0.1']\n");
    settings(ops, backup_age) + &night
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_is_new_is_told_what_fires_already_and_who_was_told_is_not_told_again() {
    let (ops, night) = (taker().await, taker().await);
    let daemon = started(plan(&ops)).await;
    ops.until(|received| received.len() == 1).await;

    daemon.write_settings(&settings_of_two(&ops, &night, "1ms"));
    assert!(daemon.command(&["reload"]).status.success());
    night.until(|received| received.len() == 1).await;
    let begun = body(&night.received()[0]);
    assert_eq!(begun["receiver"], "night");
    assert_eq!(begun["alerts"][0]["startsAt"], body(&ops.received()[0])["alerts"][0]["startsAt"]);

    daemon.write_settings(&settings_of_two(&ops, &night, "36h"));
    assert!(daemon.command(&["reload"]).status.success());
    for far in [&ops, &night] {
        far.until(|received| received.len() == 2).await;
        let all = [pair("OfferdBackupOld", "firing"), pair("OfferdBackupOld", "resolved")];
        assert_eq!(told(&far.received()), all);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_says_nothing_twice_and_loses_no_end() {
    let far = taker().await;
    let daemon = started(plan(&far)).await;
    far.until(|received| received.len() == 1).await;
    // What was told is not told again once that it was is on the disk.
    until_listed(&daemon, |listed| listed["receivers"][0]["outstanding"] == 0).await;
    let daemon = daemon.kill().start().await;
    until_listed(&daemon, |listed| listed["alerts"][0]["state"] == "firing").await;
    reload(&daemon, &far, "36h");
    far.until(|received| told(received).len() == 2).await;
    assert_eq!(told(&far.received())[1], pair("OfferdBackupOld", "resolved"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_was_down_is_told_later_also_by_the_next_daemon() {
    let is_down = Arc::new(AtomicBool::new(true));
    let down = Arc::clone(&is_down);
    let decide = move |_: &Received| {
        let status = if down.load(Ordering::SeqCst) { 503 } else { 200 };
        Deed::Json(status, String::new())
    };
    let far = FarSide::start(decide).await;
    let daemon = started(plan(&far)).await;
    far.until(|received| received.len() >= 2).await;
    until_listed(&daemon, |listed| listed["receivers"][0]["lastError"] == "it answered 503").await;
    reload(&daemon, &far, "36h");
    until_listed(&daemon, |listed| listed["alerts"][0]["state"] == "ended").await;
    let daemon = daemon.kill().start().await;
    far.forget();
    is_down.store(false, Ordering::SeqCst);
    until_listed(&daemon, |listed| listed["receivers"][0]["outstanding"] == 0).await;
    let told = told(&far.received());
    let begins = told.iter().position(|one| *one == pair("OfferdBackupOld", "firing"));
    let ends = told.iter().rposition(|one| *one == pair("OfferdBackupOld", "resolved"));
    assert!(begins.is_some() && begins < ends, "{told:?}");
}

async fn until_listed(daemon: &Daemon, wanted: impl Fn(&Value) -> bool) {
    let waiting = async {
        while !wanted(&listed(daemon)) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(crate::kit::PATIENCE, waiting).await;
    assert!(waited.is_ok(), "{}", listed(daemon));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_remembered_over_a_restart() {
    let far = taker().await;
    let plan = plan(&far);
    let daemon = started(plan.setting("alerts.backup_age", "36h")).await;
    let before = last_backup(&daemon, |_| true).await;
    assert!(daemon.command(&["backup", "one.backup"]).status.success());
    let after = last_backup(&daemon, |at| at != before).await;
    let daemon = daemon.kill().start().await;
    last_backup(&daemon, |at| at == after).await;
}

/// When the last backup was taken, as metrics tell it; waits until they tell one that is wanted.
async fn last_backup(daemon: &Daemon, is_wanted: impl Fn(&str) -> bool) -> String {
    let waiting = async {
        loop {
            let metrics = daemon.metrics().await;
            let told =
                metrics.lines().find_map(|line| line.strip_prefix("offerd_last_backup_timestamp_seconds "));
            match told.filter(|at| is_wanted(at)) {
                Some(at) => return at.to_owned(),
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    tokio::time::timeout(crate::kit::PATIENCE, waiting).await.expect("it is told")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_is_sent_to_everybody_whom_the_server_knows_with_what_to_do() {
    let server = MailServer::start(Speaks::Clear).await;
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    plan.write_settings(&format!(
        "[alerts]\nevery = '20ms'\nbackup_age = '1ms'\n[alerts.mail]\nserver = '{}'\ntls = 'none'\n\
         from = 'offerd <alerts@example.com>'\nto = ['ops@example.com', 'gone@example.com', 'night@example.com']\n",
        server.address
    ));
    let daemon = plan.start().await;
    server.until(2).await;
    let mail = server.mails()[..2].concat();
    for wanted in [
        "MAIL FROM:<alerts@example.com>",
        "RCPT TO:<ops@example.com>",
        "RCPT TO:<night@example.com>",
        "Subject: [firing] OfferdBackupOld: no backup was taken since ",
        "what to do: \"the last backup is old\" in the handbook, offerd(8), or /console/handbook/metrics#the-last-backup-is-old of the console",
    ] {
        let flat = mail.replace("=\r\n", "").replace("\r\n ", " ");
        assert!(flat.contains(wanted), "{wanted}: {mail}");
    }
    let (good, text) = command(&daemon, &["test", "mail"]);
    assert!(!good && text.contains("the server refuses `gone@example.com`"), "{text}");
    assert!(server.mails().iter().any(|mail| mail.contains("OfferdTest")));
}

/// A plan that tells a server by mail, with a password, and trusts whom `ca` says.
fn mailing(server: &MailServer, tls: &str, ca: &str) -> Plan {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    std::fs::write(plan.directory().join("server.pem"), &server.certificate).unwrap();
    std::fs::write(plan.directory().join("password"), "correct horse\n").unwrap();
    plan.write_settings(&format!(
        "[alerts]\nevery = '20ms'\nbackup_age = '1ms'\n[alerts.mail]\nserver = '{}'\ntls = '{tls}'\n\
         from = 'alerts@example.com'\nto = ['ops@example.com']\nuser = 'offerd'\npassword = {{ file = 'password' }}\nca_file = '{ca}'\n",
        server.address
    ));
    plan
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_and_the_password_for_it_go_only_where_tls_says_who_is_there() {
    for (speaks, tls, before) in
        [(Speaks::Starttls, "starttls", vec!["EHLO offerd", "STARTTLS"]), (Speaks::Tls, "tls", vec![])]
    {
        let server = MailServer::start(speaks).await;
        let _daemon = mailing(&server, tls, "server.pem").start().await;
        server.until(1).await;
        let mail = server.mails()[0].clone();
        let password = STANDARD.encode("\0offerd\0correct horse");
        assert!(
            mail.contains(&format!("AUTH PLAIN {password}")) && mail.contains("OfferdBackupOld"),
            "{mail}"
        );
        let in_the_clear = server.in_the_clear();
        assert!(in_the_clear.chunks(before.len().max(1)).all(|said| said == before), "{in_the_clear:?}");
    }
}

/// Neither one that has no TLS, as an attacker between would have it, nor one whom nobody vouches for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_server_that_does_not_prove_itself_is_told_nothing() {
    for (speaks, tls, ca) in [
        (Speaks::Clear, "starttls", "server.pem"),
        (Speaks::Starttls, "starttls", ""),
        (Speaks::Tls, "tls", ""),
    ] {
        let server = MailServer::start(speaks).await;
        let daemon = mailing(&server, tls, ca).start().await;
        let (good, text) = command(&daemon, &["test", "mail"]);
        assert!(!good && text.contains("did not accept it"), "{speaks:?}: {text}");
        assert_eq!(server.mails(), [""; 0]);
        let in_the_clear = server.in_the_clear();
        assert!(
            !in_the_clear.iter().any(|line| line.contains("AUTH") || line.contains("MAIL")),
            "{in_the_clear:?}"
        );
    }
}

/// A secret of ours, as a receiver has it too.
const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_signed_as_the_specification_says() {
    let far = taker().await;
    let plan = plan(&far);
    std::fs::write(plan.directory().join("secret"), SECRET).unwrap();
    plan.write_settings(&(settings(&far, "1ms") + "secret = { file = 'secret' }\n"));
    let _daemon = started(plan).await;
    far.until(|received| !received.is_empty()).await;
    far.received()[0].assert_signed(SECRET);
}

/// The store may be what an alert is about: who is told does not wait for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_hangs_is_told_while_it_hangs() {
    let far = taker().await;
    let plan = plan(&far).setting("alerts.backup_age", "0s").setting("store.stall_after", "100ms");
    let Some((plan, syncs)) = Syncs::of(plan) else { return };
    let daemon =
        started(plan.setting("matching.deadline", "400ms").setting("matching.second_look_reserve", "100ms"))
            .await;
    syncs.hang();
    assert_eq!(daemon.submit(r#"{"productTypes":["savings"]}"#).await.status, 503);
    far.until(|received| told(received).contains(&pair("OfferdDiskHangs", "firing"))).await;
    syncs.go_on();
}

/// Whatever the traffic: no lead is sent here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_accepts_no_leads_pages_with_the_cause_although_none_comes() {
    let far = taker().await;
    let reserve = (1_u64 << 40).to_string();
    let plan = plan(&far).setting("alerts.backup_age", "0s").setting("store.reserve_bytes", &reserve);
    let daemon = started(plan).await;
    far.until(|received| told(received).contains(&pair("OfferdNotReady", "firing"))).await;
    let alerts = listed(&daemon)["alerts"].as_array().unwrap().clone();
    let alert = alerts.iter().find(|alert| alert["name"] == "OfferdNotReady").unwrap();
    assert_eq!((&alert["severity"], &alert["labels"]), (&json!("page"), &json!({ "cause": "disk_full" })));
    assert_eq!(alert["summary"], "not ready: disk_full");
    let metrics = daemon.metrics().await;
    for line in ["offerd_ready 0", "offerd_not_ready{cause=\"disk_full\"} 1"] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_whose_bytes_were_changed_is_told() {
    let far = taker().await;
    let daemon = started(plan(&far).setting("alerts.backup_age", "0s")).await;
    for _ in 0..20 {
        assert_eq!(daemon.submit(r#"{"productTypes":["savings"]}"#).await.status, 200);
    }
    let stopped = daemon.terminate().1;
    let file = stopped.plan.store().join("volumes/1/00000001.records");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let daemon = stopped.start().await;
    let checked = daemon.command(&["store", "check"]);
    assert!(!checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    far.until(|received| told(received).contains(&pair("OfferdStoreDamaged", "firing"))).await;
    let alerts = listed(&daemon)["alerts"].as_array().unwrap().clone();
    let damaged = alerts.iter().find(|alert| alert["name"] == "OfferdStoreDamaged").unwrap();
    assert_eq!((&damaged["severity"], &damaged["labels"]), (&json!("page"), &json!({})));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_says_who_has_taken_it_and_why_not() {
    let far = FarSide::start(|_| Deed::Json(401, String::new())).await;
    let daemon = started(plan(&far).setting("alerts.backup_age", "0s")).await;
    let (good, text) = command(&daemon, &["test"]);
    assert!(!good && text.contains("ops (127.0.0.1) did not accept it: it answered 401"), "{text}");
    let (good, text) = command(&daemon, &["test", "nobody"]);
    assert!(!good && text.contains("there is no receiver `nobody`"), "{text}");
    assert_eq!(told(&far.received()), [pair("OfferdTest", "firing")]);

    let csrf = csrf(&html(&daemon, "/console/alerts").await);
    let csrf = ("csrf", csrf.as_str());
    let refused = send(&daemon, "/console/alerts/test", &[csrf, ("receiver", "op")], &[]).await;
    let text = String::from_utf8_lossy(&refused.body).into_owned();
    assert!(refused.status == 400 && text.contains("there is no receiver <code>op</code>"), "{text}");
    assert_eq!(far.received().len(), 1, "nobody was told");
    let tried = send(&daemon, "/console/alerts/test", &[csrf, ("receiver", "ops")], &[]).await;
    assert_eq!((tried.status, far.received().len()), (200, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_a_receiver_took_a_test_is_shown_until_it_takes_something_else() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let far = FarSide::start(move |_| {
        let status = if well.load(Ordering::SeqCst) { 200 } else { 401 };
        Deed::Json(status, String::new())
    })
    .await;
    let daemon = started(plan(&far).setting("alerts.backup_age", "0s")).await;
    let before = listed(&daemon)["receivers"][0].clone();
    assert!(before["lastSent"].is_null() && before["failingSince"].is_null(), "{before}");

    assert!(!command(&daemon, &["test"]).0);
    let ops = listed(&daemon)["receivers"][0].clone();
    assert_eq!((&ops["lastError"], &ops["lastSent"]), (&json!("it answered 401"), &Value::Null));
    assert!(ops["failingSince"].is_i64(), "{ops}");
    assert!(command(&daemon, &["list"]).1.contains("it answered 401"));
    let page = html(&daemon, "/console/alerts").await;
    assert!(page.contains(">failing</span>") && page.contains(": it answered 401</span>"), "{page}");

    is_well.store(true, Ordering::SeqCst);
    let csrf = csrf(&page);
    let tried = send(&daemon, "/console/alerts/test", &[("csrf", csrf.as_str())], &[]).await;
    let page = String::from_utf8_lossy(&tried.body).into_owned();
    assert!(page.contains(">delivered</span> ops") && page.contains(">well</span>"), "{page}");
    let page = html(&daemon, "/console/alerts").await;
    assert!(!page.contains(">failing</span>") && !page.contains(">never</span>"), "{page}");
    let ops = listed(&daemon)["receivers"][0].clone();
    assert!(ops["lastSent"].is_i64() && ops["failingSince"].is_null() && ops["lastError"].is_null(), "{ops}");
}

#[test]
fn every_fault_of_the_settings_is_told_at_once_with_its_line() {
    let plan = Daemon::with_partners(Vec::new());
    plan.write_settings(
        "[alerts]\noff = ['OfferdNoLead']\n[alerts.waits]\nOfferdSlow = '1m'\n[alerts.webhooks.ops]\nurl = 'http://10.0.0.7/hook'\n\
         secret = { file = 'nowhere' }\nca_file = '.'\n[alerts.webhooks.none]\nbearer = { file = 'a', credential = 'b' }\n\
         [alerts.mail]\nserver = 'smtp.example.com:25'\ntls = 'none'\nfrom = 'us'\nto = []\npassword = { file = 'pipe' }\n\
         [alerts.webhooks.sealed]\nurl = 'https://ops.example/hook'\nbearer = { credential = 'absent' }\n",
    );
    pipe(&plan.directory().join("pipe"));
    let text = checked(&plan);
    for wanted in [
        "offerd.toml:2: `alerts.off` names `OfferdNoLead`, which is not an alert: list them all with `offerd \
            alerts list`; did you mean `OfferdNoLeads`?",
        "offerd.toml:4: `alerts.waits.OfferdSlow` names `OfferdSlow`, which is not an alert",
        "offerd.toml:7: `alerts.webhooks.ops.secret` cannot be read from its file: No such file",
        "offerd.toml:8: `alerts.webhooks.ops.ca_file` cannot be read: it is not a regular file",
        "offerd.toml:10: `alerts.webhooks.none.bearer` must be a `file` or a `credential`, not both",
        "offerd.toml:9: `alerts.webhooks.none.url` must be set, or else `url_from`, and not both",
        "offerd.toml:13: `alerts.mail.tls` must be `starttls` or `tls`, unless the server is on loopback",
        "offerd.toml:14: `alerts.mail.from` must be a mail address, got `us`",
        "offerd.toml:15: `alerts.mail.to` must be set where a `server` is",
        "offerd.toml:16: `alerts.mail.password` is set and `user` is not: they go together",
        "offerd.toml:16: `alerts.mail.password` cannot be read from its file: it is not a regular file",
        "offerd.toml:19: `alerts.webhooks.sealed.bearer` cannot be read: this process has no credentials; set \
            `LoadCredential=` in the unit of this process, or run this command as the service does: `systemd-run",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let plan = plan.variable("CREDENTIALS_DIRECTORY", ".");
    let text = checked(&plan);
    let wanted = "`alerts.webhooks.sealed.bearer` cannot be read from its file: No such file or directory (os \
        error 2); set `LoadCredential=`";
    assert!(text.contains(wanted), "{text}");
}

/// What `offerd check` says of settings that are not good.
fn checked(plan: &Plan) -> String {
    let output = plan.command(&["check"]).output().unwrap();
    let text = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(64), "{text:?}");
    text.concat()
}

/// A pipe into which nobody writes.
fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Whoever names one is told so at once, wherever a file is named.
#[test]
fn a_file_that_would_be_waited_for_is_refused_wherever_settings_name_one() {
    let lender = far_lender("far", "https://lender.example/", "secrets = { key = { file = 'pipe' } }")
        .replaced("wire = { allow", "wire = { authorities = 'pipe', allow");
    let plan = Daemon::with_partners(vec![lender]);
    pipe(&plan.directory().join("pipe"));
    std::os::unix::fs::symlink("/dev/zero", plan.directory().join("device")).unwrap();
    plan.write_settings(
        "[alerts.webhooks.ops]\nurl_from = { file = 'pipe' }\nbearer = { file = 'device' }\nsecret = { file = 'pipe' }\n\
         [console]\npassword_file = 'pipe'\n[store]\nmaster_key_file = 'pipe'\n[reference]\nvehicles = 'pipe'\n\
         [admin]\ntls = { certificate = 'pipe', key = 'device' }\n[postbacks]\npath = 'subscriptions'\n",
    );
    let subscriptions = plan.directory().join("subscriptions");
    std::fs::create_dir(&subscriptions).unwrap();
    std::fs::write(
        subscriptions.join("acme.toml"),
        "company = 'Acme'\nkind = 'webhook'\nevents = ['funded']\nurl = 'https://acme.example/'\nsecrets = [{ file = 'pipe' }]\n",
    )
    .unwrap();
    let text = checked(&plan);
    for key in [
        "`alerts.webhooks.ops.url_from`",
        "`alerts.webhooks.ops.bearer`",
        "`alerts.webhooks.ops.secret`",
        "`console.password_file`",
        "master",
        "vehicles",
        "`admin.tls",
        "acme.toml:5: `secrets[0]`",
        "`products.loan.http.secrets.key`",
        "`products.loan.http.wire.authorities`",
    ] {
        let is_told = |line: &&str| line.contains(key) && line.contains("it is not a regular file");
        assert!(text.lines().any(|line| is_told(&line)), "{key}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_not_the_key_is_told_nothing() {
    let far = taker().await;
    let daemon = started(plan(&far)).await;
    for (method, path) in [(Method::GET, "/alerts"), (Method::POST, "/alerts/test")] {
        let url = format!("{}{path}", daemon.admin);
        assert_eq!(daemon.request(method, &url, "nonsense", "{}").await.status, 401, "{path}");
    }
}
