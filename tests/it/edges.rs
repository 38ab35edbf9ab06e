//! The edges: TLS, rate limits, caps of a company, the audit log.

use std::path::{Path, PathBuf};
use std::process::Output;

use hyper::Method;
use rcgen::KeyPair;
use serde_json::Value;

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon, Plan, sample, signal};

/// A partner that is asked and never answers.
const SILENCE: &str = r#"simulate = { delay = "1ms", failure_rate = 1.0, failure = "silence" }"#;

/// A certificate and its key, as files in a directory.
fn write_pair(directory: &Path) -> (PathBuf, PathBuf) {
    let (certificate, key) = (directory.join("certificate.pem"), directory.join("key.pem"));
    let pair = KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["offers.example".to_owned()]).unwrap();
    std::fs::write(&certificate, params.self_signed(&pair).unwrap().pem()).unwrap();
    std::fs::write(&key, pair.serialize_pem()).unwrap();
    (certificate, key)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn with_tls(plan: Plan, directory: &Path) -> Plan {
    let (certificate, key) = write_pair(directory);
    ["api", "integrations", "admin"].iter().fold(plan, |plan, listener| {
        plan.setting(&format!("{listener}.tls.certificate"), text(&certificate))
            .setting(&format!("{listener}.tls.key"), text(&key))
    })
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Submits a lead as the command line does: over TLS, trusting the certificate that the settings name.
fn submit(daemon: &Daemon, lead: &Path) -> Value {
    let submitted = daemon.command(&["lead", "submit", text(lead), "--token", &daemon.publishable, "--json"]);
    serde_json::from_str(&said(&submitted)).unwrap()
}

#[tokio::test]
async fn every_listener_speaks_tls_and_takes_a_new_certificate_on_sighup() {
    let directory = tempfile::tempdir().unwrap();
    let plan = Daemon::with_partners(prompt_partners(1));
    let daemon = with_tls(plan, directory.path()).start().await;
    for url in [&daemon.api, &daemon.integrations, &daemon.admin] {
        assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    }
    let lead = directory.path().join("lead.json");
    std::fs::write(&lead, sample("savings")).unwrap();
    let table = submit(&daemon, &lead);
    assert_eq!(table["pendingResponses"], serde_json::json!([]));
    assert!(said(&daemon.command(&["token", "list"])).contains("confidential"));

    // The command line knows the new pair by its file; the daemon shows it once told.
    write_pair(directory.path());
    let refused = daemon.command(&["lead", "submit", text(&lead), "--token", &daemon.publishable, "--json"]);
    assert!(!refused.status.success(), "the daemon still shows the old certificate");
    signal(daemon.pid(), "HUP");
    daemon.logged("partners reloaded").await;
    submit(&daemon, &lead);

    std::fs::write(directory.path().join("key.pem"), "nonsense").unwrap();
    signal(daemon.pid(), "HUP");
    daemon.logged("settings and partners not reloaded; still running the previous ones").await;
    submit(&daemon, &lead);
    assert!(!daemon.log().contains("nonsense"), "what stands in a key's file is not logged");
}

#[test]
fn check_tells_certificates_that_cannot_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let plan = with_tls(Daemon::with_partners(Vec::new()), directory.path());
    assert!(plan.command(&["check"]).output().unwrap().status.success());
    let key = directory.path().join("key.pem");
    std::fs::write(&key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let output = plan.command(&["check"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(64), "{told}");
    for listener in ["api", "integrations", "admin"] {
        let fault = format!("`{listener}.tls` {}: is not the key of the certificate in ", key.display());
        assert!(told.contains(&fault), "{told}");
    }
}

/// Of a lead or a poll alike, with the specification's error body.
#[tokio::test]
async fn a_company_that_asks_too_often_is_told_when_to_come_again() {
    let daemon = Daemon::with_partners(prompt_partners(1))
        .setting("limits.requests_per_second_per_company", "1")
        .setting("limits.burst_per_company", "5")
        .setting("limits.exempt", "192.0.2.0/24")
        .start()
        .await;
    let table = daemon.submit(sample("savings")).await;
    assert_eq!(table.header("ratelimit-policy"), Some(r#""address";q=400;w=2, "company";q=5;w=5"#));
    let uuid = table.json()["uuid"].as_str().unwrap().to_owned();
    let refused = loop {
        let polled = daemon.rate_table(&uuid).await;
        if polled.status != 200 {
            break polled;
        }
    };
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.header("ratelimit").unwrap().contains(r#""company";r=0;t=1"#));
    assert_eq!(refused.json()[0]["type"], "unavailable");
    assert!(
        metrics(&daemon).await.contains(r#"offerd_http_requests_refused_total{reason="company_rate"} 1"#)
    );
}

#[tokio::test]
async fn a_company_cannot_take_every_rate_table() {
    let daemon = Daemon::with_partners(vec![partner("silent").savings(SILENCE)])
        .setting("matching.pending_tables_per_company", "2")
        .setting("matching.submit_wait", "0ms")
        .start()
        .await;
    let other = said(&daemon.command(&["token", "create", "--company", "Other", "--kind", "publishable"]));
    let submit = async |token: &str| -> Answer {
        let url = format!("{}/leads/rateTables", daemon.api);
        daemon.request(Method::POST, &url, token, &sample("savings")).await
    };
    let first = submit(&daemon.publishable).await;
    assert_eq!((first.status, submit(&daemon.publishable).await.status), (200, 200));
    let refused = submit(&daemon.publishable).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(submit(other.trim()).await.status, 200, "another company goes on");
    let poll = daemon.rate_table(first.json()["uuid"].as_str().unwrap()).await;
    assert_eq!(poll.status, 200, "and so do polls");
    assert!(metrics(&daemon).await.contains(r#"offerd_submits_refused_total{reason="company_full"} 1"#));
}

#[tokio::test]
async fn the_audit_log_tells_who_changed_what_and_no_secret() {
    let daemon = Daemon::with_partners(prompt_partners(1)).setting("log.filter", "audit=info").start().await;
    let token = said(&daemon.command(&["token", "create", "--company", "Acme", "--kind", "confidential"]));
    let listed: Value = serde_json::from_str(&said(&daemon.command(&["token", "list", "--json"]))).unwrap();
    let id = listed.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    said(&daemon.command(&["token", "revoke", &id]));
    said(&daemon.command(&["partners", "pause", "prompt_0"]));
    said(&daemon.command(&["partners", "resume", "prompt_0"]));
    signal(daemon.pid(), "HUP");
    daemon.logged("\"reload\"").await;

    let log = daemon.log();
    for action in ["token.create", "token.revoke", "partner.pause", "partner.resume", "reload"] {
        let line = log.lines().find(|line| line.contains(&format!("action=\"{action}\"")));
        let line = line.unwrap_or_else(|| panic!("no line of {action} in {log}"));
        assert!(line.contains("who=") && line.contains(" audit: "), "{line}");
    }
    assert!(log.contains(&id) && log.contains("Acme"), "{log}");
    assert!(!log.contains(token.trim()), "a token is a secret");
}

/// Tokens are found by their digest, so one that is nearly right is as wrong as any.
#[tokio::test]
async fn a_token_that_is_nearly_right_opens_nothing() {
    let daemon = Daemon::with_partners(Vec::new()).start().await;
    let url = format!("{}/leads/universities?q=a", daemon.api);
    let good = daemon.confidential.clone();
    assert_ne!(daemon.request(Method::GET, &url, &good, "").await.status, 401);
    for place in (0..good.len()).filter(|&place| good.as_bytes()[place].is_ascii_hexdigit()) {
        let digit = if good.as_bytes()[place] == b'0' { "1" } else { "0" };
        let near = format!("{}{digit}{}", &good[..place], &good[place + 1..]);
        assert_eq!(daemon.request(Method::GET, &url, &near, "").await.status, 401, "character {place}");
    }
    let (first, second) = good.split_once('_').unwrap();
    assert_eq!(daemon.request(Method::GET, &url, &format!("{second}_{first}"), "").await.status, 401);
}

async fn metrics(daemon: &Daemon) -> String {
    let answer = daemon.request(Method::GET, &format!("{}/metrics", daemon.admin), "", "").await;
    String::from_utf8(answer.body.to_vec()).unwrap()
}
