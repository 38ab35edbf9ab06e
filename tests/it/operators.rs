//! Operators: a user that may read the daemon's run file, or has signed in to the console. A loopback address is
//! no proof, since every user of the machine has it.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Output;

use hyper::Method;
use offerd::admin;
use serde_json::Value;

use crate::kit::partners::partner;
use crate::kit::{Answer, Daemon, sample};

/// What anybody on the machine may see: health, metrics, where things are, and the page to sign in on with what it is drawn with.
const OPEN: &[&str] = &["/", "/livez", "/readyz", "/metrics", "/console/signIn", "/console/assets/{file}"];

/// What somebody without any proof may try with.
const PROOFS: [&str; 3] = ["", "confidential", "made up"];

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

async fn live() -> Daemon {
    Daemon::with_partners(vec![partner("one").loan("")]).start().await
}

/// What stands in the forms of a page.
fn csrf(page: &str) -> String {
    let (_, after) = page.split_once("name=\"csrf\" value=\"").expect("the page has a form");
    after.split('"').next().unwrap().to_owned()
}

/// Sends a form of the page to sign in on.
async fn sign_in(daemon: &Daemon, field: &str, value: &str) -> Answer {
    let url = format!("{}/console/signIn", daemon.admin);
    let page = daemon.request(Method::GET, &url, "", "").await;
    send(daemon, "/console/signIn", "", &[("csrf", &csrf(&text(&page))), (field, value)]).await
}

async fn send(daemon: &Daemon, path: &str, cookie: &str, fields: &[(&str, &str)]) -> Answer {
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("cookie", cookie)];
    daemon.request_with(Method::POST, &format!("{}{path}", daemon.admin), "", &headers, form).await
}

#[tokio::test]
async fn on_default_settings_every_route_of_the_admin_listener_asks_for_a_proof() {
    let daemon = live().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let (table, lead) = (table["uuid"].as_str().unwrap(), table["leadUuid"].as_str().unwrap());
    let mut tried = 0;
    for (method, template) in admin::paths() {
        let uuid = if template.contains("rateTables") { table } else { lead };
        let path = template.replace("{uuid}", uuid).replace("{id}", uuid).replace("{partner}", "one");
        let url = format!("{}{path}", daemon.admin);
        for proof in PROOFS.map(|proof| if proof == "confidential" { &daemon.confidential } else { proof }) {
            let answer = daemon.request(method.clone(), &url, proof, "{}").await;
            if OPEN.contains(&template) {
                assert_ne!(answer.status, 401, "{method} {template}");
                continue;
            }
            tried += 1;
            let location = answer.header("location").unwrap_or_default();
            let sent_to_sign_in = answer.status == 303 && location.starts_with("/console/signIn?next=");
            // A form is looked at for forgery first, and has to be a form.
            let refused = match (&method, template.starts_with("/console") && template != "/console/links") {
                (&Method::GET, true) => sent_to_sign_in,
                (_, true) => [401, 403, 415].contains(&answer.status),
                (_, false) => answer.status == 401,
            };
            assert!(refused, "{method} {template}: {} {location} {}", answer.status, text(&answer));
            assert!(!text(&answer).contains("Tolliver") && !text(&answer).contains("8714"), "{template}");
        }
    }
    assert!(tried > 100, "only {tried} were tried");
}

#[tokio::test]
async fn a_local_user_reveals_nothing_and_pauses_nobody() {
    let daemon = live().await;
    let table = daemon.submit_blocking(sample("personal_loan")).await.json();
    let reveal = format!("/console/rateTables/{}/reveal", table["uuid"].as_str().unwrap());
    let sign_in = daemon.request(Method::GET, &format!("{}/console/signIn", daemon.admin), "", "").await;
    // Even with what stands in the one form that a stranger sees.
    let stranger = csrf(&text(&sign_in));
    for (path, field) in [
        (reveal.as_str(), ("reveal", "personalInformation.ssn")),
        ("/console/partners/one/pause", ("productType", "")),
        ("/console/system/reload", ("a", "b")),
        ("/console/system/check", ("a", "b")),
    ] {
        for cookie in ["", "offerd_console=", "offerd_console=guessed"] {
            let answer = send(&daemon, path, cookie, &[("csrf", &stranger), field]).await;
            assert_eq!(answer.status, 303, "{path}: {}", text(&answer));
            assert!(answer.header("location").unwrap().starts_with("/console/signIn"), "{path}");
        }
    }
    let listed: Value =
        serde_json::from_slice(&daemon.command(&["partners", "list", "--json"]).stdout).unwrap();
    assert!(!listed.to_string().contains("paused"), "{listed}");
    assert!(!daemon.log().contains("personal_data.reveal"), "{}", daemon.log());

    // Who is signed in does both.
    let page = daemon.signed_in().await.to_owned();
    let own = |path: &str| (format!("{}{path}", daemon.admin), [("cookie", page.as_str())]);
    let (url, headers) = own("/console/partners/one");
    let shown = daemon.request_with(Method::GET, &url, "", &headers, "").await;
    let token = csrf(&text(&shown));
    let revealed = send(
        &daemon,
        &reveal,
        &page,
        &[("csrf", &token), ("reveal", "personalInformation.ssn"), ("reason", "a call")],
    )
    .await;
    assert!(text(&revealed).contains("536-22-8714"), "{}", text(&revealed));
    assert_eq!(send(&daemon, "/console/partners/one/pause", &page, &[("csrf", &token)]).await.status, 303);
}

#[tokio::test]
async fn the_secret_of_the_first_start_signs_in_over_restarts_until_there_is_another() {
    let daemon = live().await;
    let first = daemon.console_secret.clone();
    assert_eq!(first.len(), 32, "128 bits: {first}");
    assert_eq!(sign_in(&daemon, "password", &first).await.status, 303);
    let daemon = daemon.kill().start().await;
    assert_eq!(sign_in(&daemon, "password", &first).await.status, 303);
    assert!(!daemon.log().contains(&first), "it is told once, and not in the log");

    let made = daemon.command(&["console", "--new-secret"]);
    let second = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    assert!(made.status.success() && second.len() == 32, "{}", told(&made));
    assert_eq!(sign_in(&daemon, "password", &first).await.status, 403);
    assert_eq!(sign_in(&daemon, "password", &second).await.status, 303);

    // Also while the daemon is stopped.
    let (_, stopped) = daemon.terminate();
    let made = stopped.plan.command(&["console", "--new-secret", "--json"]).output().unwrap();
    let third: Value = serde_json::from_slice(&made.stdout).unwrap_or_else(|_| panic!("{}", told(&made)));
    let daemon = stopped.start().await;
    assert_eq!(sign_in(&daemon, "password", &second).await.status, 403);
    assert_eq!(sign_in(&daemon, "password", third["secret"].as_str().unwrap()).await.status, 303);
    assert!(daemon.log().contains("console.secret"), "it is audited");
}

#[tokio::test]
async fn another_secret_ends_what_was_signed_in_before() {
    let daemon = live().await;
    let cookie = daemon.signed_in().await.to_owned();
    let url = format!("{}/console", daemon.admin);
    let status =
        async || daemon.request_with(Method::GET, &url, "", &[("cookie", cookie.as_str())], "").await.status;
    assert_eq!(status().await, 200);
    assert!(daemon.command(&["console", "--new-secret"]).status.success());
    assert_eq!(status().await, 303);
}

#[tokio::test]
async fn guessing_is_bounded_told_and_keeps_nobody_out() {
    let daemon = live().await;
    let mut refused = 0;
    while sign_in(&daemon, "password", "a guess").await.status == 403 {
        refused += 1;
        assert!(refused < 100, "guessing is never stopped");
    }
    for _ in 0..20 {
        assert_eq!(sign_in(&daemon, "password", "a guess").await.status, 429);
        assert_eq!(sign_in(&daemon, "code", "a guess").await.status, 429);
    }
    let metrics = daemon.metrics().await;
    assert!(metrics.contains(r#"offerd_console_sign_ins_refused_total{reason="too_many"} 4"#), "{metrics}");
    assert!(daemon.log().matches("console.sign_in_refused").count() <= refused, "nor does it fill the log");
    assert_eq!(sign_in(&daemon, "password", &daemon.console_secret).await.status, 303);
    assert!(!daemon.signed_in().await.is_empty(), "nor the link of an operator");
}

#[tokio::test]
async fn without_a_sandbox_no_secret_is_made_and_the_link_still_signs_in() {
    let plan = Daemon::with_partners(vec![partner("one").loan("")]).setting("tokens.bootstrap", "false");
    let daemon = plan.start_with_token(String::new()).await;
    assert!(!daemon.store().join("console.secret").exists());
    let page = daemon.request(Method::GET, &format!("{}/console/signIn", daemon.admin), "", "").await;
    assert!(!text(&page).contains("type=\"password\""), "{}", text(&page));
    assert!(!daemon.signed_in().await.is_empty());
}

#[tokio::test]
async fn a_run_file_that_others_could_have_read_or_made_is_not_believed() {
    let daemon = live().await;
    let run_file = daemon.store().join("daemon.json");
    let set = |mode| std::fs::set_permissions(&run_file, std::fs::Permissions::from_mode(mode)).unwrap();
    let list = || daemon.command(&["token", "list"]);
    assert!(list().status.success());

    for mode in [0o644, 0o660, 0o602] {
        set(mode);
        let refused = list();
        assert_eq!(refused.status.code(), Some(1));
        let why = format!("daemon.json` is open to other users (mode {mode:o}, wanted 600)");
        assert!(told(&refused).contains(&why), "{}", told(&refused));
    }
    set(0o600);
    let elsewhere = daemon.file("elsewhere.json");
    std::fs::rename(&run_file, &elsewhere).unwrap();
    symlink(&elsewhere, &run_file).unwrap();
    assert!(told(&list()).contains("is a symbolic link"), "{}", told(&list()));
    std::fs::remove_file(&run_file).unwrap();
    std::fs::rename(&elsewhere, &run_file).unwrap();
    assert!(list().status.success());
}

/// A port is free once its daemon was killed, and any user of the machine may take it.
#[tokio::test]
async fn who_takes_the_address_of_a_killed_daemon_hears_nothing_from_commands() {
    let daemon = live().await;
    let admin = daemon.admin.trim_start_matches("http://").to_owned();
    let stopped = daemon.kill();
    let squatter = std::net::TcpListener::bind(&admin).unwrap();
    squatter.set_nonblocking(true).unwrap();
    let listed = stopped.plan.command(&["token", "list"]).output().unwrap();
    assert!(
        listed.status.success() && told(&listed).contains("Sandbox"),
        "it reads the store: {}",
        told(&listed)
    );
    assert!(squatter.accept().is_err(), "nobody has connected");
}
